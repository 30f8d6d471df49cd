"""Apps: whose pages may call the bridge, and what is checked about their calls."""

from typing import Any

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from unfold.decorators import display

from bridge.admin.identity_section import identity_section
from bridge.identity.enforcing import enforce_identity, valid_keys
from engage.admin.columns import page_url
from engage.admin.filters import AutocompleteSelectFilter, BooleanRadioFilter
from engage.admin.origins import OriginsField
from engage.admin.panels import Panel, show_on
from engage.admin.records import RecordAdmin
from engage.errors import Refusal
from engage.http.app_quotas import counted_today
from engage.models import App, IdentityKey, Workspace


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
    change_form_outer_after_template: Any = "bridge/admin/app.html"
    never_deleted = "An app is not deleted, because interactions refer to it. Switch it off instead."

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "allowed_origins":
            return OriginsField(label="Allowed origins", required=False)
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        app = context["original"]
        if app is not None:
            app.refresh_from_db()  # the form has written what was typed into it
            context |= identity_section(app, request=request, now=timezone.now())
            context["may_add_key"] = admin.site.get_model_admin(IdentityKey).has_add_permission(request)
            context["may_enforce"] = self.has_change_permission(request, app) and app.identity != App.Identity.ENFORCE
        return super().render_change_form(request, context, *args, **kwargs)

    def get_urls(self) -> list[URLPattern]:
        enforce = self.admin_site.admin_view(self.enforce_identity)
        return [path("<str:object_id>/enforce-identity/", enforce, name="engage_app_enforce"), *super().get_urls()]

    def enforce_identity(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Asks, with the figures; posted, it is done and noted in the app's history."""
        app, now = self.get_object(request, object_id), timezone.now()
        if not self.has_change_permission(request, app):
            raise PermissionDenied
        if app is None:
            raise Http404
        section = identity_section(app, request=request, now=now)
        if request.method != "POST":
            context = {
                **self.admin_site.each_context(request),
                **section,
                "opts": self.opts,
                "original": app,
                "title": f"Refuse who is not proven in {app}?",
                "back": page_url(app),
                "has_key": valid_keys(app, now=now).exists(),
            }
            return TemplateResponse(request, "bridge/admin/enforce.html", context)
        try:
            enforce_identity(app_id=app.pk, now=now)
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            figures = section.get("in_words", "")
            self.log_change(request, app, f"Enforces identity from now on. {figures}".strip())
            self.message_user(request, f"{app} refuses from now on who is not proven.")
        return HttpResponseRedirect(page_url(app))

    @display(description="Today (UTC)")
    def today(self, app: App) -> str:
        """What all its callers have used of what the app may do in a day."""
        counts = counted_today(app.id)
        if counts is None:
            return "not known while Redis is away"
        return ", ".join(f"{count:,} of {quota.limit:,} {quota}" for quota, count in counts.items())


show_on(Workspace, Panel(model=App, by="workspace", columns=("__str__", "id", "enabled")))
