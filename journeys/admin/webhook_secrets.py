"""The secrets that sign a workspace's webhooks: shown to who may see them, and rotated."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import action, display

from engage.admin.columns import badge
from engage.admin.filters import AutocompleteSelectFilter
from engage.admin.panels import Panel, show_on
from engage.admin.records import RecordAdmin
from engage.models import Workspace
from journeys.models import WebhookSecret
from journeys.webhooks.signing_secrets import rotate_webhook_secret

_CONFIRM = (
    "return confirm('A new secret signs from now on. The present one signs as well, until a day has passed: "
    "give the receivers the new one before. Rotate?')"
)


@admin.register(WebhookSecret)
class WebhookSecretAdmin(RecordAdmin):
    """To make one for a workspace that has one is to rotate it, too."""

    list_display = ("id", "workspace", "validity", "created_at", "retires_at")
    list_filter = (("workspace", AutocompleteSelectFilter),)
    search_fields = ("=workspace__key",)
    search_help_text = "A workspace's key"
    autocomplete_fields = ("workspace",)
    fields = ("workspace", "validity", "shown_secret", ("created_at", "retires_at"))
    written_once = ("workspace",)
    actions_submit_line: Any = ("rotate",)

    @display(description="status")
    def validity(self, secret: WebhookSecret) -> SafeString:
        """Whether it signs now."""
        if secret.retires_at is None:
            return badge("signs", "success")
        return badge("retiring", "warning") if secret.retires_at > timezone.now() else badge("retired", "")

    @display(description="secret")
    def shown_secret(self, secret: WebhookSecret) -> SafeString:
        """Behind a click, so that nobody reads it over a shoulder."""
        return format_html(
            '<details><summary class="cursor-pointer">Show</summary><code class="engage-copy">{}</code></details>',
            secret.secret,
        )

    def has_delete_permission(self, request: HttpRequest, obj: Any = None) -> bool:
        return False

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        if not change:
            rotate_webhook_secret(workspace_id=obj.workspace_id, now=timezone.now())
            obj.pk = WebhookSecret.objects.get(workspace=obj.workspace_id, retires_at=None).pk

    @action(  # type: ignore[operator]
        description="Rotate", permissions=["change"], attrs={"onclick": _CONFIRM}
    )
    def rotate(self, request: HttpRequest, obj: WebhookSecret) -> None:
        rotate_webhook_secret(workspace_id=obj.workspace_id, now=timezone.now())
        self.message_user(request, f"The webhooks of {obj.workspace} are signed with a new secret.")


show_on(
    Workspace,
    Panel(
        model=WebhookSecret,
        by="workspace",
        columns=("__str__", "validity", "created_at", "retires_at"),
        title="webhook secrets",
    ),
)
