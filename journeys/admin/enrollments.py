"""Enrollments: where each customer stands on a journey."""

from typing import ClassVar

from django.contrib import admin
from django.db.models import Q

from customers.admin.search import customers_known_as
from engage.admin.filters import AutocompleteSelectFilter, ChoicesDropdownFilter, ExactFilter, SelectFilter
from engage.admin.records import ReadOnlyAdmin
from journeys.admin.results import ENROLLMENT_STATE
from journeys.job_ids import parse_job_id
from journeys.models import Enrollment, EnrollmentJob


@admin.register(Enrollment)
class EnrollmentAdmin(ReadOnlyAdmin):
    list_display = ("id", "workspace", "journey", "customer", "state", "step_id", "due_at", "entered_at")
    colours: ClassVar = {"state": ENROLLMENT_STATE}
    list_filter = (
        ("workspace", AutocompleteSelectFilter),
        ("journey", SelectFilter),
        ("customer", ExactFilter),
        ("state", ChoicesDropdownFilter),
    )
    search_help_text = "Enrollment id, job id, or a customer's id, external id, e-mail, phone"
    fieldsets = (
        (None, {"fields": ("id", "state", "exit_reason")}),
        (
            None,
            {"fields": ("journey", "revision", "customer", "job", "workspace")},
        ),
        (None, {"fields": (("step_id", "step_began_at", "due_at", "attempts"), ("entered_at", "ended_at"))}),
    )

    def matching(self, text: str) -> Q:
        parts = parse_job_id(text)
        if parts is not None:
            return Q(job__in=EnrollmentJob.objects.filter(**parts._asdict()))
        return Q(customer__in=[customer.pk for customer in customers_known_as(text)])
