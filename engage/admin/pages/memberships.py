"""Who belongs to a workspace, and with which role. Only superusers say so, as with accounts and groups."""

from typing import Any

from django.contrib import admin
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import reverse
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.login.invitations import DAYS, invitation
from engage.admin.pages.inviting import InviteForm, invite, why_no_login
from engage.admin.pages.staff import SuperusersChange
from engage.admin.parts.acts import Act, Button, may_add
from engage.admin.parts.columns import badge, list_url
from engage.admin.parts.filters import ChoicesDropdownFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import RecordAdmin
from engage.audit.facts import facts_of
from engage.audit.recording import record, saved
from engage.models import Membership, Workspace


def _invite(model_admin: "MembershipAdmin", request: HttpRequest, _: None) -> HttpResponse:
    """Makes the account and shows its link, once."""
    form, shown = InviteForm(request), {}
    if form.is_valid():
        user, needs_link = invite(form)
        model_admin.message_user(request, f"{user} has the role {form.cleaned_data['role']} now.")
        if not needs_link:
            return HttpResponseRedirect(list_url(Membership, user=str(user.pk)))
        link = request.build_absolute_uri(reverse("set_password", args=[invitation(user)]))
        shown = {"link": link, "user_invited": user.get_username(), "days": DAYS}
    media = model_admin.media
    return model_admin.page(
        request, "engage/admin/invite.html", title="Invite a colleague", form=form, media=media, **shown
    )


@admin.register(Membership)
class MembershipAdmin(SuperusersChange, RecordAdmin):  # type: ignore[misc] # as in staff.py
    acts = (
        Act(
            "invite", _invite, of_list=True, opens=True, may=may_add, button=Button("Invite a colleague", look="first")
        ),
    )
    list_display = ("user", "workspace", "role", "login", "created_at")
    list_display_links = ("role",)
    list_filter = (("role", ChoicesDropdownFilter),)
    search_fields = ("user__username",)
    search_help_text = "User name"
    autocomplete_fields = ("user", "workspace")
    fields = ("user", "workspace", "role", "login", "created_at")
    written_once = ("user", "workspace")
    titled_by = ("user", "workspace")
    delete_confirmation_template = "engage/admin/delete_membership.html"

    @display(description="can log in")
    def login(self, membership: Membership) -> SafeString | str:
        why_not = why_no_login(membership.user)
        return badge(f"no: {why_not}", "warning") if why_not else "yes"

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the accounts, which the column about logins reads."""
        own: QuerySet[Any] = super().get_queryset(request).prefetch_related("user")
        return own

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Whoever is given a role can log in: without staff status the role would be worth nothing."""
        super().save_model(request, obj, form, change)
        if not obj.user.is_staff:
            before = facts_of(obj.user)
            obj.user.is_staff = True
            obj.user.save(update_fields=["is_staff"])
            record(*saved(obj.user, before=before, after=facts_of(obj.user)))


show_on(Workspace, Panel(model=Membership, by="workspace", columns=("user", "role", "created_at"), title="Members"))
