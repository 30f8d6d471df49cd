"""Workspaces: created and renamed here, never deleted, because all of a tenant's records depend on one."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect
from unfold.decorators import action

from engage.admin.parts.columns import list_url
from engage.admin.parts.records import RecordAdmin
from engage.admin.rights.reach import choose_workspace, reach_of
from engage.models import Workspace


@admin.register(Workspace)
class WorkspaceAdmin(RecordAdmin):
    """Who is a member of several may choose to see one only, and so to have all that their role gives them there."""

    list_display = ("name", "key", "id", "created_at")
    ordering = ("key",)
    filters_by_workspace = False
    search_fields = ("name", "key", "=id")
    search_help_text = "Name, key or id"
    fields = (
        *("name", "key", "feed", "default_country", "support_may_hold", "alert_emails", "alert_connection"),
        *("id", "created_at"),
    )
    never_deleted = "A workspace is not deleted, because all of a tenant's records depend on it."
    actions_row: Any = ("see_this_one",)
    actions_list: Any = ("see_all",)

    def get_actions_row(self, request: HttpRequest) -> Any:
        return super().get_actions_row(request) if _may_choose(request) else []

    def get_actions_list(self, request: HttpRequest) -> Any:
        return super().get_actions_list(request) if _may_choose(request) else []

    @action(description="See only this one", url_path="see-this-one")  # type: ignore[operator]
    def see_this_one(self, request: HttpRequest, object_id: str) -> HttpResponse:
        if object_id not in reach_of(request.user).belongs_to:
            raise PermissionDenied("You are no member of this workspace.")
        choose_workspace(request, object_id)
        return redirect("admin:index")

    @action(description="See all of mine", url_path="see-all")  # type: ignore[operator]
    def see_all(self, request: HttpRequest) -> HttpResponse:
        choose_workspace(request, None)
        return redirect(list_url(Workspace))


def _may_choose(request: HttpRequest) -> bool:
    return len(reach_of(request.user).belongs_to) > 1
