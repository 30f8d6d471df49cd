"""GET /api/v1/customers/{workspaceId}/{customerId}/deliveries: what journeys have sent to a customer."""

from datetime import timedelta
from typing import Any
from urllib.parse import quote

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer
from engage.database.object_ids import first_id_at, new_object_id
from engage.json.instants import iso_utc
from engage.models import Workspace
from journeys.models import Journey
from tests.bridge.in_app.deliveries import deliver
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import ApiKeyFactory, CustomerFactory, JourneyFactory
from tests.support.sent import NOW, ago, webhook

pytestmark = pytest.mark.journey(name="Follow-up", key="follow-up")


def read(server: ServerClient, customer: Customer, query: str = "") -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = page(server, customer, query)["deliveries"]
    return found


def page(server: ServerClient, customer: Customer, query: str = "") -> dict[str, Any]:
    return data(server.get(customers_path(customer.workspace, customer.id, "deliveries") + query), status=200)


def test_both_kinds_are_listed_newest_first(server: ServerClient, ada: Customer, journey: Journey) -> None:
    sent = webhook(ada, journey, minutes=3)
    waits = webhook(ada, journey, minutes=1, ordinal=1, state="waiting", result="", attempts=0)
    shown = deliver(ada, created_at=ago(2), journey_id=journey.id, state="acted", action_id="go", shown_at=NOW,
                    ended_at=NOW)  # fmt: skip
    first, second, third = read(server, ada)
    of_all = {"journeyId": journey.id, "journeyName": "Follow-up"}
    of_webhooks = {
        **of_all, "kind": "webhook", "enrollmentId": sent.enrollment_id, "stepId": "tell", "method": "POST",
        "url": "https://shop.example/orders?key=***", "message": None, "shownAt": None, "actionId": None,
    }  # fmt: skip
    assert first == {
        **of_webhooks, "deliveryId": waits.webhook_id, "at": iso_utc(ago(1)), "state": "waiting", "endedAt": None,
        "result": None, "attemptsMade": 0, "status": None,
    }  # fmt: skip
    assert second == {
        **of_all, "deliveryId": shown.id, "kind": "in_app", "enrollmentId": shown.enrollment_id, "stepId": "offer",
        "at": iso_utc(ago(2)), "state": "acted", "endedAt": iso_utc(NOW), "result": None, "method": None, "url": None,
        "attemptsMade": None, "status": None, "message": "offer", "shownAt": iso_utc(NOW), "actionId": "go",
    }  # fmt: skip
    assert third == {
        **of_webhooks, "deliveryId": sent.webhook_id, "at": iso_utc(ago(3)), "state": "delivered",
        "endedAt": iso_utc(ago(3)), "result": "Answered 200.", "attemptsMade": 1, "status": 200,
    }  # fmt: skip


def test_what_was_sent_in_one_second_is_in_the_same_order_on_each_page(
    server: ServerClient, ada: Customer, journey: Journey
) -> None:
    for second in (1, 2):
        for tenths in (7, 1, 4):
            at = ago(9) + timedelta(seconds=second, milliseconds=100 * tenths)
            deliver(ada, created_at=at, journey_id=journey.id, id=first_id_at(at) + new_object_id()[8:])
    told = read(server, ada)
    assert [one["at"][:19] for one in told] == sorted((one["at"][:19] for one in told), reverse=True)
    first = page(server, ada, "?limit=2")
    assert [*first["deliveries"], *read(server, ada, f"?after={first['next']}")] == told


def test_they_are_narrowed_by_each_condition(
    server: ServerClient, ada: Customer, acme: Workspace, journey: Journey
) -> None:
    other = JourneyFactory.create(workspace=acme, key="other")
    one = webhook(ada, journey, minutes=9).webhook_id
    two = webhook(ada, other, minutes=6, step="late", state="failed", result="Answered 500.").webhook_id
    three = deliver(ada, created_at=ago(3), journey_id=other.id, step_id="late").id
    webhook(CustomerFactory.create(workspace=acme), journey, minutes=1)  # somebody else's
    cases = {
        "": [three, two, one],
        "?kind=webhook": [two, one],
        "?kind=in_app": [three],
        "?journey=other": [three, two],
        f"?journey={journey.id}": [one],
        "?step=late": [three, two],
        "?state=failed": [two],
        "?state=due": [three],
        f"?from={quote(iso_utc(ago(6)))}": [three, two],
        f"?to={quote(iso_utc(ago(6)))}": [one],
        "?step=late&kind=webhook&state=delivered": [],
    }
    told = {query: [found["deliveryId"] for found in read(server, ada, query)] for query in cases}
    assert told == cases


def test_pages_of_any_size_tell_each_delivery_once_and_take_as_many_statements(
    server: ServerClient, ada: Customer, journey: Journey
) -> None:
    for number in range(7):
        webhook(ada, journey, minutes=20 - 2 * number, ordinal=number)
    for number in range(5):
        deliver(ada, created_at=ago(19 - 3 * number), journey_id=journey.id)
    ids = [found["deliveryId"] for found in read(server, ada, "?limit=100")]
    assert len(ids) == 12
    taken = set()
    for limit in (1, 5, 11, 12):
        told, cursor = [], ""
        while True:
            with CaptureQueriesContext(connection) as queries:
                found = page(server, ada, f"?limit={limit}" + (f"&after={cursor}" if cursor else ""))
            taken.add(len(queries))
            told += [one["deliveryId"] for one in found["deliveries"]]
            if not (cursor := found["next"] or ""):
                break
        assert told == ids
    assert len(taken) == 1


def test_a_key_for_some_journeys_reads_what_these_have_sent(
    server: ServerClient, ada: Customer, acme: Workspace, journey: Journey
) -> None:
    other = JourneyFactory.create(workspace=acme)
    webhook(ada, journey, minutes=2)
    mine = webhook(ada, other, minutes=1).webhook_id
    limited = ServerClient(ApiKeyFactory.create(workspace=acme, journeys=[other.id]))
    assert [found["deliveryId"] for found in read(limited, ada)] == [mine]
    assert read(limited, ada, f"?journey={journey.id}") == []


@each(
    "query, status, error, says",
    [
        ("?kind=mail", 400, "Invalid request", "kind must be"),
        ("?state=gone", 400, "Invalid request", "state must be"),
        ("?from=soon", 400, "Invalid request", "from must be a time"),
        ("?limit=101", 400, "Invalid request", "limit must be"),
        ("?after=x", 400, "Invalid request", "after must be"),
        ("?journey=none", 404, "Journey not found", "none"),
    ],
)
def test_what_cannot_be_read_is_refused(
    query: str, status: int, error: str, says: str, server: ServerClient, ada: Customer
) -> None:
    path = customers_path(ada.workspace, ada.id, "deliveries") + query
    assert says in refused(server.get(path), status=status, error=error)
