"""Workspaces: created and renamed here, never deleted, because all of a tenant's records depend on one."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.http import HttpRequest, HttpResponse
from django.shortcuts import redirect

from engage.admin.parts.acts import Act, Button, Place
from engage.admin.parts.columns import list_url
from engage.admin.parts.records import RecordAdmin
from engage.admin.rights.reach import choose_workspace, reach_of
from engage.models import Workspace


def _may_choose(_: Any, request: HttpRequest) -> bool:
    return len(reach_of(request.user).belongs_to) > 1


def _see_this_one(_: Any, request: HttpRequest, workspace: Workspace) -> HttpResponse:
    if workspace.pk not in reach_of(request.user).belongs_to:
        raise PermissionDenied("You are no member of this workspace.")
    choose_workspace(request, workspace.pk)
    return redirect("admin:index")


def _see_all(_: Any, request: HttpRequest, __: None) -> HttpResponse:
    choose_workspace(request, None)
    return redirect(list_url(Workspace))


@admin.register(Workspace)
class WorkspaceAdmin(RecordAdmin):
    """Who is a member of several may choose to see one only, and so to have all that their role gives them there."""

    acts = (
        Act(
            "see_this_one",
            _see_this_one,
            may=_may_choose,
            noted_as=None,
            button=Button("See only this one"),
            place=Place.ROW,
        ),
        Act(
            "see_all",
            _see_all,
            of_list=True,
            may=_may_choose,
            noted_as=None,
            button=Button("See all of mine"),
            place=Place.TOOLS,
        ),
    )
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
