"""The list of all that journeys have sent, delivered or not: webhooks and in-app messages, the latest first."""

from collections.abc import Mapping
from typing import Any

from django import forms
from django.http import HttpRequest
from django.utils.html import format_html
from unfold.widgets import UnfoldAdminSelectWidget, UnfoldAdminTextInputWidget

from customers.admin.search import customers_known_as
from customers.models import Customer
from engage.admin.parts.columns import gone, link, may_view, moment
from engage.admin.parts.filters import time_of
from engage.admin.rights.reach import reachable
from engage.models import Workspace
from journeys.engine.enrollments.deliveries import (
    DeliveriesPage,
    DeliveriesPlace,
    DeliveryKind,
    SentDelivery,
    SentState,
    WantedDeliveries,
    deliveries_page,
)
from journeys.enrollment.history import page_of, said_of
from journeys.models import InAppDelivery, Journey, WebhookDelivery

SHOWN = 50
_HEADERS = ["Sent", "Customer", "Journey", "Step", "What it came to"]
_MOST_JOURNEYS = 500
_NOBODY = "g"  # after every id


def kinds_seen(request: HttpRequest) -> tuple[str, ...]:
    """The kinds that this member of staff may view."""
    models = {DeliveryKind.WEBHOOK: WebhookDelivery, DeliveryKind.IN_APP: InAppDelivery}
    sees_people = may_view(Customer, request=request)
    return tuple(kind for kind, model in models.items() if sees_people and may_view(model, request=request))


class SentForm(forms.Form):
    """What is asked for; what is empty is not."""

    customer = forms.CharField(required=False, widget=UnfoldAdminTextInputWidget(attrs={"placeholder": "E-mail or id"}))
    journey = forms.ChoiceField(required=False, widget=UnfoldAdminSelectWidget)
    step = forms.CharField(required=False, max_length=100, widget=UnfoldAdminTextInputWidget)
    state = forms.ChoiceField(
        required=False,
        choices=[("", "Any"), *((state.value, state.value) for state in SentState)],
        widget=UnfoldAdminSelectWidget,
    )

    def __init__(self, request: HttpRequest) -> None:
        super().__init__(request.GET)
        sees = may_view(Journey, request=request)
        own = reachable(Journey.objects.order_by("name"), request=request)[:_MOST_JOURNEYS] if sees else []
        self.fields["journey"].choices = [("", "Any"), *((one.pk, one.name) for one in own)]  # type: ignore[attr-defined]


def sent_list(request: HttpRequest) -> Mapping[str, Any]:
    """A page of the list as this member of staff may see it, ready for the template."""
    form = SentForm(request)
    asked = form.cleaned_data if form.is_valid() else {}
    span = {name: request.GET.get(name, "").strip() for name in ("since", "before")}
    customer, several = _customer(asked.get("customer", ""), request)
    own = reachable(Workspace.objects.order_by(), request=request)
    wanted = WantedDeliveries(
        customer_id=customer,
        journeys=[asked["journey"]] if asked.get("journey") else None,
        step_id=asked.get("step") or None,
        kinds=kinds_seen(request),
        state=asked.get("state") or None,
        since=time_of(span["since"]),
        before=time_of(span["before"]),
    )
    page = deliveries_page(
        workspaces=list(own.values_list("pk", flat=True)), wanted=wanted, after=_place(request), limit=SHOWN
    )
    return {
        "form": form,
        "several": several,
        "span": {name: at.strftime("%Y-%m-%dT%H:%M") if (at := time_of(text)) else "" for name, text in span.items()},
        "table": {"headers": _HEADERS, "rows": _rows(page, request)},
        "older": page.last and f"{page.last.webhook}-{page.last.in_app}",
    }


def _customer(text: str, request: HttpRequest) -> tuple[str | None, bool]:
    """The id of who goes by this, and whether several do; None: nobody is asked for."""
    if not text.strip():
        return None, False
    known = customers_known_as(text.strip(), request)
    return (known[0].pk if known else _NOBODY), len(known) > 1


def _place(request: HttpRequest) -> DeliveriesPlace | None:
    webhook, _, in_app = request.GET.get("after", "").partition("-")
    return DeliveriesPlace(webhook=int(webhook), in_app=in_app) if webhook.isdecimal() and len(webhook) < 17 else None  # noqa: PLR2004


def _rows(page: DeliveriesPage, request: HttpRequest) -> list[list[Any]]:
    customers = Customer.objects.in_bulk({sent.customer_id for sent in page.deliveries})
    sees_journeys = may_view(Journey, request=request)
    return [_row(sent, customers, sees_journeys=sees_journeys) for sent in page.deliveries]


def _row(sent: SentDelivery, customers: Mapping[str, Customer], *, sees_journeys: bool) -> list[Any]:
    who = customers.get(sent.customer_id)
    return [
        format_html('<a href="{}" class="text-link">{}</a>', page_of(sent), moment(sent.at)),
        link(who) if who else gone(sent.customer_id),
        link(Journey(pk=sent.journey_id, name=sent.journey_name or "")) if sees_journeys and sent.journey_name else "-",
        sent.step_id,
        format_html("<div>{}</div>", said_of(sent)),
    ]
