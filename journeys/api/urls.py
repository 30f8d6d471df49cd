"""The addresses of the calls about journeys that are not defined as calls, by what they stand below in /api/v1/."""

from django.urls import path

from journeys.api.events.views import EventsView
from journeys.api.triggers.views import TriggerView

trigger = path("api/v1/journeys/<str:workspace_id>/<str:journey_id>/trigger", TriggerView.as_view())
# Before the customers' own: `events` is not an id.
customers = [path("<str:workspace_id>/events", EventsView.as_view())]
