"""What people want to be written about: by calls, as a ledger, and what follows from it."""

from datetime import timedelta
from functools import partial
from typing import Any

import pytest
from django.utils import timezone

from customers.contact import ledger
from customers.contact.topics import TOPICS
from customers.models import Consent, ConsentAct, Customer
from engage.json.instants import iso_utc
from engage.models import Workspace
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.django_db
WISH: dict[str, Any] = {"topic": "offers", "channel": "email", "state": "subscribed"}
OUT: dict[str, Any] = WISH | {"state": "unsubscribed"}


@pytest.fixture(autouse=True)
def _topics(acme: Workspace, rival: Workspace) -> None:
    for workspace, key, channels in (
        (acme, "offers", ["email", "sms"]),
        (acme, "news", ["email"]),
        (rival, "x", ["sms"]),
    ):
        TOPICS.save(
            workspace=workspace, key=key, now=timezone.now(), channels=channels, default="opted_out", valid_for="P1Y"
        )


def ago(**time: float) -> str:
    return iso_utc(timezone.now() - timedelta(**time))


def put(server: ServerClient, customer: Customer, *consents: dict[str, Any], status: int = 200) -> dict[str, str]:
    """What holds by then, by `topic.channel`."""
    answer = server.put(customers_path(customer.workspace, customer.id, "consents"), {"consents": list(consents)})
    found = data(answer, status=status)["consents"]
    return {f"{one['topic']}.{one['channel']}": one["state"] for one in found}


@each(
    "acts, state",
    [
        ([WISH], "subscribed"),
        ([WISH, OUT], "unsubscribed"),
        ([OUT | {"occurredAt": "2026-11-02T10:00:00Z"}, WISH | {"occurredAt": "2026-11-01T10:00:00Z"}], "unsubscribed"),
        ([OUT | {"occurredAt": "2026-11-02T10:00:00Z"}, WISH | {"occurredAt": "2026-11-03T10:00:00Z"}], "subscribed"),
        ([WISH | {"occurredAt": "2020-11-03T10:00:00Z"}], "expired"),
        ([WISH | {"state": "requested"}], "requested"),
        ([WISH, WISH | {"state": "requested"}], "subscribed"),
        ([OUT | {"occurredAt": "2026-10-01T10:00:00Z", "until": "2026-11-01T10:00:00Z"}], "subscribed"),
        ([OUT | {"until": "2030-11-01T10:00:00Z"}], "unsubscribed"),
        ([OUT | {"topic": "*"}], "unsubscribed"),
        ([], "unknown"),
    ],
)
def test_what_occurred_last_counts_in_whatever_order_it_arrives(
    server: ServerClient, ada: Customer, acts: list[dict[str, Any]], state: str
) -> None:
    held = [put(server, ada, act) for act in acts][-1:] or [put(server, ada)]
    assert held[0]["offers.email"] == state
    assert held[0]["offers.sms"] == "unknown"
    assert held[0]["news.email"] == ("unsubscribed" if acts and acts[0]["topic"] == "*" else "unknown")
    together = CustomerFactory.create(workspace=ada.workspace)
    assert put(server, together, *acts) == held[0]
    path = customers_path(ada.workspace)
    put_with = server.put(path, {"customerId": ada.id, "consents": acts})
    data(put_with, status=200)
    batch = {
        "customers": [{"external_id": "grace", "consents": acts[:1]}, {"external_id": "grace", "consents": acts[1:]}]
    }
    (grace, _) = data(server.post(f"{path}/batch", batch), status=200)["results"]
    assert put(server, Customer.objects.get(id=grace["customerId"])) == held[0]


