"""Paths below /api/v1/messages/. A key with a slash cannot be named here: seed files and staff can."""

from django.urls import path

from bridge.messages.views import MessagesView, MessageView

urlpatterns = [
    path("<str:workspace_id>", MessagesView.as_view()),
    path("<str:workspace_id>/<str:key>", MessageView.as_view()),
]
