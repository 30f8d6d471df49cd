"""Who belongs to a workspace, and with which role. Only superusers say so, as with accounts and groups."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest

from engage.admin.pages.staff import SuperusersChange
from engage.admin.parts.filters import ChoicesDropdownFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import RecordAdmin
from engage.audit.facts import facts_of
from engage.audit.recording import record, saved
from engage.models import Membership, Workspace


@admin.register(Membership)
class MembershipAdmin(SuperusersChange, RecordAdmin):  # type: ignore[misc] # as in staff.py
    list_display = ("user", "workspace", "role", "created_at")
    list_display_links = ("role",)
    list_filter = (("role", ChoicesDropdownFilter),)
    search_fields = ("user__username",)
    search_help_text = "User name"
    autocomplete_fields = ("user", "workspace")
    fields = ("user", "workspace", "role", "created_at")
    written_once = ("user", "workspace")
    titled_by = ("user", "workspace")
    delete_confirmation_template = "engage/admin/delete_membership.html"

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Whoever is given a role can log in: without staff status the role would be worth nothing."""
        super().save_model(request, obj, form, change)
        if not obj.user.is_staff:
            before = facts_of(obj.user)
            obj.user.is_staff = True
            obj.user.save(update_fields=["is_staff"])
            record(*saved(obj.user, before=before, after=facts_of(obj.user)))


show_on(Workspace, Panel(model=Membership, by="workspace", columns=("user", "role", "created_at"), title="Members"))
