"""Paths below /api/v1/customers/ that lead here. They come before the customers' own: `merge` is not an id."""

from django.urls import path

from bridge.people.views import MergeView

urlpatterns = [path("<str:workspace_id>/merge", MergeView.as_view())]
