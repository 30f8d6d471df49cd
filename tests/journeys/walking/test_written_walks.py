"""What the steps of a walk came to is written as a whole, with that of the whole batch."""

from customers.models import Customer
from engage.models import Workspace
from journeys.walking import walk_due
from tests.calls import data, let_workers_decide, trigger
from tests.clients import ServerClient
from tests.factories import CustomerFactory, JourneyFactory


def test_what_a_customer_s_steps_write_is_merged_later_values_over_earlier_ones(
    server: ServerClient, acme: Workspace
) -> None:
    writes = [{"plan": "free", "old": None, "seats": 1}, {"plan": "pro", "seats": None}, {"of": "{{ customer.name }}"}]
    steps = [{"id": f"note-{n}", "type": "update_profile", "attributes": written} for n, written in enumerate(writes)]
    for name in ("ada", "grace"):
        CustomerFactory.create(workspace=acme, external_id=name, attributes={"name": name, "old": True})
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    data(trigger(server, journey, {"external_ids": ["ada", "grace"]}))
    let_workers_decide()
    assert walk_due(seconds=0).moved == 2
    assert list(Customer.objects.order_by("external_id").values_list("attributes", flat=True)) == [
        {"name": "ada", "plan": "pro", "of": "ada"},
        {"name": "grace", "plan": "pro", "of": "grace"},
    ]
