"""Journeys and their revisions."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import (
    HttpRequest,
)
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.parts.columns import badge
from engage.admin.parts.edits import TakenMeanwhile
from engage.admin.parts.filters import BooleanRadioFilter, ChoicesDropdownFilter, SelectFilter
from engage.admin.parts.json_field import JsonField
from engage.admin.parts.managed import SAVE_OVER, asks
from engage.admin.parts.records import ReadOnlyAdmin
from engage.audit.acting import by_staff
from journeys.delivery.left_alone import left_alone_now, may_try_now
from journeys.engine.steering.acts import record_act
from journeys.faces.content_rights import (
    READ_CUSTOMERS,
    WHY_NOT,
    Content,
    may_write_content,
    sees_queries,
)
from journeys.faces.drawings import MAP_MEDIA
from journeys.faces.results import JOURNEY_STATE
from journeys.journey.acts.keeping import KEEPING, ArchivedFilter
from journeys.journey.acts.steering import STEER
from journeys.journey.authoring import save_journey
from journeys.journey.differences import compared
from journeys.journey.draft.checking import editor_of
from journeys.journey.form import JourneyForm
from journeys.journey.how_to_trigger import ways_to_trigger
from journeys.journey.map import map_of
from journeys.journey.send.page import SendPages
from journeys.journey.studio.help import CONTEXT
from journeys.journey.studio.suggestions import suggestions
from journeys.models import Journey, JourneyRevision, SteeringAct
from journeys.overview.held import held_now, hold_of, move_of


@admin.register(Journey)
class JourneyAdmin(SendPages):
    acts = (*SendPages.acts, STEER, *KEEPING)
    form = JourneyForm
    list_display = ("name", "key", "workspace", "trigger_type", "state_label", "revision", "updated_at", "id")
    list_filter = (
        ("trigger_type", ChoicesDropdownFilter),
        ("active", BooleanRadioFilter),
        ArchivedFilter,
    )
    search_fields = ("name", "key", "=id")
    search_help_text = "Name, key or id"
    autocomplete_fields = ("workspace",)
    fieldsets = (
        (
            None,
            {
                "fields": (
                    "workspace",
                    ("name", "key"),
                    ("trigger_type", "event_name"),
                    ("event_where", "event_from_bridge"),
                    "active",
                )
            },
        ),
        (
            "Entry rules",
            {
                "fields": (
                    ("max_entries_per_customer", "allow_reenrollment"),
                    "concurrent_entrances",
                    "entry_conditions",
                    "hold_out",
                    "payload_schema",
                )
            },
        ),
        ("Steps and exits", {"fields": ("steps", "exit_on", "guards", "goals", ("topic", "on_opt_out"))}),
        (None, {"fields": ("managed_by", SAVE_OVER)}),
        (None, {"fields": (("id", "revision"), ("created_at", "updated_at"), "archived_at")}),
    )
    written_once = ("workspace", "key")
    audited_elsewhere = True
    never_deleted = (
        "A journey is not deleted, because its triggers, jobs and enrollments would go with it. Archive it instead."
    )
    change_form_outer_before_template: Any = "journeys/admin/journey_head.html"
    change_form_outer_after_template: Any = "journeys/admin/keeping.html"
    list_before_template: Any = "journeys/admin/held.html"
    change_form_before_template: Any = "journeys/admin/journey_help.html"

    @property
    def media(self) -> forms.Media:
        inherited: forms.Media = super().media
        return inherited + MAP_MEDIA

    @display(description="state")
    def state_label(self, journey: Journey) -> SafeString:
        return badge(journey.state, JOURNEY_STATE[journey.state])

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        if name == SAVE_OVER:
            return None
        field = JourneyForm.base_fields.get(name)
        form = field.offered if isinstance(field, JsonField) else ""
        return _content(name, request, form=form) or super().shown_as(name, request)

    def _has_input(self, name: str, obj: Any, request: HttpRequest) -> bool:
        return asks(name, obj) and super()._has_input(name, obj, request)

    def may_write(self, name: str, request: HttpRequest) -> bool:
        return name not in READ_CUSTOMERS or may_write_content(request)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Refuses what the page has no inputs for, instead of saving the rest."""
        if READ_CUSTOMERS & request.POST.keys() and not may_write_content(request):
            raise PermissionDenied(WHY_NOT)
        return super().changeform_view(request, *args, **kwargs)

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        return {
            "ways_to_trigger": ways_to_trigger(record, base=request.build_absolute_uri("/").rstrip("/")),
            "map": map_of(record, request=request),
            "hold": hold_of(record),
            "moving": move_of(record),
            "left_alone": left_alone_now(request, journey=record),
            "may_try_now": may_try_now(request),
        }

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        may_edit = self.has_add_permission(request) or self.has_change_permission(request)
        why_not = WHY_NOT if may_edit and not may_write_content(request) else ""
        if may_edit and not why_not:
            context["editor"] = editor_of(context["original"])
            context["suggestions"] = _suggestions(context["original"])
        return super().render_change_form(request, {**context, **CONTEXT, "why_not": why_not}, *args, **kwargs)

    def changelist_view(self, request: HttpRequest, extra_context: Any = None) -> Any:
        shown: Any = {**(extra_context or {}), "held": held_now(request)}
        return super().changelist_view(request, shown)

    def formfield_for_dbfield(self, db_field: Any, request: HttpRequest, **kwargs: Any) -> Any:
        if db_field.name == "max_entries_per_customer":
            kwargs["min_value"] = 1  # Django's is 0, which the model refuses afterwards
        return super().formfield_for_dbfield(db_field, request, **kwargs)

    def save_model(self, request: HttpRequest, obj: Any, form: Any, change: Any) -> None:
        saved = save_journey(workspace=obj.workspace, key=obj.key, now=timezone.now(), **form.changes())
        if not change and saved.outcome != "created":
            raise TakenMeanwhile
        if change and "active" in form.changed_data:
            kind = SteeringAct.Kind.ACTIVATE if saved.journey.active else SteeringAct.Kind.CLOSE
            record_act(kind, saved.journey, actor=by_staff(request.user.get_username()), reason="")
        obj.pk, obj.revision = saved.journey.pk, saved.journey.revision
        for warning in saved.warnings:
            self.message_user(request, f"{warning.place}: {warning.message}", messages.WARNING)


def _suggestions(journey: Journey | None) -> dict[str, Any]:
    """What the forms beside JSON offer; nothing yet for a journey that is being made."""
    return suggestions(journey, of_customers=True, now=timezone.now()) if journey else {}


def _content(name: str, request: HttpRequest, *, form: str = "") -> Content | None:
    """The column for what a revision holds; None for other fields."""
    return Content(name, with_queries=sees_queries(request), form=form) if name in {"steps", "exit_on"} else None


@admin.register(JourneyRevision)
class JourneyRevisionAdmin(ReadOnlyAdmin):
    list_display = ("journey", "number", "created_at", "made_by", "workspace", "id")
    list_display_links = ("number", "id")
    list_filter = (("journey", SelectFilter),)
    fields = (("journey", "workspace"), ("number", "created_at"), "made_by", "steps", "exit_on")
    search_help_text = "Journey id"
    titled_by = ("journey",)
    change_form_outer_after_template: Any = "journeys/admin/revision.html"

    def title_of(self, record: Any, request: HttpRequest) -> str:
        return f"Revision {record.number} of {super().title_of(record, request)}"

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        return compared(record, request=request)

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        return _content(name, request) or super().shown_as(name, request)

    def matching(self, text: str, request: HttpRequest) -> Q:
        return Q(journey=text)
