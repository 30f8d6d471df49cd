"""The list of what failed, with the answers."""

from typing import Any, ClassVar

from django.contrib import admin
from django.core.exceptions import PermissionDenied
from django.db.models import DateTimeField, OuterRef, Q, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect
from django.template.loader import render_to_string
from django.template.response import TemplateResponse
from django.urls import reverse
from django.utils import timezone
from django.utils.html import format_html
from django.utils.safestring import SafeString
from unfold.decorators import display

from customers.admin.search import BY_CUSTOMER, customers_known_as
from customers.models import Customer
from engage.admin.parts.acts import Act
from engage.admin.parts.columns import badge, count_up_to, link, may_view, moment, page_url
from engage.admin.parts.filters import ExactFilter, TimesFilter
from engage.http.query_strings import whole_number
from journeys.delivery.failures.conditions import (
    JourneyFilter,
    StatusFilter,
    WhatFilter,
    conditions_in,
    is_trying,
    periods,
)
from journeys.delivery.failures.sending import SendsAgain, resendings
from journeys.delivery.sent import kinds_seen, sent_list
from journeys.engine.enrollments.states import NEXT_ATTEMPT
from journeys.models import Enrollment, Journey, StepRun, WebhookAttempt, WebhookDelivery

COUNTED_AT_MOST = 10_000
_ANSWER_SHOWN = 300  # characters
_LAST = WebhookAttempt.objects.filter(delivery=OuterRef("pk"), number=OuterRef("attempts"))
_STEP = StepRun.objects.filter(enrollment_id=OuterRef("enrollment_id"), ordinal=OuterRef("ordinal"))

_TRIED_AT = RawSQL(NEXT_ATTEMPT.replace("{of}", "journeys_webhookdelivery"), (), output_field=DateTimeField())  # noqa: S611


def _sent(model_admin: SendsAgain, request: HttpRequest, _: None) -> HttpResponse:
    """All that was sent, delivered or not."""
    return model_admin.page(request, "journeys/admin/sent.html", title="Deliveries", opts=None, **sent_list(request))


@admin.register(WebhookDelivery)
class FailureAdmin(SendsAgain):
    """Lists what failed. A delivery has no page of its own: it stands in its enrollment's timeline."""

    acts = (
        *SendsAgain.acts,
        Act("sent", _sent, of_list=True, opens=True, may=lambda _, request: bool(kinds_seen(request))),
    )
    list_display = (
        "customer",
        "journey",
        "step",
        "host",
        "answer",
        "attempts",
        "failed_at",
        "workspace",
    )
    list_display_links: Any = ("failed_at",)
    list_filter = (
        WhatFilter,
        ("enrollment__journey", JourneyFilter),
        ("host", ExactFilter),
        StatusFilter,
        ("due_at", TimesFilter),
    )
    ordering: ClassVar[Any] = ("-due_at", "-pk")
    search_help_text = f"A webhook-id, an enrollment's id, or {BY_CUSTOMER}"
    list_before_template: Any = "journeys/admin/failures/above.html"
    list_disable_select_all = True
    actions: Any = ("send_chosen_again",)

    def get_list_display(self, request: HttpRequest) -> Any:
        hidden = {
            "customer": not may_view(Customer, request=request),
            "journey": not may_view(Journey, request=request),
        }
        return [column for column in super().get_list_display(request) if not hidden.get(column, False)]

    def get_queryset(self, request: HttpRequest) -> QuerySet[Any]:
        own = ["customer"] if may_view(Customer, request=request) else []
        own += ["journey"] if may_view(Journey, request=request) else []
        told = {name: Subquery(_LAST.values(name)[:1]) for name in ("status", "answer", "error")}
        deliveries: QuerySet[Any] = super().get_queryset(request)
        deliveries = deliveries.prefetch_related("enrollment", *(f"enrollment__{name}" for name in own))
        annotated: QuerySet[Any] = deliveries.annotate(
            step=Subquery(_STEP.values("step_id")[:1]),
            tried_at=_TRIED_AT,
            **{f"last_{name}": value for name, value in told.items()},
        )
        return annotated

    def get_actions(self, request: HttpRequest) -> Any:
        return super().get_actions(request) if self.has_send_permission(request) else {}

    def matching(self, text: str, request: HttpRequest) -> Q:
        enrollment, _, ordinal = text.removeprefix("msg_").partition("_")
        if Enrollment.objects.filter(pk=enrollment).exists():
            number = whole_number(ordinal)
            return Q(enrollment=enrollment, **({} if number is None else {"ordinal": number}))
        customers = [customer.pk for customer in customers_known_as(text, request)]
        return Q(enrollment__in=Enrollment.objects.filter(customer__in=customers).values("pk"))

    @display(description="customer")
    def customer(self, delivery: WebhookDelivery) -> SafeString:
        return link(delivery.enrollment.customer)

    @display(description="journey")
    def journey(self, delivery: WebhookDelivery) -> SafeString:
        return link(delivery.enrollment.journey)

    @display(description="step")
    def step(self, delivery: Any) -> str:
        return delivery.step or "-"

    @display(description="answer")
    def answer(self, delivery: Any) -> SafeString:
        """The status of the last attempt, and behind a click what came with it."""
        label = str(delivery.last_status) if delivery.last_status is not None else "no answer"
        text = (delivery.last_answer or delivery.last_error or delivery.result)[:_ANSWER_SHOWN]
        return render_to_string("journeys/admin/failures/answer.html", {"status": badge(label, "danger"), "text": text})

    @display(description="failed")
    def failed_at(self, delivery: Any) -> SafeString | None:
        if delivery.state == WebhookDelivery.State.WAITING:
            return format_html("next attempt {}", moment(delivery.tried_at) or "once its host is released")
        return moment(delivery.due_at)

    def change_view(self, request: HttpRequest, object_id: str, *args: Any, **kwargs: Any) -> HttpResponse:
        """Goes to the timeline in which it stands, for who may see that."""
        if not (self.has_view_permission(request) and may_view(Enrollment, request=request)):
            raise PermissionDenied
        delivery = self.get_object(request, object_id)
        if delivery is None:
            return super().change_view(request, object_id, *args, **kwargs)
        return HttpResponseRedirect(f"{page_url(delivery.enrollment)}#timeline")

    def changelist_view(self, request: HttpRequest, extra_context: dict[str, Any] | None = None) -> TemplateResponse:
        answer = super().changelist_view(request, {**(extra_context or {}), "title": "Failures"})
        if "cl" in (getattr(answer, "context_data", None) or {}):  # no redirection, nor a page that asks
            assert answer.context_data is not None
            answer.context_data |= self._above(request, answer.context_data["cl"])
        return answer

    def _total(self, changes: Any) -> str:
        return ""  # stands above

    def _above(self, request: HttpRequest, changes: Any) -> dict[str, Any]:
        """What stands above the list: how many there are, of which times, and how far sending again has come."""
        now = timezone.now()
        return {
            "total": count_up_to(changes.queryset, most=COUNTED_AT_MOST),
            "may_send_all": self.has_send_permission(request) and not (is_trying(request) or changes.query),
            "send_all": f"{reverse('admin:journeys_webhookdelivery_send_again')}?{conditions_in(request)}",
            "periods": periods(now),
            "sees_sent": bool(kinds_seen(request)),
            "resendings": resendings(request),
        }
