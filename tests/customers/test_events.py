from datetime import UTC, datetime

from customers.events import record_event
from customers.models import Event
from engage.models import Workspace
from tests.factories import CustomerFactory


def test_an_event_is_recorded_for_its_customer_as_of_the_time_given(acme: Workspace) -> None:
    ada, now = CustomerFactory.create(workspace=acme), datetime(2026, 11, 20, 12, tzinfo=UTC)
    event = record_event(
        customer=ada, name="signed_up", properties={"plan": "pro"}, source=Event.Source.BRIDGE_ACTION, now=now
    )
    stored = Event.objects.get()
    assert event == stored
    assert (stored.workspace, stored.customer, stored.name) == (acme, ada, "signed_up")
    assert (stored.properties, stored.source, stored.occurred_at) == ({"plan": "pro"}, "bridge_action", now)
