"""Workspaces: created and renamed here, never deleted, because all of a tenant's records depend on one."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from engage.admin.records import RecordAdmin
from engage.models import Workspace


@admin.register(Workspace)
class WorkspaceAdmin(RecordAdmin):
    list_display = ("name", "key", "id", "created_at")
    ordering = ("key",)
    search_fields = ("name", "key", "=id")
    search_help_text = "Name, key or id"
    fields = ("name", "key", "id", "created_at")

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False
