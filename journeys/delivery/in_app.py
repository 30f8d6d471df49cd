"""In-app messages that journeys have delivered: what became of them, and a button that takes one back."""

from typing import Any, ClassVar

from django.contrib import admin
from django.db.models import Q
from django.http import HttpRequest

from customers.admin.search import BY_CUSTOMER, customers_known_as
from engage.admin.parts.acts import Act, Button, Done, Place, permitted
from engage.admin.parts.filters import ExactFilter, LatestChoicesFilter
from engage.admin.parts.records import ReadOnlyAdmin
from engage.errors import InvalidRequest
from journeys.engine.in_app.withdrawing import withdraw
from journeys.faces.results import IN_APP_STATE
from journeys.models import InAppDelivery


def _withdrawing(delivery: InAppDelivery, _: HttpRequest) -> list[Button]:
    asks = "No page will show it any more. Withdraw the message?"
    return [Button("Withdraw", asks, look="first danger")] if delivery.ended_at is None else []


def _withdraw(_: Any, request: HttpRequest, delivery: InAppDelivery) -> Done:
    if not withdraw(delivery, by=request.user.get_username()):
        raise InvalidRequest("The delivery is over already.")
    return Done(delivery, "The message is withdrawn: no page shows it any more.")


@admin.register(InAppDelivery)
class InAppDeliveryAdmin(ReadOnlyAdmin):
    acts = (
        Act(
            "withdraw",
            _withdraw,
            may=permitted("journeys.change_inappdelivery"),
            noted_as=None,
            button=_withdrawing,
            place=Place.BELOW,
        ),
    )
    list_display = ("customer", "message_id", "state", "created_at", "shown_at", "ended_at", "workspace", "id")
    list_display_links = ("created_at", "id")
    titled_by = ("message_id", "customer")
    colours: ClassVar = {"state": IN_APP_STATE}
    list_filter = (("state", LatestChoicesFilter), ("message_id", ExactFilter), ("customer", ExactFilter))
    search_help_text = f"Delivery id, or {BY_CUSTOMER}"
    fieldsets = (
        (None, {"fields": ("id", "state", "because", "message_id", "customer", "workspace")}),
        (None, {"fields": (("journey_id", "revision_id"), ("enrollment_id", "ordinal"), "step_id")}),
        (None, {"fields": (("priority", "withdraw_on_exit"), "values", "action_id")}),
        (None, {"fields": (("created_at", "expires_at"), ("shown_at", "ended_at"))}),
    )

    def matching(self, text: str, request: HttpRequest) -> Q:
        return Q(customer__in=[customer.pk for customer in customers_known_as(text, request)])
