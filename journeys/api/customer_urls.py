"""Paths below /api/v1/customers/ that lead to journeys. They come before the customers' own: `events` is not an id."""

from django.urls import path

from journeys.api.enrollments.views import CustomerJourneysView
from journeys.api.events.views import EventsView

urlpatterns = [
    path("<str:workspace_id>/events", EventsView.as_view()),
    path("<str:workspace_id>/<str:customer_id>/journeys", CustomerJourneysView.as_view()),
]
