"""Paths below /api/v1/journeys/."""

from django.urls import path

from journeys.api.enrollments.views import EnrollmentExitView, EnrollmentView
from journeys.api.statistics.views import JourneyGraphView, JourneyStatsView
from journeys.api.steering.views import (
    AbortView,
    ActivateView,
    CancelTriggerView,
    CloseView,
    HoldView,
    ResumeView,
)
from journeys.api.triggers.views import JobView, TriggerJobsView, TriggerStateView, TriggerView

urlpatterns = [
    # First, so that no look-up takes a wrong journey id such as "jobs" for its own.
    path("<str:workspace_id>/<str:journey_id>/trigger", TriggerView.as_view()),
    path("<str:workspace_id>/<str:journey_id>/hold", HoldView.as_view()),
    path("<str:workspace_id>/<str:journey_id>/resume", ResumeView.as_view()),
    path("<str:workspace_id>/<str:journey_id>/close", CloseView.as_view()),
    path("<str:workspace_id>/<str:journey_id>/activate", ActivateView.as_view()),
    path("<str:workspace_id>/<str:journey_id>/abort", AbortView.as_view()),
    path("<str:workspace_id>/<str:journey_id>/graph", JourneyGraphView.as_view()),
    path("<str:workspace_id>/<str:journey_id>/stats", JourneyStatsView.as_view()),
    path("<str:workspace_id>/jobs/<str:job_id>", JobView.as_view()),
    path("<str:workspace_id>/enrollments/<str:enrollment_id>", EnrollmentView.as_view()),
    path("<str:workspace_id>/enrollments/<str:enrollment_id>/exit", EnrollmentExitView.as_view()),
    path("<str:workspace_id>/triggers/<str:trigger_id>", TriggerStateView.as_view()),
    path("<str:workspace_id>/triggers/<str:trigger_id>/cancel", CancelTriggerView.as_view()),
    path("<str:workspace_id>/triggers/<str:trigger_id>/jobs", TriggerJobsView.as_view()),
]
