"""Apps: whose pages may call the bridge, and what is checked about their calls."""

from datetime import datetime
from typing import Any

from django.contrib import admin
from django.http import HttpRequest, HttpResponse
from django.utils import timezone
from unfold.decorators import display

from bridge.browser.files import script_tag
from bridge.identity.enforcing import enforce_identity, valid_keys
from bridge.identity.figures import COUNTED_AT_MOST, PAGES_OF_AT_MOST, IdentityFigures, identity_figures
from bridge.models import Interaction
from engage.admin.parts.acts import Act, Button, Done, Place
from engage.admin.parts.columns import may_view, page_url
from engage.admin.parts.filters import BooleanRadioFilter
from engage.admin.parts.origins import OriginsField
from engage.admin.parts.panels import Panel, show_on
from engage.admin.parts.records import RecordAdmin
from engage.http.limits import counted_today
from engage.models import App, IdentityKey, Workspace


def _ask_to_enforce(model_admin: RecordAdmin, request: HttpRequest, app: App) -> HttpResponse | None:
    """The page that asks, with the figures."""
    if request.method == "POST":
        return None
    now = timezone.now()
    return model_admin.page(
        request,
        "bridge/admin/enforce.html",
        title=f"Refuse who is not proven in {app}?",
        original=app,
        back=page_url(app),
        has_key=valid_keys(app, now=now).exists(),
        **_identity(app, request=request, now=now),
    )


def _enforce(_: RecordAdmin, request: HttpRequest, app: App) -> Done:
    now = timezone.now()
    figures = _identity(app, request=request, now=now).get("in_words", "")
    enforce_identity(app_id=app.pk, now=now)
    noted = f"Enforces identity from now on. {figures}".strip()
    return Done(app, f"{app} refuses from now on who is not proven.", noted)


@admin.register(App)
class AppAdmin(RecordAdmin):
    """An app is disabled rather than deleted, because recorded interactions refer to it."""

    acts = (
        Act(
            "enforce",
            _enforce,
            route="enforce-identity",
            asks=_ask_to_enforce,
            button=lambda app, _: [] if app.identity == App.Identity.ENFORCE else [Button("Refuse who is not proven")],
            place=Place.BELOW,
        ),
    )

    list_display = ("name", "workspace", "enabled", "id", "created_at")
    list_filter = (("enabled", BooleanRadioFilter),)
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
        "in_app",
        "id",
        "created_at",
        "today",
    )
    written_once = ("workspace",)
    change_form_outer_after_template: Any = "bridge/admin/app.html"
    never_deleted = "An app is not deleted, because interactions refer to it. Switch it off instead."

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "allowed_origins":
            return OriginsField(label="Allowed origins", required=False)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        record.refresh_from_db()  # the form has written what was typed into it
        return {
            **_identity(record, request=request, now=timezone.now()),
            "tag": _tag(record, host=request.build_absolute_uri("/").rstrip("/")),
            "may_add_key": admin.site.get_model_admin(IdentityKey).has_add_permission(request),
        }

    @display(description="Today (UTC)")
    def today(self, app: App) -> str:
        """What all its callers have used of what the app may do in a day."""
        counts = counted_today(app.id)
        if counts is None:
            return "not known while Redis is away"
        return ", ".join(f"{count:,} of {quota.limit:,} {quota}" for quota, count in counts.items())


def _tag(app: App, *, host: str) -> str:
    """What a page needs to report for this app."""
    made = f'new Engage({{ app: "{app.pk}", host: "{host}" }})'
    return f"{script_tag(host=host)}\n<script>\n  const engage = {made};\n</script>"


WHY = {
    "missing": "no token, and the person needs one",
    "expired": "the token had expired",
    "invalid": "the token is not valid",
    "mismatch": "the token is of somebody else, or does not allow what was written",
}


def _identity(app: App, *, request: HttpRequest, now: datetime) -> dict[str, Any]:
    """Nothing for staff who may not view interactions, nor while people are who the page says."""
    if app.identity == App.Identity.OFF or not may_view(Interaction, request=request):
        return {}
    figures = identity_figures(app, now=now)
    refused = figures.refused or {}
    reasons = [reason for reason in WHY if reason in figures.unproven or reason in refused]
    return {
        "identity": figures,
        "in_words": _in_words(figures),
        "reasons": {
            "headers": ["Why", "Would have been refused", "Was refused"],
            "rows": [
                [WHY[reason], f"{figures.unproven.get(reason, 0):,}", f"{refused.get(reason, 0):,}"]
                for reason in reasons
            ],
        },
        "origins": {
            "headers": ["Page", "Why", "Calls"],
            "rows": [
                [one.origin or "no page", WHY.get(one.reason, one.reason), f"{one.calls:,}"] for one in figures.origins
            ],
        },
        "pages_of_at_most": f"{PAGES_OF_AT_MOST:,}",
    }


def _in_words(figures: IdentityFigures) -> str:
    of = f"the newest {COUNTED_AT_MOST:,}" if figures.is_partial else f"{figures.calls:,}"
    calls = "call" if figures.calls == 1 else "calls"
    return f"In the last seven days, {figures.would_be_refused:,} of {of} {calls} would have been refused."


show_on(Workspace, Panel(model=App, by="workspace", columns=("__str__", "id", "enabled")))
