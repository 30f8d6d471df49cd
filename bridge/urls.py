"""The addresses of the bridge's calls, by what they stand below in /api/v1/."""

from django.urls import path

from bridge.people.views import IdentifyView, MergeView
from bridge.views import ActionView, BatchView, CaptureView

sdk = [
    path("bridge/action", ActionView.as_view()),
    path("bridge/capture", CaptureView.as_view()),
    path("bridge/batch", BatchView.as_view()),
    path("identify", IdentifyView.as_view()),
]
# Before the customers' own: `merge` is not an id.
customers = [path("<str:workspace_id>/merge", MergeView.as_view())]
