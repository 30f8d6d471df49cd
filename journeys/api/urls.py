"""The addresses of the calls about journeys, by what they stand below in /api/v1/."""

from django.urls import path

from journeys.api.events.views import EventsView
from journeys.api.triggers.views import JobView, TriggerJobsView, TriggerStateView, TriggerView

trigger = path("api/v1/journeys/<str:workspace_id>/<str:journey_id>/trigger", TriggerView.as_view())
journeys = [
    path("<str:workspace_id>/jobs/<str:job_id>", JobView.as_view()),
    path("<str:workspace_id>/triggers/<str:trigger_id>", TriggerStateView.as_view()),
    path("<str:workspace_id>/triggers/<str:trigger_id>/jobs", TriggerJobsView.as_view()),
]
# Before the customers' own: `events` is not an id.
customers = [
    path("<str:workspace_id>/events", EventsView.as_view()),
]
