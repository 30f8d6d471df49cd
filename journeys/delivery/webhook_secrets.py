"""The secrets that sign a workspace's webhooks: shown to staff who may see them, and rotated."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.parts.columns import badge, may_view
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import RecordAdmin
from engage.credentials.sealed import UnknownEncryptionKey
from engage.models import AuditEntry, Workspace
from journeys.engine.webhooks.signing_secrets import current_secrets, rotate_webhook_secret
from journeys.models import WebhookSecret

_WHAT_FOLLOWS = "A new secret signs from now on. The present one signs as well until a day has passed."


@admin.register(WebhookSecret)
class WebhookSecretAdmin(RecordAdmin):
    """Adding a secret for a workspace that has one rotates it. A secret's history tells who opened its page."""

    list_display = ("id", "workspace", "validity", "created_at", "retires_at")
    search_fields = ("=workspace__key",)
    search_help_text = "A workspace's key"
    autocomplete_fields = ("workspace",)
    fields = ("workspace", "validity", "shown_secret", ("created_at", "retires_at"))
    titled_by = ("workspace",)
    never_deleted = "A webhook secret is not deleted. It retires a day after it is rotated."
    change_form_outer_after_template: Any = "journeys/admin/webhook_secret.html"

    @display(description="status")
    def validity(self, secret: WebhookSecret) -> SafeString:
        """Whether it signs now."""
        if secret.retires_at is None:
            return badge("in use", "success")
        return badge("retiring", "warning") if secret.retires_at > timezone.now() else badge("retired", "")

    @display(description="secret")
    def shown_secret(self, secret: WebhookSecret) -> SafeString:
        """Hidden behind a click, so that nobody reads it over a shoulder."""
        try:
            shown = secret.secret
        except UnknownEncryptionKey as error:
            return format_html("It cannot be shown: {}", str(error))
        return format_html(
            '<details><summary class="cursor-pointer">Show</summary><code class="engage-copy">{}</code></details>',
            shown,
        )

    def get_search_fields(self, request: HttpRequest) -> Any:
        """Only staff who may view workspaces can search by key: a match would reveal whose key it is."""
        return super().get_search_fields(request) if may_view(Workspace, request=request) else ()

    def get_fieldsets(self, request: HttpRequest, obj: Any = None) -> Any:
        return super().get_fieldsets(request, obj) if obj else [(None, {"fields": ["workspace"]})]

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        return super().formfield_for_dbfield(db_field, request, **kwargs, help_text=_WHAT_FOLLOWS)

    def has_change_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        own = WebhookSecret.objects.filter(workspace=obj.workspace_id)
        if own.exists():
            rotate_webhook_secret(workspace_id=obj.workspace_id, now=timezone.now())
        else:
            current_secrets([obj.workspace_id])
        obj.pk = own.get(retires_at=None).pk

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        self.note(record, AuditEntry.Action.LOOKED_AT)
        return {"may_rotate": self.has_add_permission(request)}


show_on(
    Workspace,
    Panel(
        model=WebhookSecret,
        by="workspace",
        columns=("__str__", "validity", "created_at", "retires_at"),
        title="webhook secrets",
    ),
)
