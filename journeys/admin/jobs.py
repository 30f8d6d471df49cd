"""Jobs: what became of each customer that a trigger named, and why."""

from datetime import UTC, datetime
from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display
from unfold.utils import display_for_value

from customers.admin.search import BY_CUSTOMER, customers_known_as
from customers.models import Customer
from engage.admin.columns import Lines, may_view
from engage.admin.filters import AutocompleteSelectFilter, ChoicesDropdownFilter, ExactFilter
from engage.admin.records import ReadOnlyAdmin
from journeys.admin.results import JOB_RESULT, JOB_STATUS
from journeys.models import EnrollmentJob


@admin.register(EnrollmentJob)
class EnrollmentJobAdmin(ReadOnlyAdmin):
    list_display = (
        "shortened_id",
        "status",
        "result",
        "journey",
        "customer",
        "decided_at",
        "workspace",
        "trigger",
    )
    colours: ClassVar = {"status": JOB_STATUS, "result": JOB_RESULT}
    list_filter = (
        ("workspace", AutocompleteSelectFilter),
        ("trigger", ExactFilter),
        ("customer", ExactFilter),
        ("status", ChoicesDropdownFilter),
        ("result", ChoicesDropdownFilter),
    )
    search_help_text = f"Job id, or {BY_CUSTOMER}"
    fieldsets = (
        (None, {"fields": ("job_id", ("status", "result"), "reason", "details", ("queued_at", "decided_at"))}),
        (None, {"fields": ("journey", "customer", "trigger", "enrollment")}),
        (None, {"fields": ("workspace", ("ordinal", "queued_ms"))}),
    )

    def shown_as(self, name: str, request: HttpRequest) -> Any:
        """Details quote the customer's values."""
        if name == "details":
            return Lines(name) if may_view(Customer, request=request) else None
        return super().shown_as(name, request)

    @display(description="job id")
    def shortened_id(self, job: EnrollmentJob) -> SafeString:
        """Without the ids of the journey and the customer, which have their own columns."""
        return format_html('<span title="{}" class="engage-whole">…-{}</span>', job.job_id, job.queued_ms)

    @display(description="queued at")
    def queued_at(self, job: EnrollmentJob) -> str:
        """The time in the job id."""
        return str(display_for_value(datetime.fromtimestamp(job.queued_ms / 1000, tz=UTC), "-"))

    def get_ordering(self, request: HttpRequest) -> Any:
        """One trigger's jobs are read in the order of their own index, however many there are."""
        of_one = request.GET.get("trigger__id__exact", "").strip()  # the filter form also sends empty fields
        return ("trigger_id", "ordinal") if of_one else super().get_ordering(request)

    def matching(self, text: str, request: HttpRequest) -> Q:
        if (named := EnrollmentJob.named(text)) is not None:
            return named
        # The id itself as well: nothing but jobs is left of an erased customer.
        return Q(customer__in={text, *(customer.pk for customer in customers_known_as(text, request))})
