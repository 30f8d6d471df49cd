"""Jobs: what became of each customer that a trigger named, and why."""

from datetime import UTC, datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q, QuerySet
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from customers.admin.search import BY_CUSTOMER, customers_known_as
from customers.models import Customer
from engage.admin.parts.columns import Lines, may_view, moment
from engage.admin.parts.filters import (
    AutocompleteSelectFilter,
    ExactFilter,
    LatestChoicesFilter,
    TimesFilter,
    narrowed_by_id,
)
from engage.admin.parts.records import ReadOnlyAdmin
from journeys.faces.results import JOB_RESULT, JOB_STATUS
from journeys.models import EnrollmentJob, Trigger


class JourneyOfJobsFilter(AutocompleteSelectFilter):
    """By way of the journey's triggers: jobs have no index by journey."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        if not (journey := self.value()):
            return queryset
        return queryset.filter(trigger__in=Trigger.objects.filter(journey=journey).values("pk"))


class QueuedFilter(TimesFilter):
    """By the time in the job id, and by way of the triggers of that time."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        since, before = self.time("since"), self.time("before")
        if since is not None:
            queryset = queryset.filter(queued_ms__gte=int(since.timestamp() * 1000))
        if before is not None:
            queryset = queryset.filter(queued_ms__lt=int(before.timestamp() * 1000))
        return narrowed_by_id(queryset, "trigger_id", since=since, before=before)


@admin.register(EnrollmentJob)
class EnrollmentJobAdmin(ReadOnlyAdmin):
    list_display = ("customer", "journey", "status", "result", "reason", "queued_at", "workspace", "shortened_id")
    list_display_links = ("queued_at", "shortened_id")
    titled_by = ("customer", "journey")
    colours: ClassVar = {"status": JOB_STATUS, "result": JOB_RESULT}
    list_filter = (
        ("trigger", ExactFilter),
        ("customer", ExactFilter),
        ("status", LatestChoicesFilter),
        ("result", LatestChoicesFilter),
        ("journey", JourneyOfJobsFilter),
        ("queued_ms", QueuedFilter),
    )
    search_help_text = f"Job id, or {BY_CUSTOMER}"
    fieldsets = (
        (None, {"fields": ("job_id", ("status", "result"), "reason", "details", ("queued_at", "decided_at"))}),
        (None, {"fields": ("journey", "customer", "trigger", "enrollment")}),
        (None, {"fields": (("entrance", "scheduled_for"), ("zone", "payload"))}),
        (None, {"fields": ("workspace", ("ordinal", "queued_ms"))}),
    )

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        """Details quote the customer's values, and the payload is about them."""
        if name in {"details", "payload"} and not may_view(Customer, request=request):
            return None
        if name == "details":
            return Lines(name)
        return super().shown_as(name, request)

    @display(description="job id")
    def shortened_id(self, job: EnrollmentJob) -> SafeString:
        """Without the ids of the journey and the customer, which have their own columns."""
        return format_html('<span title="{}" class="engage-whole">…-{}</span>', job.job_id, job.queued_ms)

    @display(description="queued at")
    def queued_at(self, job: EnrollmentJob) -> SafeString | None:
        """The time in the job id."""
        return moment(datetime.fromtimestamp(job.queued_ms / 1000, tz=UTC))

    def get_ordering(self, request: HttpRequest) -> Any:
        """Along the index by trigger, whose ids begin with their time, where that is what narrows the list."""
        asked = {name for name in request.GET if str(request.GET[name]).strip()}  # the form also sends empty fields
        if "trigger__id__exact" in asked:
            return ("trigger_id", "ordinal")
        if asked & {"journey__id__exact", "since", "before"}:
            return ("-trigger_id", "-ordinal")
        return super().get_ordering(request)

    def matching(self, text: str, request: HttpRequest) -> Q:
        if (named := EnrollmentJob.named(text)) is not None:
            return named
        # The id itself as well: nothing but jobs is left of an erased customer.
        return Q(customer__in={text, *(customer.pk for customer in customers_known_as(text, request))})
