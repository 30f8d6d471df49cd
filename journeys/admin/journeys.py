"""Journeys and their revisions."""

from typing import Any

from django import forms
from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db.models import Q
from django.http import (
    Http404,
    HttpRequest,
    HttpResponse,
    HttpResponseNotAllowed,
    HttpResponseRedirect,
    JsonResponse,
)
from django.template.response import TemplateResponse
from django.urls import URLPattern, path
from django.utils import timezone
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.columns import badge, page_url
from engage.admin.edits import TakenMeanwhile
from engage.admin.filters import AutocompleteSelectFilter, BooleanRadioFilter, ChoicesDropdownFilter, SelectFilter
from engage.admin.records import ReadOnlyAdmin
from engage.errors import Refusal
from journeys.admin.content_rights import (
    READ_CUSTOMERS,
    WHY_NOT,
    Content,
    may_write_content,
    sees_credentials,
)
from journeys.admin.differences import compared
from journeys.admin.drafts import draft_of, editor_of
from journeys.admin.drawings import MAP_MEDIA
from journeys.admin.held import held_now, hold_of
from journeys.admin.journey_form import JourneyForm
from journeys.admin.journey_help import CONTEXT
from journeys.admin.keeping import ArchivedFilter
from journeys.admin.map import map_of
from journeys.admin.results import JOURNEY_STATE
from journeys.admin.steering import SteersJourneys, buttons_of, may_steer
from journeys.admin.trying import TryForm, may_send, may_try, sent, tried
from journeys.design.authoring import save_journey
from journeys.models import Journey, JourneyRevision


@admin.register(Journey)
class JourneyAdmin(SteersJourneys):
    form = JourneyForm
    list_display = ("name", "key", "workspace", "trigger_type", "state_label", "revision", "updated_at", "id")
    list_filter = (
        ("workspace", AutocompleteSelectFilter),
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
        ("Entry rules", {"fields": (("max_entries_per_customer", "allow_reenrollment"), "entry_conditions")}),
        ("Steps and exits", {"fields": ("steps", "exit_on", "guards")}),
        (None, {"fields": (("id", "revision"), ("created_at", "updated_at"), "archived_at")}),
    )
    written_once = ("workspace", "key")
    audited_elsewhere = True
    never_deleted = (
        "A journey is not deleted, because its triggers, jobs and enrollments would go with it. Archive it instead."
    )
    change_form_outer_before_template: Any = "journeys/admin/journey_head.html"
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
        return _content(name, request) or super().shown_as(name, request)

    def may_write(self, name: str, request: HttpRequest) -> bool:
        return name not in READ_CUSTOMERS or may_write_content(request)

    def changeform_view(self, request: HttpRequest, *args: Any, **kwargs: Any) -> Any:
        """Refuses what the page has no inputs for, instead of saving the rest."""
        if READ_CUSTOMERS & request.POST.keys() and not may_write_content(request):
            raise PermissionDenied(WHY_NOT)
        return super().changeform_view(request, *args, **kwargs)

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        may_edit = self.has_add_permission(request) or self.has_change_permission(request)
        if context["original"] is not None:
            context["may_try"] = may_try(request)
            context["map"] = map_of(context["original"], request=request)
            context["hold"] = hold_of(context["original"])
            context["buttons"] = buttons_of(context["original"]) if may_steer(request) else []
        why_not = WHY_NOT if may_edit and not may_write_content(request) else ""
        if may_edit and not why_not:
            context["editor"] = editor_of(context["original"])
        return super().render_change_form(request, {**context, **CONTEXT, "why_not": why_not}, *args, **kwargs)

    def get_urls(self) -> list[URLPattern]:
        wrap = self.admin_site.admin_view
        return [
            path("draft/", wrap(self._draft), name="journeys_journey_new_draft"),
            path("<str:object_id>/try/", wrap(self._try), name="journeys_journey_try"),
            path("<str:object_id>/draft/", wrap(self._draft), name="journeys_journey_draft"),
            *super().get_urls(),
        ]

    def _draft(self, request: HttpRequest, object_id: str | None = None) -> HttpResponse:
        """Tells what is wrong with the form as it is sent, and how it would be drawn; saves nothing."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        journey = self.get_object(request, object_id) if object_id else None
        may_edit = self.has_change_permission(request, journey) if object_id else self.has_add_permission(request)
        if not (may_edit and may_write_content(request)):
            raise PermissionDenied(WHY_NOT)
        if object_id and journey is None:
            raise Http404
        form = self.get_form(request, journey, change=journey is not None)
        return JsonResponse(draft_of(form(request.POST, instance=journey)))

    def _try(self, request: HttpRequest, object_id: str) -> HttpResponse:
        """Shows what the journey would do to a customer, and sends them through for those who ask for that."""
        journey = self.get_object(request, object_id)
        if not may_try(request) or ("send" in request.POST and (journey is None or not may_send(journey, request))):
            raise PermissionDenied
        if journey is None:
            raise Http404
        form, trial = TryForm(journey, request), None
        try:
            if form.is_valid() and "send" in request.POST:
                done = sent(journey, form)
                self.log_change(request, journey, done)
                self.message_user(request, done)
                return HttpResponseRedirect(request.path)
            trial = tried(journey, form, request=request, now=timezone.now()) if form.is_valid() else None
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        context = {
            **self.admin_site.each_context(request),
            "opts": self.opts,
            "title": "Try it",
            "media": self.media,
            "journey": journey,
            "page": page_url(journey),
            "form": form,
            "trial": trial,
            "may_send": may_send(journey, request),
        }
        return TemplateResponse(request, "journeys/admin/try.html", context)

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
        obj.pk, obj.revision = saved.journey.pk, saved.journey.revision


def _content(name: str, request: HttpRequest) -> Content | None:
    """The column for what a revision holds; None for other fields."""
    return Content(name, with_credentials=sees_credentials(request)) if name in {"steps", "exit_on"} else None


@admin.register(JourneyRevision)
class JourneyRevisionAdmin(ReadOnlyAdmin):
    list_display = ("journey", "number", "created_at", "workspace", "id")
    list_display_links = ("number", "id")
    list_filter = (("workspace", AutocompleteSelectFilter), ("journey", SelectFilter))
    fields = (("journey", "workspace"), ("number", "created_at"), "steps", "exit_on")
    search_help_text = "Journey id"
    titled_by = ("journey",)
    change_form_outer_after_template: Any = "journeys/admin/revision.html"

    def title_of(self, record: Any, request: HttpRequest) -> str:
        return f"Revision {record.number} of {super().title_of(record, request)}"

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        context |= compared(context["original"], request=request)
        return super().render_change_form(request, context, *args, **kwargs)

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        return _content(name, request) or super().shown_as(name, request)

    def matching(self, text: str, request: HttpRequest) -> Q:
        return Q(journey=text)
