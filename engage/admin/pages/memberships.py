"""Who belongs to a workspace, and with which role. Only superusers say so, as with accounts and groups."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.urls import URLPattern, reverse
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.login.invitations import DAYS, invitation
from engage.admin.pages.inviting import InviteForm, invite, why_no_login
from engage.admin.pages.staff import SuperusersChange
from engage.admin.parts.columns import badge, list_url
from engage.admin.parts.filters import ChoicesDropdownFilter
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import RecordAdmin
from engage.audit.facts import facts_of
from engage.audit.recording import record, saved
from engage.models import Membership, Workspace


@admin.register(Membership)
class MembershipAdmin(SuperusersChange, RecordAdmin):  # type: ignore[misc] # as in staff.py
    list_display = ("user", "workspace", "role", "login", "created_at")
    list_display_links = ("role",)
    list_filter = (("role", ChoicesDropdownFilter),)
    search_fields = ("user__username",)
    search_help_text = "User name"
    autocomplete_fields = ("user", "workspace")
    fields = ("user", "workspace", "role", "login", "created_at")
    list_before_template: Any = "engage/admin/members_above.html"
    written_once = ("user", "workspace")
    titled_by = ("user", "workspace")
    delete_confirmation_template = "engage/admin/delete_membership.html"

    @display(description="can log in")
    def login(self, membership: Membership) -> SafeString | str:
        why_not = why_no_login(membership.user)
        return badge(f"no: {why_not}", "warning") if why_not else "yes"

    def get_urls(self) -> list[URLPattern]:
        return [self.address("invite/", self.invite, "invite"), *super().get_urls()]

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        shown: Any = {**(extra_context or {}), "may_invite": self.has_add_permission(request)}
        return super().changelist_view(request, shown)

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        """With the accounts, which the column about logins reads."""
        own: QuerySet[Any] = super().get_queryset(request).prefetch_related("user")
        return own

    def invite(self, request: HttpRequest) -> HttpResponse:
        """Makes the account and shows its link, once."""
        if not self.has_add_permission(request):
            raise PermissionDenied
        form, shown = InviteForm(request), {}
        if form.is_valid():
            user, needs_link = invite(form)
            self.message_user(request, f"{user} has the role {form.cleaned_data['role']} now.")
            if not needs_link:
                return HttpResponseRedirect(list_url(Membership, user=str(user.pk)))
            link = request.build_absolute_uri(reverse("set_password", args=[invitation(user)]))
            shown = {"link": link, "user_invited": user.get_username(), "days": DAYS}
        return self.page(
            request, "engage/admin/invite.html", title="Invite a colleague", form=form, media=self.media, **shown
        )

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        """Whoever is given a role can log in: without staff status the role would be worth nothing."""
        super().save_model(request, obj, form, change)
        if not obj.user.is_staff:
            before = facts_of(obj.user)
            obj.user.is_staff = True
            obj.user.save(update_fields=["is_staff"])
            record(*saved(obj.user, before=before, after=facts_of(obj.user)))


show_on(Workspace, Panel(model=Membership, by="workspace", columns=("user", "role", "created_at"), title="Members"))
