"""Enrollments: where each customer is in a journey, what has happened there, and what staff may do about it."""

from collections.abc import Callable
from typing import Any, ClassVar

from django.contrib import admin, messages
from django.core.exceptions import PermissionDenied
from django.db import transaction
from django.db.models import Q, QuerySet
from django.forms import Media
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseNotAllowed, HttpResponseRedirect
from django.urls import URLPattern, path
from unfold.contrib.filters.admin import RadioFilter

from customers.admin.search import BY_CUSTOMER, customers_known_as
from engage.admin.columns import page_url
from engage.admin.filters import AutocompleteSelectFilter, ChoicesDropdownFilter, ExactFilter, SelectFilter, TimesFilter
from engage.admin.records import ReadOnlyAdmin
from engage.errors import InvalidRequest, Refusal
from engage.models import AuditEntry
from journeys.admin.drawings import MAP_MEDIA
from journeys.admin.results import ENROLLMENT_STATE
from journeys.admin.timeline import timeline_of
from journeys.enrollments.exiting import exit_enrollment
from journeys.enrollments.given_up import GAVE_UP
from journeys.models import Enrollment, EnrollmentJob, WebhookDelivery
from journeys.steps.exit import LONGEST_REASON
from journeys.wakeups import wake_sender
from journeys.webhooks.resending import send_again

_Done = tuple[AuditEntry.Action, str]
_Change = Callable[[HttpRequest, Enrollment], _Done]


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


@admin.register(Enrollment)
class EnrollmentAdmin(ReadOnlyAdmin):
    list_display = ("customer", "journey", "state", "step_id", "due_at", "entered_at", "exit_reason", "workspace", "id")
    list_display_links = ("entered_at", "id")
    titled_by = ("customer", "journey")
    colours: ClassVar = {"state": ENROLLMENT_STATE}
    list_filter = (
        ("workspace", AutocompleteSelectFilter),
        ("journey", SelectFilter),
        ("customer", ExactFilter),
        ("state", ChoicesDropdownFilter),
        ("step_id", StandsAtFilter),
        GivenUpFilter,
        ("entered_at", TimesFilter),
    )
    search_help_text = f"Enrollment id, job id, or {BY_CUSTOMER}"
    fieldsets = (
        (None, {"fields": ("id", "state", "exit_reason")}),
        (
            None,
            {"fields": ("journey", "revision", "customer", "job", "workspace")},
        ),
        (
            None,
            {
                "fields": (
                    ("step_id", "step_began_at"),
                    ("due_at", "was_due_at"),
                    ("entered_at", "ended_at"),
                    ("attempts", "crowd"),
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

    def render_change_form(self, request: HttpRequest, context: dict[str, Any], *args: Any, **kwargs: Any) -> Any:
        context["timeline"] = timeline_of(context["original"], request=request)
        context["longest_reason"] = LONGEST_REASON
        return super().render_change_form(request, context, *args, **kwargs)

    def get_urls(self) -> list[URLPattern]:
        def end(request: HttpRequest, object_id: str) -> HttpResponse:
            return self._change(request, object_id, "journeys.change_enrollment", _end)

        def again(request: HttpRequest, object_id: str, delivery_id: int) -> HttpResponse:
            def send(request: HttpRequest, enrollment: Enrollment) -> _Done:
                return _send_again(enrollment, delivery_id)

            return self._change(request, object_id, "journeys.change_webhookdelivery", send)

        wrap = self.admin_site.admin_view
        return [
            path("<str:object_id>/end/", wrap(end), name="journeys_enrollment_end"),
            path(
                "<str:object_id>/webhooks/<int:delivery_id>/send-again/",
                wrap(again),
                name="journeys_enrollment_send_again",
            ),
            *super().get_urls(),
        ]

    def _change(self, request: HttpRequest, object_id: str, permission: str, change: _Change) -> HttpResponse:
        """Makes the change, logs who made it, and redirects to the page, whose top shows the result."""
        if request.method != "POST":
            return HttpResponseNotAllowed(["POST"])
        if not (request.user.has_perm(permission) and self.has_view_permission(request)):
            raise PermissionDenied
        enrollment = self.get_object(request, object_id)
        if enrollment is None:
            raise Http404
        try:
            done = change(request, enrollment)
        except Refusal as refusal:
            self.message_user(request, refusal.message, messages.ERROR)
        else:
            action, said = done
            self.note(enrollment, action, said)
            self.message_user(request, said)
        return HttpResponseRedirect(page_url(enrollment))


def _end(request: HttpRequest, enrollment: Enrollment) -> _Done:
    reason = request.POST.get("reason", "").strip()[:LONGEST_REASON]
    if not reason:
        raise InvalidRequest("Say why the enrollment is ended.")
    exit_enrollment(workspace_id=enrollment.workspace_id, enrollment_id=enrollment.pk, reason=reason)
    # Without the reason: it goes into the audit, which outlives the person.
    return AuditEntry.Action.ENDED, "The enrollment was ended."


def _send_again(enrollment: Enrollment, delivery_id: int) -> _Done:
    if not WebhookDelivery.objects.filter(id=delivery_id, enrollment=enrollment).exists():
        raise Http404
    send_again(workspace_id=enrollment.workspace_id, delivery_id=delivery_id)
    transaction.on_commit(wake_sender, robust=True)
    return AuditEntry.Action.SENT_AGAIN, "The webhook is sent again."
