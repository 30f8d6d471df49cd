"""What the tests of events do again and again: report them, and make journeys that they start."""

from typing import Any

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob, Journey
from tests.journeys.walking.stories import enter
from tests.support.calls import customers_path, data, let_workers_walk
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory

BIG = {"field": "event.properties.total", "op": "gte", "value": 100}
WAIT = {
    "id": "wait",
    "type": "wait_for_event",
    "event": "ordered",
    "timeout": "P3D",
    "onEvent": "thank",
    "onTimeout": None,
}
THANK = {"id": "thank", "type": "update_profile", "attributes": {"thanked": "{{ event.properties.total }}"}}
YEAR = {"id": "year", "type": "delay", "for": "P365D"}


def report(server: ServerClient, customer: Customer, name: str = "ordered", **properties: Any) -> str:
    """The server reports an event of the customer; the event's id."""
    body = {"customerId": customer.id, "eventName": name, "eventProperties": properties}
    return str(data(server.post(customers_path(customer.workspace, "events"), body))["eventId"])


def report_many(server: ServerClient, workspace: Workspace, events: list[dict[str, Any]]) -> list[str]:
    answered = data(server.post(customers_path(workspace, "events"), {"events": events}))
    return [result["eventId"] for result in answered["results"]]


def event_journey(workspace: Workspace, **fields: Any) -> Journey:
    return JourneyFactory.create(workspace=workspace, trigger_type="event", **{"event_name": "ordered", **fields})


def results() -> list[str]:
    return list(EnrollmentJob.objects.order_by("id").values_list("result", flat=True))


def inside(server: ServerClient, customer: Customer, exit_on: list[Any], steps: list[Any] | None = None) -> Enrollment:
    """An enrollment at its first wait, in a journey that these rules end."""
    journey = JourneyFactory.create(workspace=customer.workspace, steps=steps or [YEAR], steps__exit_on=exit_on)
    enrollment = enter(server, journey, customer)
    let_workers_walk()
    return enrollment
