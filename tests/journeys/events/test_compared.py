"""Events that are compared with what the enrollment knows: the customer, and what came with the trigger."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment
from tests.journeys.events.reporting import WAIT, YEAR, event_journey, inside, report, results
from tests.support.calls import let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory

SAME_CART = {"field": "event.properties.cart", "op": "eq", "to": "api.payload.cart"}
NO_LESS = {"field": "event.properties.seats", "op": "gte", "to": "customer.seats"}
WAITS = [{**WAIT, "where": SAME_CART, "onEvent": "year"}, YEAR]
ENDS = [{"event": "ordered", "where": SAME_CART}]


def standing() -> tuple[str, str]:
    let_workers_walk()
    enrollment = Enrollment.objects.get()
    return enrollment.state, enrollment.step_id


@pytest.mark.parametrize(
    ("steps", "exit_on", "before", "after"),
    [
        (WAITS, [], ("active", "wait"), ("active", "year")),
        ([YEAR], ENDS, ("active", "year"), ("exited", "year")),
    ],
    ids=["a wait", "an exit rule"],
)
def test_an_event_is_compared_with_the_payload(
    acme: Workspace, server: ServerClient, ada: Customer, steps: Any, exit_on: Any, before: Any, after: Any
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=steps, steps__exit_on=exit_on)
    trigger(server, journey, {"customerId": ada.id, "payload": {"cart": "b7"}})
    let_workers_walk()
    for cart in ("b8", None):
        report(server, ada, cart=cart)
        assert standing() == before
    report(server, ada, cart="b7")
    assert standing() == after


@each("place", ["the first wait", "an exit rule"])
def test_so_is_one_that_came_before_a_worker_did(
    acme: Workspace, server: ServerClient, ada: Customer, place: str
) -> None:
    steps, exit_on = (WAITS, []) if place == "the first wait" else ([YEAR], ENDS)
    journey = JourneyFactory.create(workspace=acme, steps=steps, steps__exit_on=exit_on)
    trigger(server, journey, {"customerId": ada.id, "payload": {"cart": "b7"}})
    report(server, ada, cart="b8")
    report(server, ada, cart="b7")
    assert standing() == (("active", "year") if place == "the first wait" else ("exited", "year"))
    assert results() == ["enrolled"]


def test_an_event_is_compared_with_the_customer_as_they_are(server: ServerClient, ada: Customer) -> None:
    enrollment = inside(server, ada, [{"event": "ordered", "where": NO_LESS}])
    report(server, ada, seats=5)  # the customer has none
    Customer.objects.update(attributes={"seats": 6})
    report(server, ada, seats=5)
    enrollment.refresh_from_db()
    assert enrollment.state == "active"
    report(server, ada, seats=6)
    enrollment.refresh_from_db()
    assert enrollment.state == "exited"


def test_an_event_that_starts_a_journey_is_compared_with_itself(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    again = {"field": "event.properties.from", "op": "ne", "to": "event.properties.to"}
    recent = {"field": "event.properties.at", "op": "after", "value": {"now": "-PT1H"}}
    event_journey(acme, event_where={"all": [again, recent]})
    for at, to in (("2999-01-01", "a"), ("2020-01-01", "b"), ("2999-01-01", "b")):
        report(server, ada, **{"from": "a", "to": to, "at": at})
    let_workers_decide()
    assert results() == ["enrolled"]


def test_only_who_compares_costs_statements(acme: Workspace, server: ServerClient) -> None:
    def statements(where: Any) -> int:
        customer = CustomerFactory.create(workspace=acme)
        inside(server, customer, [{"event": "ordered", "where": where}])
        report(server, customer)  # reads once what a process then keeps
        with CaptureQueriesContext(connection) as captured:
            report(server, customer)
        return len(captured)

    assert statements(SAME_CART) == statements({"field": "event.properties.cart", "op": "exists"}) + 2
