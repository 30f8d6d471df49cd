"""A message that a journey delivers, as these tests know it."""

from datetime import timedelta
from typing import Any

from django.utils import timezone

from bridge.models import Message
from customers.models import Customer, Event
from engage.database.object_ids import new_object_id
from engage.models import Workspace
from journeys.engine.in_app.transitions import Done, advance
from journeys.engine.walking.reactions import record_and_react
from journeys.models import Enrollment, InAppDelivery, Journey
from tests.support.factories import JourneyFactory, MessageFactory

KEY = "offer"
OFFER: dict[str, Any] = {"id": "offer", "type": "in_app", "message": KEY}
ACTED: dict[str, Any] = {
    "id": "acted", "type": "wait_for_event", "event": "in_app.acted", "delivery": "offer", "timeout": "P3D",
    "onEvent": "went", "onTimeout": "late",
}  # fmt: skip
ENDS: list[dict[str, Any]] = [
    {"id": "went", "type": "exit", "reason": "It went."},
    {"id": "late", "type": "exit", "reason": "Too late."},
]
CTA: dict[str, Any] = {"id": "cta", "type": "track_event", "eventName": "clicked"}
CONTENT: dict[str, Any] = {
    "kind": "banner",
    "title": "Hello {{ customer.name }}",
    "text": "{{ values.coupon }}",
    "buttons": [{"action": "cta", "text": "Go"}, {"action": "close", "text": "Later"}],
}


def offer(workspace: Workspace, **fields: Any) -> Message:
    """An active message with content."""
    written = {"key": KEY, "actions": [CTA], "content": CONTENT, **fields}
    message: Message = MessageFactory.create(workspace=workspace, **written)
    return message


def journey_of(workspace: Workspace, *steps: dict[str, Any], **fields: Any) -> Journey:
    journey: Journey = JourneyFactory.create(workspace=workspace, steps=list(steps), **fields)
    return journey


def deliver(customer: Customer, **fields: Any) -> InAppDelivery:
    """A delivery of no journey that is there, due for a week."""
    made = {
        "journey_id": "6" * 24, "revision_id": 0, "enrollment_id": new_object_id(), "ordinal": 0, "step_id": "offer",
        "message_id": KEY, "expires_at": timezone.now() + timedelta(days=7),
    }  # fmt: skip
    return InAppDelivery.objects.create(workspace_id=customer.workspace_id, customer=customer, **made | fields)


def do(delivery: InAppDelivery, to: InAppDelivery.State, **fields: Any) -> None:
    """As the bridge does: in a transaction, with the customer's row locked."""
    done = Done(delivery_id=delivery.id, message_id=delivery.message_id, to=to, **fields)
    events = advance(done, workspace_id=delivery.workspace_id, customer_id=delivery.customer_id)
    if events:
        record_and_react(events)


def events_of(customer: Customer) -> list[str]:
    """The names of the customer's events, in the order in which they were recorded."""
    return list(Event.objects.filter(customer=customer).order_by("serial").values_list("name", flat=True))


def inside(customer: Customer) -> Enrollment:
    return Enrollment.objects.get(customer=customer)