@each(
    "item, message",
    [
        (WISH | {"topic": "x"}, "consents[0].topic is 'x', which is no topic of this workspace."),
        (WISH | {"topic": "news", "channel": "sms"}, "consents[0].channel is 'sms', which the topic does not have."),
        (WISH | {"topic": "*", "channel": "push"}, "consents[0].channel is 'push', which the topic does not have."),
        (WISH | {"channel": "fax"}, "consents[0].channel must be one of email, sms, push, chat, in_app, not 'fax'."),
        (WISH | {"state": "expired"}, "consents[0].state must be one of requested, subscribed, unsubscribed"),
        (WISH | {"occurredAt": "yesterday"}, "consents[0].occurredAt must be an instant in ISO 8601"),
        (WISH | {"occurredAt": "2090-01-01T00:00:00Z"}, "consents[0].occurredAt is more than 5 minutes in the future."),
        (WISH | {"until": "2030-01-01T00:00:00Z"}, "consents[0].until goes with the state unsubscribed."),
        (WISH | {"text": "x" * 256}, "consents[0].text must be at most 255 characters long"),
        (WISH | {"evidence": {"page": "x" * 4096}}, "consents[0].evidence is 4107 bytes of JSON; its maximum is 4096."),
        ({"topic": "offers"}, "consents[0].channel is required."),
        ("offers", "consents[0] must be an object"),
    ],
)
def test_what_is_wrong_names_its_place_and_nothing_is_recorded(
    server: ServerClient, ada: Customer, item: Any, message: str
) -> None:
    body, path = {"consents": [item, WISH]}, customers_path(ada.workspace)
    answer = server.put(f"{path}/{ada.id}/consents", body)
    assert answer.status_code == 400
    assert message in answer.json()["message"]
    assert message in server.put(path, {"external_id": "new", **body}).json()["message"]
    batch = data(server.post(f"{path}/batch", {"customers": [{"external_id": "new", **body}]}), status=200)
    assert message in batch["results"][0]["message"]
    assert not ConsentAct.objects.exists()
    assert not Customer.objects.filter(external_id="new").exists()


def test_the_ledger_is_listed_page_by_page_with_what_proves_it(server: ServerClient, ada: Customer) -> None:
    occurred = ago(days=3)
    proof = {"text": "offers, version 3", "evidence": {"form": "https://shop.example/"}, "occurredAt": occurred}
    put(server, ada, WISH | proof)
    put(server, ada, OUT)
    path = customers_path(ada.workspace, ada.id, "consents/history")
    first = data(server.get(f"{path}?limit=1"), status=200)
    second = data(server.get(f"{path}?limit=1&after={first['next']}"), status=200)
    assert [one["state"] for one in first["acts"] + second["acts"]] == ["unsubscribed", "subscribed"]
    told = second["acts"][0]
    assert told.items() >= {**proof, "source": "api", "by": f"key {server.key.name}", "until": None}.items()
    assert second["next"] is None


def test_others_learn_of_changes_alone_and_the_same_act_again_is_none(
    server: ServerClient, ada: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    changes = list[ledger.Change]()
    monkeypatch.setattr(ledger, "CHANGED", [changes.extend])
    for act in (WISH, WISH | {"occurredAt": ago(days=1)}, OUT, OUT | {"occurredAt": ago(hours=1)}):
        put(server, ada, act)
    assert [(one.before.state, one.after.state) for one in changes] == [
        ("unknown", "subscribed"),
        ("subscribed", "unsubscribed"),
    ]
    assert ConsentAct.objects.count() == 4


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_none_is_lost(server: ServerClient, ada: Customer) -> None:
    all_at_once([partial(put, server, ada, act) for act in [WISH | {"occurredAt": ago(days=2)}, OUT] * 4])
    assert ConsentAct.objects.count() == 8
    assert Consent.objects.get().state == "unsubscribed"


def test_a_batch_takes_as_many_statements_for_many_as_for_few(
    server: ServerClient, acme: Workspace, django_assert_max_num_queries: Any
) -> None:
    path = f"{customers_path(acme)}/batch"
    people = [{"external_id": f"p{number}", "consents": [WISH, OUT]} for number in range(200)]
    data(server.post(path, {"customers": people[:1]}), status=200)
    with django_assert_max_num_queries(16):
        data(server.post(path, {"customers": people}), status=200)
    assert Consent.objects.filter(state="unsubscribed").count() == 200


def test_people_of_others_are_not_found(server: ServerClient, rival: Workspace) -> None:
    theirs, path = CustomerFactory.create(workspace=rival), "/api/v1/customers/acme"
    for answer in (
        server.get(f"{path}/{theirs.id}/consents"),
        server.put(f"{path}/{theirs.id}/consents", {"consents": [WISH]}),
        server.get(f"{path}/{theirs.id}/consents/history"),
    ):
        refused(answer, status=404, error="Customer not found")
