"""Apps: whose pages may call the bridge, and what is checked about their calls."""

from typing import Any

from django.contrib import admin
from django.http import HttpRequest
from unfold.decorators import display

from engage.admin.filters import AutocompleteSelectFilter, BooleanRadioFilter
from engage.admin.origins import OriginsField
from engage.admin.panels import Panel, show_on
from engage.admin.records import RecordAdmin
from engage.http.app_quotas import counted_today
from engage.models import App, Workspace


@admin.register(App)
class AppAdmin(RecordAdmin):
    """An app is disabled rather than deleted, because recorded interactions refer to it."""

    list_display = ("name", "workspace", "enabled", "id", "created_at")
    list_filter = (("workspace", AutocompleteSelectFilter), ("enabled", BooleanRadioFilter))
    search_fields = ("name", "=id")
    search_help_text = "Name or app id"
    autocomplete_fields = ("workspace",)
    fields = (
        "workspace",
        "name",
        "enabled",
        "allowed_origins",
        "message_policy",
        ("identity", "anonymous"),
        "id",
        "created_at",
        "today",
    )
    written_once = ("workspace",)
    never_deleted = "An app is not deleted, because interactions refer to it. Switch it off instead."

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "allowed_origins":
            return OriginsField(label="Allowed origins", required=False)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    @display(description="Today (UTC)")
    def today(self, app: App) -> str:
        """What all its callers have used of what the app may do in a day."""
        counts = counted_today(app.id)
        if counts is None:
            return "not known while Redis is away"
        return ", ".join(f"{count:,} of {quota.limit:,} {quota}" for quota, count in counts.items())


show_on(Workspace, Panel(model=App, by="workspace", columns=("__str__", "id", "enabled")))
