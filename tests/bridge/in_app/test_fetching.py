"""What pages fetch, and say of what they have shown: by whom, whose, and what it costs."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from bridge.models import Interaction, Message
from customers.models import Customer, Event
from engage.models import App, IdentityKey, Workspace
from journeys.models import InAppDelivery
from tests.bridge.identity.tokens import SECRET, token
from tests.bridge.in_app.deliveries import CTA, KEY, deliver, events_of, offer
from tests.support.bridge_calls import ACTION, CAPTURE
from tests.support.calls import data, refused
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import AppFactory, CustomerFactory

FETCH, SHOWN, BATCH = "/api/v1/sdk/messages", "/api/v1/sdk/bridge/shown", "/api/v1/sdk/bridge/batch"
ANON = "anon-1"


@pytest.fixture
def message(acme: Workspace) -> Message:
    return offer(acme)


@pytest.fixture
def anonymous(acme: Workspace, message: Message) -> Customer:
    return CustomerFactory.create(
        workspace=acme, external_id=None, user_id=ANON, claimed_identifiers=["user_id"], attributes={"name": "Anon"}
    )


@pytest.fixture
def app(acme: Workspace) -> App:
    """With a key, though its identity is off."""
    made: App = AppFactory.create(workspace=acme)
    IdentityKey.objects.create(workspace=acme, app=made, kid="k1", alg="HS256", secret=SECRET)
    return made


@pytest.fixture
def page(app: App) -> SdkClient:
    return SdkClient(app)


def fetch(page: SdkClient, **body: Any) -> Answer:
    return page.post(FETCH, body, content_type="text/plain")


def ids(answer: Answer) -> list[str]:
    return [one["deliveryId"] for one in data(answer, status=200)["messages"]]


def test_what_is_due_comes_by_priority_then_age_rendered(page: SdkClient, anonymous: Customer) -> None:
    first, second, urgent = (
        deliver(anonymous, priority=priority, values={"coupon": "<b>A1</b>"}) for priority in (0, 0, 5)
    )
    for number, one in enumerate((first, second, urgent)):
        InAppDelivery.objects.filter(id=one.id).update(created_at=timezone.now() - timedelta(hours=9 - number))
    deliver(anonymous, state="closed", ended_at=timezone.now())
    deliver(anonymous, expires_at=timezone.now() - timedelta(hours=1))
    deliver(anonymous, message_id="of-no-message")
    answer = fetch(page, userId=ANON)
    assert ids(answer) == [urgent.id, first.id, second.id]
    assert (answer["Cache-Control"], answer["RateLimit-Policy"]) == ("no-store", '"in_app";q=6000;w=60')
    one = data(answer, status=200)["messages"][0]
    assert one == {
        "deliveryId": urgent.id,
        "messageId": KEY,
        "kind": "banner",
        "content": {
            "title": "Hello Anon",
            "text": "<b>A1</b>",
            "buttons": [{"action": "cta", "text": "Go"}, {"action": "close", "text": "Later"}],
        },
        "actions": [CTA],
        "forms": [],
        "expiresAt": one["expiresAt"],
    }
    for _ in range(12):
        deliver(anonymous)
    assert len(ids(fetch(page, userId=ANON))) == 10


def test_nothing_new_is_told_shortly_and_reads_once(page: SdkClient, anonymous: Customer, message: Message) -> None:
    mine = deliver(anonymous)
    etag = fetch(page, userId=ANON)["ETag"]
    with CaptureQueriesContext(
        connection,
    ) as queries:
        again = fetch(page, userId=ANON, etag=etag)
    assert data(again, status=200) == {"unchanged": True}
    assert [one["sql"] for one in queries if "journeys_inappdelivery" in one["sql"]] != []
    assert len(queries) == 2, "the app, and what is due"
    got = page.get(f"{FETCH}?userId={ANON}", headers={"If-None-Match": etag})
    assert (got.status_code, got.content, got["ETag"]) == (304, b"", etag)
    assert page.get(f"{FETCH}?userId={ANON}")["ETag"] == etag
    for change in (
        lambda: Customer.objects.filter(id=anonymous.id).update(attributes={"name": "Ada"}),
        lambda: Message.objects.update(content={"kind": "card", "title": "New"}),
        lambda: deliver(anonymous),
        lambda: InAppDelivery.objects.filter(id=mine.id).update(state="closed", ended_at=timezone.now()),
    ):
        change()
        before, etag = etag, fetch(page, userId=ANON, etag=etag)["ETag"]
        assert etag != before


def test_a_token_says_whose_messages_are_read(
    page: SdkClient, acme: Workspace, ada: Customer, anonymous: Customer
) -> None:
    hers, theirs = deliver(ada), deliver(anonymous)
    hers_only = token()
    assert ids(fetch(page, external_id="ada", identityToken=hers_only)) == [hers.id]
    assert ids(fetch(page, identityToken=hers_only)) == [hers.id]
    assert ids(page.get(FETCH, headers={"X-Identity-Token": hers_only})) == [hers.id]
    assert ids(fetch(page, userId=ANON)) == [theirs.id]
    # Who is known and who is not look alike.
    for named in (
        {"external_id": "ada"},
        {"external_id": "nobody"},
        {"email": "x@y.example"},
        {"userId": ANON, "phone": "+1415"},
    ):
        assert fetch(page, **named).json()["code"] == "identity_token_missing"
    CustomerFactory.create(workspace=acme, external_id="grace", user_id="u-grace")
    for user_id in ("u-grace", "u-nobody"):
        answer = fetch(page, userId=user_id)
        assert (ids(answer), answer["ETag"]) == ([], fetch(page, userId="u-else")["ETag"])
    other = token(sub="grace")
    assert fetch(page, external_id="ada", identityToken=other).json()["code"] == "identity_token_mismatch"
    assert (
        fetch(page, external_id="ada", identityToken=hers_only[:-3] + "AAA").json()["code"] == "identity_token_invalid"
    )
    refused(fetch(page), status=400, error="Missing required parameter")
    assert not Customer.objects.filter(user_id__in=["u-nobody", "u-else"]).exists()


def test_an_app_that_is_open_believes_its_pages(acme: Workspace, ada: Customer, message: Message) -> None:
    mine = deliver(ada)
    page = SdkClient(AppFactory.create(workspace=acme, in_app=App.InApp.OPEN))
    assert ids(fetch(page, external_id="ada")) == [mine.id]
    strict = SdkClient(AppFactory.create(workspace=acme, in_app=App.InApp.OPEN, identity=App.Identity.ENFORCE))
    assert fetch(strict, external_id="ada").json()["code"] == "identity_token_missing"


def test_an_app_without_anonymous_people_tells_them_nothing(acme: Workspace, anonymous: Customer) -> None:
    deliver(anonymous)
    enforced: dict[str, Any] = {"workspace": acme, "identity": App.Identity.ENFORCE}
    allowing, denying = (
        SdkClient(AppFactory.create(**enforced, anonymous=how)) for how in (App.Anonymous.ALLOW, App.Anonymous.DENY)
    )
    assert len(ids(fetch(allowing, userId=ANON))) == 1
    answer = fetch(denying, userId=ANON)
    assert (ids(answer), answer["ETag"]) == ([], fetch(denying, userId="u-else")["ETag"])
    assert data(fetch(denying, userId=ANON, etag=answer["ETag"]), status=200) == {"unchanged": True}
    assert fetch(denying, external_id="ada").json()["code"] == "identity_token_missing"


def test_calls_that_name_a_delivery_end_it_and_have_what_is_due_next(page: SdkClient, anonymous: Customer) -> None:
    first, second, third = (deliver(anonymous, priority=priority) for priority in (3, 2, 1))
    named = {"messageId": KEY, "userId": ANON}
    shown = data(page.post(SHOWN, {**named, "deliveryId": first.id}), status=200)
    assert (shown["shown"], [one["deliveryId"] for one in shown["due"]]) == (True, [first.id, second.id, third.id])
    acted = data(page.post(ACTION, {**named, "deliveryId": first.id, "actionId": "cta"}), status=200)
    assert [one["deliveryId"] for one in acted["due"]] == [second.id, third.id]
    closed = data(
        page.post(ACTION, {**named, "deliveryId": second.id, "actionType": "close", "idempotencyKey": "k"}), status=200
    )
    assert [one["deliveryId"] for one in closed["due"]] == [third.id]
    calls = [
        {"call": "shown", **named, "deliveryId": third.id},
        {"call": "capture", **named, "deliveryId": third.id, "formData": {"city": "Ulm"}},
        {"call": "action", **named, "deliveryId": third.id, "actionType": "close"},
        {"call": "action", **named, "actionType": "close"},
    ]
    results = data(page.post(BATCH, {"calls": calls}), status=200)["results"]
    assert [one["status"] for one in results] == [200] * 4
    due = [one["data"].get("due") for one in results]
    assert ([one["deliveryId"] for one in due[0]], due[1:]) == ([third.id], [[], [], None])
    states = InAppDelivery.objects.order_by("-priority").values_list("state", "action_id")
    assert list(states) == [("acted", "cta"), ("closed", "close"), ("acted", "capture")]
    assert events_of(anonymous) == [
        "in_app.shown", "clicked", "in_app.acted", "in_app.shown", "in_app.closed", "in_app.shown", "in_app.acted",
    ]  # fmt: skip
    again = data(page.post(ACTION, {**named, "deliveryId": first.id, "actionId": "cta"}), status=200)
    assert set(again) == {"eventId", "due"}  # what the button does is done, and the state stays


@each("whose", ["unknown", "foreign", "of another message", "of a person who is not there"])
def test_a_delivery_that_is_not_theirs_is_refused_without_a_trace(
    page: SdkClient, rival: Workspace, anonymous: Customer, ada: Customer, whose: str
) -> None:
    mine = deliver(anonymous)
    named = {"messageId": KEY, "userId": ANON, "deliveryId": mine.id}
    match whose:
        case "unknown":
            named["deliveryId"] = "0" * 24
        case "foreign":
            named["deliveryId"] = deliver(ada).id
        case "of another message":
            named["messageId"] = "other"
        case _:
            named["userId"] = "new"
    before = Customer.objects.count()
    for path, more in ((ACTION, {"actionType": "close"}), (CAPTURE, {"formData": {"a": 1}}), (SHOWN, {})):
        refused(page.post(path, {**named, **more}), status=404, error="Delivery not found")
    assert (Customer.objects.count(), Event.objects.count(), Interaction.objects.count()) == (before, 0, 0)
    assert set(InAppDelivery.objects.values_list("state", flat=True)) == {"due"}


def test_who_may_not_fetch_gets_no_contents_with_an_answer(page: SdkClient, ada: Customer, message: Message) -> None:
    mine = deliver(ada)
    named = {"messageId": KEY, "external_id": "ada", "deliveryId": mine.id}
    for path, more in ((SHOWN, {}), (ACTION, {"actionType": "close"})):
        assert "due" not in data(page.post(path, {**named, **more}), status=200)


def test_a_merge_moves_them_and_an_erasure_takes_them(
    page: SdkClient, server: ServerClient, anonymous: Customer, ada: Customer
) -> None:
    mine = deliver(anonymous)
    data(page.post("/api/v1/sdk/identify", {"userId": ANON, "external_id": "ada"}), status=200)
    assert ids(fetch(page, userId=ANON)) == []
    assert ids(fetch(page, identityToken=token())) == [mine.id]
    assert server.delete(f"/api/v1/customers/{ada.workspace_id}/{ada.id}").succeeded
    assert not InAppDelivery.objects.exists()


def test_an_alias_leads_to_whom_it_was_merged_into(
    page: SdkClient, server: ServerClient, acme: Workspace, ada: Customer, message: Message
) -> None:
    """As everywhere; but no alias of somebody known opens their messages to who proves nothing."""
    mine = deliver(ada)
    CustomerFactory.create(workspace=acme, external_id="ada-2", user_id="u-2")
    people = {"customer": {"external_id": "ada-2"}, "into": {"external_id": "ada"}}
    data(server.post(f"/api/v1/customers/{acme.id}/merge", people), status=200)
    proven = token(sub="ada-2")
    assert ids(fetch(page, external_id="ada-2", identityToken=proven)) == [mine.id]
    assert ids(fetch(page, identityToken=proven)) == [mine.id]
    seen = {"messageId": KEY, "external_id": "ada-2", "deliveryId": mine.id, "identityToken": proven}
    assert [one["deliveryId"] for one in data(page.post(SHOWN, seen), status=200)["due"]] == [mine.id]
    assert ids(fetch(page, userId="u-2")) == []
    assert fetch(page, external_id="ada-2").json()["code"] == "identity_token_missing"


def test_what_cannot_be_rendered_hides_nothing_else(page: SdkClient, acme: Workspace, anonymous: Customer) -> None:
    offer(acme, key="price", content={"kind": "banner", "title": "{{ values.price | money: 2 }}"})
    for _ in range(12):
        deliver(anonymous, message_id="price", values={"price": "12 EUR"}, priority=5)
    good = [deliver(anonymous, values={"coupon": "A1"}) for _ in range(2)]
    answer = fetch(page, userId=ANON)
    assert ids(answer) == [one.id for one in good]
    assert data(fetch(page, userId=ANON, etag=answer["ETag"]), status=200) == {"unchanged": True}
    more = deliver(anonymous, priority=1)
    assert ids(fetch(page, userId=ANON, etag=answer["ETag"])) == [more.id, *(one.id for one in good)]


def test_now_is_the_moment_of_the_delivery(page: SdkClient, acme: Workspace, anonymous: Customer) -> None:
    """So that a text does not change without its tag."""
    title = '{{ "now" | date: "%H:%M" }} {{ values.at | date: "%H:%M" }}'
    offer(acme, key="clock", content={"kind": "banner", "title": title})
    mine = deliver(anonymous, message_id="clock", values={"at": "now"})
    InAppDelivery.objects.filter(id=mine.id).update(created_at=datetime(2026, 11, 20, 9, 30, tzinfo=UTC))
    (one,) = data(fetch(page, userId=ANON), status=200)["messages"]
    assert one["content"]["title"] == "09:30 09:30"
