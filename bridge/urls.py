from django.urls import path

from bridge.views import ActionView, BatchView, CaptureView

urlpatterns = [
    path("action", ActionView.as_view()),
    path("capture", CaptureView.as_view()),
    path("batch", BatchView.as_view()),
]
