"""Suppressed addresses, and what an erasure and a merge make of consent, addresses and rings."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from customers.contact.reach import reach_of
from customers.contact.saying import topics_of
from customers.contact.topics import TOPICS
from customers.models import Consent, ConsentAct, ContactRing, Customer, Suppression
from engage.models import AuditEntry, Workspace
from tests.support.calls import customers_path, data, refused
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory
from tests.support.tables import tables_that_mention

pytestmark = pytest.mark.django_db
PATH = "/api/v1/suppressions/acme"
OUT: dict[str, Any] = {"topic": "offers", "channel": "email", "state": "unsubscribed"}
WISH = OUT | {"state": "subscribed"}


@pytest.fixture(autouse=True)
def _topic(acme: Workspace) -> None:
    TOPICS.save(workspace=acme, key="offers", now=timezone.now(), channels=["email", "sms"], default="opted_in")
    assert [*topics_of(acme.id)] == ["offers"]


@each(
    "channel, address, same, shown",
    [
        ("email", "Ada@Example.COM ", "ada@example.com", "a…@example.com"),
        ("sms", "+49 (0)170 1234567", "+491701234567", "…4567"),
        ("push", "ExponentPushToken[Ab]", "ExponentPushToken[Ab]", "…[Ab]"),
    ],
)
def test_an_address_is_suppressed_in_whatever_way_it_is_written(
    server: ServerClient, acme: Workspace, channel: str, address: str, same: str, shown: str
) -> None:
    body = {"channel": channel, "address": address, "note": "By phone."}
    made = data(server.post(PATH, body), status=201)
    assert (made["address"], made["reason"]) == (shown, "manual")
    again = data(server.post(PATH, body | {"address": same, "reason": "complaint"}), status=200)
    assert (again["suppressionId"], again["reason"]) == (made["suppressionId"], "manual")
    assert [*reach_of(workspace_id=acme.id, addresses=[(channel, same)])] == [(channel, same)]
    assert not reach_of(workspace_id=acme.id, addresses=[(channel, f"{same}x"), ("chat", same)])
    listed = data(server.get(PATH), status=200)
    assert listed == {"suppressions": [made], "next": None}
    assert not tables_that_mention(same)
    data(server.delete(f"{PATH}/{made['suppressionId']}"), status=200)
    refused(server.delete(f"{PATH}/{made['suppressionId']}"), status=404, error="Suppression not found")
    assert not reach_of(workspace_id=acme.id, addresses=[(channel, same)])
    told = AuditEntry.objects.filter(object_kind="suppression").order_by("id").values_list("action", flat=True)
    assert sorted(told) == ["created", "deleted"]


@each(
    "wrong, message",
    [
        ({"address": " "}, "address must not be blank."),
        ({"address": "ada"}, "email must be an e-mail address"),
        ({"channel": "fax"}, "channel must be one of email"),
        ({"reason": "erased"}, "reason erased is for the service itself."),
        ({"note": "x" * 256}, "note must be at most 255 characters long"),
    ],
)
def test_what_is_wrong_with_one_names_the_field(server: ServerClient, wrong: dict[str, str], message: str) -> None:
    answer = server.post(PATH, {"channel": "email", "address": "ada@example.com"} | wrong)
    assert (answer.status_code, Suppression.objects.exists()) == (400, False)
    assert message in answer.json()["message"]


def test_the_list_goes_on_page_by_page(server: ServerClient, rival: Workspace) -> None:
    for number in range(3):
        data(server.post(PATH, {"channel": "email", "address": f"{number}@example.com"}), status=201)
    first = data(server.get(f"{PATH}?limit=2"), status=200)
    rest = data(server.get(f"{PATH}?limit=2&after={first['next']}"), status=200)
    assert (len(first["suppressions"]), len(rest["suppressions"]), rest["next"]) == (2, 1, None)
    assert server.get("/api/v1/suppressions/rival").status_code == 404


def say(server: ServerClient, customer: Customer, *consents: dict[str, Any]) -> None:
    data(
        server.put(customers_path(customer.workspace, customer.id, "consents"), {"consents": list(consents)}),
        status=200,
    )


def test_an_erasure_leaves_a_digest_of_what_they_had_opted_out_by(server: ServerClient, acme: Workspace) -> None:
    ada, bob = (
        CustomerFactory.create(workspace=acme, email=f"{name}@example.com", phone=f"+4917012345{number}")
        for name, number in (("ada", 67), ("bob", 68))
    )
    say(server, ada, OUT, WISH | {"channel": "sms"})
    say(server, bob, WISH)
    receipts = [data(server.delete(customers_path(acme, one.id)), status=200)["receipt"] for one in (ada, bob)]
    assert [receipt.get("suppressions") for receipt in receipts] == [1, None]
    assert [receipt["rows"]["consentActs"] for receipt in receipts] == [2, 1]
    kept = Suppression.objects.get()
    assert (kept.reason, kept.masked) == ("erased", "…")
    assert not tables_that_mention("ada@example.com")
    asked = [("email", "ada@example.com"), ("sms", "+491701234567"), ("email", "bob@example.com")]
    assert [*reach_of(workspace_id=acme.id, addresses=asked)] == [("email", "ada@example.com")]
    assert not ConsentAct.objects.exists()
    assert not Consent.objects.exists()


@each(
    "former, into, left, lost",
    [
        ([OUT], [WISH], "unsubscribed", ["offers.email"]),
        ([WISH], [OUT], "unsubscribed", None),
        ([WISH], [], "subscribed", None),
        ([], [WISH], "subscribed", None),
        ([WISH | {"state": "requested"}], [WISH], "subscribed", None),
    ],
)
def test_of_two_wills_the_stricter_counts_and_a_dry_run_tells_it(
    server: ServerClient, acme: Workspace, former: list[Any], into: list[Any], left: str, lost: list[str] | None
) -> None:
    anonymous = CustomerFactory.create(workspace=acme, user_id="anon-1", external_id=None, email=None)
    known = CustomerFactory.create(workspace=acme, external_id="ada-1")
    say(server, anonymous, *former)
    say(server, known, *into)
    body = {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "ada-1"}}
    path = customers_path(acme, "merge")
    trial = data(server.post(f"{path}?dryRun=true", body), status=200)
    assert Consent.objects.filter(customer=anonymous).count() == len(former)
    done = data(server.post(path, body), status=200)
    assert trial["lost"].get("consents") == done["lost"].get("consents") == lost
    assert Consent.objects.get().state == left
    assert ConsentAct.objects.filter(customer=known).count() >= len(former) + len(into)
    say(server, known, WISH | {"occurredAt": "2020-01-01T00:00:00Z"})
    assert Consent.objects.get().state == left
    say(server, known, WISH)
    assert Consent.objects.get().state == "subscribed"


def test_rings_of_those_who_are_merged_unite(server: ServerClient, acme: Workspace) -> None:
    anonymous = CustomerFactory.create(workspace=acme, user_id="anon-1", external_id=None, email=None)
    known, now = CustomerFactory.create(workspace=acme, external_id="ada-1"), timezone.now()
    days = [now - timedelta(days=number) for number in (4, 3, 2, 1)]
    for customer, cap, times in ((anonymous, "week", days[::2]), (known, "week", days[1::2]), (anonymous, "day", days)):
        ContactRing.objects.create(workspace=acme, customer=customer, cap=cap, times=times)
    body = {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "ada-1"}}
    data(server.post(customers_path(acme, "merge"), body), status=200)
    assert {one.cap: (one.customer_id, one.times) for one in ContactRing.objects.all()} == {
        "week": (known.id, days),
        "day": (known.id, days),
    }
