"""Workspaces: created and renamed here, never deleted, because all of a tenant's records depend on one."""

from django.contrib import admin

from engage.admin.records import RecordAdmin
from engage.models import Workspace


@admin.register(Workspace)
class WorkspaceAdmin(RecordAdmin):
    list_display = ("name", "key", "id", "created_at")
    ordering = ("key",)
    search_fields = ("name", "key", "=id")
    search_help_text = "Name, key or id"
    fields = ("name", "key", "id", "created_at")
    never_deleted = "A workspace is not deleted, because all of a tenant's records depend on it."
