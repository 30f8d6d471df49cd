"""Triggers, and the work of theirs that waits."""

from django.contrib import admin
from django.db.models import Q
from django.utils.safestring import SafeString
from unfold.decorators import display

from engage.admin.filters import AutocompleteSelectFilter, ChoicesDropdownFilter, ExactFilter, SelectFilter
from engage.admin.records import ReadOnlyAdmin
from journeys.admin.results import counted_results
from journeys.models import Chunk, EnrollmentJob, Trigger


@admin.register(Trigger)
class TriggerAdmin(ReadOnlyAdmin):
    list_display = ("id", "journey", "workspace", "form", "customers", "queued_at")
    list_filter = (
        ("workspace", AutocompleteSelectFilter),
        ("journey", SelectFilter),
        ("form", ChoicesDropdownFilter),
    )
    search_help_text = "Trigger id"
    fieldsets = (
        (None, {"fields": ("id", ("journey", "workspace"))}),
        (None, {"fields": (("form", "customers", "queued_at"), "results")}),
        (None, {"fields": ("event", "request_id", "payload")}),
    )

    @display(description="results")
    def results(self, trigger: Trigger) -> SafeString:
        """For the page of one trigger only."""
        return counted_results(EnrollmentJob.objects.filter(trigger=trigger))


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin):
    list_display = (
        "id",
        "trigger",
        "workspace",
        "lane",
        "start",
        "stop",
        "due_at",
        "attempts",
        "error",
    )
    list_filter = (
        ("workspace", AutocompleteSelectFilter),
        ("trigger", ExactFilter),
        ("lane", ChoicesDropdownFilter),
    )
    fields = (
        ("trigger", "workspace"),
        ("lane", "start", "stop"),
        ("turn_at", "due_at", "attempts"),
        "error",
    )
    search_help_text = "Trigger id"

    def matching(self, text: str) -> Q:
        return Q(trigger=text)
