"""Triggers, and their waiting work."""

from typing import Any

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.safestring import SafeString
from unfold.decorators import display

from customers.admin.search import BY_CUSTOMER, customers_known_as
from engage.admin.parts.filters import (
    ChoicesDropdownFilter,
    ExactFilter,
    LatestChoicesFilter,
    SelectFilter,
    TimesFilter,
)
from engage.admin.parts.records import ReadOnlyAdmin
from journeys.engine.jobs.progress import count_jobs
from journeys.faces.results import counted_results
from journeys.journey.acts.steering import CANCEL
from journeys.models import Chunk, EnrollmentJob, Trigger
from journeys.trigger.call_panel import table_of_call

_MOST_JOBS = 500


@admin.register(Trigger)
class TriggerAdmin(ReadOnlyAdmin):
    acts = (CANCEL,)
    list_display = ("journey", "form", "customers", "queued_at", "workspace", "id")
    list_display_links = ("queued_at", "id")
    titled_by = ("journey",)
    list_filter = (
        ("journey", SelectFilter),
        ("form", LatestChoicesFilter),
        ("queued_at", TimesFilter),
    )
    search_help_text = f"Trigger id, job id, or {BY_CUSTOMER}"
    fieldsets = (
        (None, {"fields": ("id", ("journey", "workspace"))}),
        (None, {"fields": (("form", "customers"), ("queued_at", "expires_at"), "results")}),
        (None, {"fields": ("event", "request_id", "traceparent", "payload")}),
    )
    change_form_outer_after_template: Any = "journeys/admin/call.html"

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        return {"call": table_of_call(record, request=request)}

    def matching(self, text: str, request: HttpRequest) -> Q:
        if (named := EnrollmentJob.named(text)) is not None:
            return Q(pk__in=EnrollmentJob.objects.filter(named).values("trigger"))
        # The id itself as well: it is all that is left of an erased customer.
        known = {text, *(customer.pk for customer in customers_known_as(text, request))}
        # In the order of the index by customer. The ids are read first: a condition over both tables would tempt
        # PostgreSQL to scan the triggers instead.
        jobs = EnrollmentJob.objects.filter(customer__in=known).order_by("-customer_id", "-journey_id", "-queued_ms")
        return Q(pk__in=list(jobs.values_list("trigger_id", flat=True)[:_MOST_JOBS]))

    @display(description="results")
    def results(self, trigger: Trigger) -> SafeString:
        """Only for the page of one trigger."""
        return counted_results(count_jobs(trigger))


@admin.register(Chunk)
class ChunkAdmin(ReadOnlyAdmin):
    titled_by = ("trigger",)
    list_display = ("trigger", "lane", "start", "stop", "due_at", "attempts", "error", "workspace", "id")
    list_display_links = ("due_at", "id")
    list_filter = (
        ("trigger", ExactFilter),
        ("lane", ChoicesDropdownFilter),
    )
    fields = (
        ("trigger", "workspace"),
        ("lane", "attempts"),
        ("start", "stop"),
        ("turn_at", "due_at"),
        "error",
    )
    search_help_text = "Trigger id"

    def matching(self, text: str, request: HttpRequest) -> Q:
        return Q(trigger=text)
