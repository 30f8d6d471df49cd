from datetime import UTC, datetime

from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.events import NewEvent, record_events
from customers.models import Event
from engage.models import Workspace
from tests.support.factories import CustomerFactory


def _new(workspace: Workspace, customer_id: str, **changes: object) -> NewEvent:
    told = {"name": "signed_up", "properties": {"plan": "pro"}, "source": Event.Source.API, **changes}
    return NewEvent(workspace_id=workspace.id, customer_id=customer_id, **told)  # type: ignore[arg-type]


def test_an_event_is_recorded_for_its_customer_as_of_the_time_given(acme: Workspace) -> None:
    ada, then = CustomerFactory.create(workspace=acme), datetime(2026, 11, 20, 12, tzinfo=UTC)
    event = _new(acme, ada.id, occurred_at=then, source=Event.Source.BRIDGE_ACTION, chain=3)
    record_events([event])
    stored = Event.objects.get(id=event.id)
    assert (stored.workspace, stored.customer, stored.name) == (acme, ada, "signed_up")
    assert (stored.properties, stored.source, stored.occurred_at) == ({"plan": "pro"}, "bridge_action", then)
    assert stored.chain == 3


def test_an_event_without_a_time_occurred_now_by_the_clock_of_the_database(acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme)
    record_events([_new(acme, ada.id)])
    stored = Event.objects.get()
    assert abs((stored.occurred_at - stored.created_at).total_seconds()) < 1


def test_a_thousand_events_are_recorded_by_one_statement(acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme)
    with CaptureQueriesContext(connection) as queries:
        record_events([_new(acme, ada.id) for _ in range(1000)])
    assert (len(queries), Event.objects.count()) == (1, 1000)


def test_events_are_numbered_in_their_order_in_a_call_and_one_call_after_the_other(acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme)
    names = [f"n{number % 7}" for number in range(100)]
    for start in (0, 50):
        record_events([_new(acme, ada.id, name=name) for name in names[start : start + 50]])
    numbered = Event.objects.order_by("serial")
    assert [event.name for event in numbered] == names
    assert len({event.serial for event in numbered}) == len(names)
