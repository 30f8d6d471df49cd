"""Enrollments: where each customer is in a journey, what has happened there, and what staff may do about it."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db import transaction
from django.db.models import Q, QuerySet
from django.forms import Media
from django.http import Http404, HttpRequest
from unfold.contrib.filters.admin import RadioFilter

from customers.admin.search import BY_CUSTOMER, customers_known_as
from engage.admin.parts.acts import Act, Button, Done, Input, permitted
from engage.admin.parts.filters import ExactFilter, LatestChoicesFilter, SelectFilter, TimesFilter
from engage.admin.parts.records import ReadOnlyAdmin
from engage.errors import InvalidRequest
from engage.models import AuditEntry
from journeys.engine.enrollments.exiting import exit_enrollment
from journeys.engine.enrollments.states import GAVE_UP
from journeys.engine.wakeups import wake_sender
from journeys.engine.webhooks.resending import send_again
from journeys.enrollment.timeline import timeline_of
from journeys.faces.drawings import MAP_MEDIA
from journeys.faces.results import ENROLLMENT_STATE
from journeys.models import Enrollment, EnrollmentJob, WebhookDelivery
from journeys.steps.exit import LONGEST_REASON


class StandsAtFilter(ExactFilter):
    """Those who wait in a step now; its index holds nobody else."""

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        narrowed = super().queryset(request, queryset)
        return narrowed.filter(step_began_at__isnull=False) if self.value() else narrowed


class GivenUpFilter(RadioFilter):
    """Those whose steps could not be walked, by when they ended; their index holds nobody else."""

    title = "how it ended"
    parameter_name = "ended"
    all_option: Any = ("", "Any way")

    def lookups(self, request: HttpRequest, model_admin: Any) -> Any:
        return [("given-up", "Given up after errors")]

    def queryset(self, request: HttpRequest, queryset: QuerySet[Any]) -> QuerySet[Any]:
        return queryset.filter(GAVE_UP).order_by("-ended_at", "-pk") if self.value() == "given-up" else queryset


def _end(_: Any, request: HttpRequest, enrollment: Enrollment) -> Done:
    reason = request.POST.get("reason", "").strip()[:LONGEST_REASON]
    if not reason:
        raise InvalidRequest("Say why the enrollment is ended.")
    exit_enrollment(workspace_id=enrollment.workspace_id, enrollment_id=enrollment.pk, reason=reason)
    # Without the reason: it goes into the audit, which outlives the person.
    return Done(enrollment, "The enrollment was ended.")


def _ending(enrollment: Enrollment, _: HttpRequest) -> list[Button]:
    look, placeholder = "engage-reason", "Why it is ended"
    reason = Input(
        name="reason", label="Reason", placeholder=placeholder, at_most=LONGEST_REASON, required=True, look=look
    )
    asks = "No further step will follow. End this enrollment?"
    is_active = enrollment.state == Enrollment.State.ACTIVE
    return [Button("End it now", asks, look="first danger", inputs=[reason])] if is_active else []


def _send_again(_: Any, request: HttpRequest, enrollment: Enrollment, delivery_id: int) -> Done:
    if not WebhookDelivery.objects.filter(id=delivery_id, enrollment=enrollment).exists():
        raise Http404
    send_again(workspace_id=enrollment.workspace_id, delivery_id=delivery_id)
    transaction.on_commit(wake_sender, robust=True)
    return Done(enrollment, "The webhook is sent again.")


@admin.register(Enrollment)
class EnrollmentAdmin(ReadOnlyAdmin):
    acts = (
        Act("end", _end, may=permitted("journeys.change_enrollment"), noted_as=AuditEntry.Action.ENDED, button=_ending),
        Act(
            "send_again",
            _send_again,
            route="webhooks/<int:delivery_id>/send-again",
            may=permitted("journeys.change_webhookdelivery"),
            noted_as=AuditEntry.Action.SENT_AGAIN,
        ),
    )
    list_display = ("customer", "journey", "state", "step_id", "due_at", "entered_at", "exit_reason", "workspace", "id")
    list_display_links = ("entered_at", "id")
    titled_by = ("customer", "journey")
    colours: ClassVar = {"state": ENROLLMENT_STATE}
    list_filter = (
        ("journey", SelectFilter),
        ("customer", ExactFilter),
        ("state", LatestChoicesFilter),
        ("step_id", StandsAtFilter),
        GivenUpFilter,
        ("entered_at", TimesFilter),
    )
    search_help_text = f"Enrollment id, job id, or {BY_CUSTOMER}"
    fieldsets = (
        (None, {"fields": ("id", "state", "exit_reason")}),
        (
            None,
            {"fields": ("journey", "revision", "customer", "job", "entrance", "workspace")},
        ),
        (
            None,
            {
                "fields": (
                    ("step_id", "step_began_at"),
                    ("due_at", "attempts"),
                    ("entered_at", "ended_at"),
                )
            },
        ),
    )
    change_form_outer_before_template: Any = "journeys/admin/way.html"
    change_form_outer_after_template: Any = "journeys/admin/timeline.html"

    @property
    def media(self) -> Media:
        inherited: Media = super().media
        return inherited + MAP_MEDIA

    def matching(self, text: str, request: HttpRequest) -> Q:
        if (named := EnrollmentJob.named(text)) is not None:
            return Q(job__in=EnrollmentJob.objects.filter(named))
        return Q(customer__in=[customer.pk for customer in customers_known_as(text, request)])

    def beside(self, record: Any, request: HttpRequest) -> dict[str, Any]:
        return {"timeline": timeline_of(record, request=request)}
