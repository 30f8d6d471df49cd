"""Paths below /api/v1/journeys/."""

from django.urls import path

from journeys.views import JobView, TriggerStateView, TriggerView

urlpatterns = [
    path("<str:workspace_id>/jobs/<str:job_id>", JobView.as_view()),
    path("<str:workspace_id>/triggers/<str:trigger_id>", TriggerStateView.as_view()),
    path("<str:workspace_id>/<str:journey_id>/trigger", TriggerView.as_view()),
]
