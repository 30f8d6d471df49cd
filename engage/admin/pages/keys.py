"""The admin page of a workspace's API keys."""

from typing import Any

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.pages.key_form import ApiKeyForm
from engage.admin.parts.acts import Act, Button, Done, Place
from engage.admin.parts.columns import badge, list_url
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import RecordAdmin
from engage.admin.rights.key_rights import may_give_some, why_no_key
from engage.audit.recording import change, record
from engage.models import ApiKey, AuditEntry, Workspace


@transaction.atomic
def _revoke(_: Any, __: HttpRequest, key: ApiKey) -> Done:
    if not ApiKey.objects.filter(id=key.id, revoked_at=None).update(revoked_at=timezone.now()):
        return Done(key, f"{key} was revoked before.")
    record(change(AuditEntry.Action.REVOKED, key))
    return Done(key, f"{key} is revoked.")


@admin.register(ApiKey)
class ApiKeyAdmin(RecordAdmin):
    """A key's secret is shown once, in the response that creates it. A key can be revoked, but not deleted.

    It reaches no further than whoever makes it: see `key_rights`.
    """

    acts = (
        Act(
            "revoke",
            _revoke,
            noted_as=None,
            button=Button("Revoke", "Calls with this key will be refused from now on, for good. Revoke it?"),
            place=Place.BELOW,
        ),
    )
    list_display = ("name", "workspace", "prefix", "validity", "rate_limit", "last_used_at", "expires_at")
    search_fields = ("name", "prefix", "=id")
    search_help_text = "Name, first characters or id"
    autocomplete_fields = ("workspace",)
    fields = (
        "workspace",
        "name",
        "scopes",
        ("journeys", "networks"),
        "rate_limit",
        ("customers_rate_limit", "events_rate_limit"),
        "expires_at",
        ("prefix", "validity"),
        ("created_at", "revoked_at"),
        ("last_used_at", "last_used_from"),
    )
    form = ApiKeyForm
    written_once = ("workspace",)
    never_deleted = "An API key is not deleted. Revoke it instead."

    def has_add_permission(self, request: HttpRequest) -> bool:
        return super().has_add_permission(request) and may_give_some(request)

    def add_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        if super().has_add_permission(request) and not may_give_some(request):
            raise PermissionDenied(why_no_key(request, None))
        return super().add_view(request, *args, **kwargs)

    def get_form(self, request: HttpRequest, obj: Any = None, change: bool = False, **kwargs: Any) -> Any:  # noqa: FBT001, FBT002 (Django's)
        return type("KeyForm", (super().get_form(request, obj, change, **kwargs),), {"request": request})

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "expires_at":
            kwargs["help_text"] = "In UTC; empty: it does not expire."
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @display(description="status")
    def validity(self, key: ApiKey) -> SafeString:
        """Whether the key is valid now, and if not, why."""
        if key.revoked_at is not None:
            return badge("revoked", "danger")
        return badge("valid", "success") if key.is_valid_at(timezone.now()) else badge("expired", "warning")

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        if not change:
            vars(obj)["secret"] = obj.take_new_secret()
        super().save_model(request, obj, form, change)

    def response_add(self, request: HttpRequest, obj: Any, post_url_continue: str | None = None) -> HttpResponse:
        """Shows the secret in this response. A message would leave it in a cookie or in the database."""
        return self.page(
            request,
            "engage/admin/new_key.html",
            title="The new API key",
            key=obj,
            of=obj.workspace,
            secret=vars(obj)["secret"],
            done=list_url(ApiKey),
        )


show_on(
    Workspace,
    Panel(model=ApiKey, by="workspace", columns=("__str__", "validity", "last_used_at"), title="API keys"),
)
