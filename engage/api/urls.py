"""Paths below /api/v1/ that belong to no app above this one."""

from django.urls import path

from engage.api.audit.views import AuditView
from engage.api.me.views import MeView

urlpatterns = [
    path("me", MeView.as_view()),
    path("audit/<str:workspace_id>", AuditView.as_view()),
]
