"""Whether a message may be sent: asked when its step begins, and again as its attempts are claimed."""

import time
from datetime import UTC, datetime, timedelta
from functools import partial
from threading import Thread
from typing import Any

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.contact.consent import Act, State
from customers.contact.ledger import About, NewAct, record_acts
from customers.contact.reach import rules_of, suppress
from customers.contact.topics import TOPICS
from customers.models import ContactRing, Customer, Suppression
from engage.models import Workspace
from journeys.engine.walking import walk_due
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.resending import send_again
from journeys.models import Enrollment, InAppDelivery, Journey, StepRun, WebhookAttempt, WebhookDelivery
from journeys.tasks import walk
from tests.journeys.connections.made import STEP, connect, enter, history, journey_of
from tests.journeys.webhooks.standing import make_due, send
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import DAY, CustomerFactory, MessageFactory
from tests.support.receiver import Receiver
from tests.support.simultaneous import all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.ada(email="ada@example.com", attributes={"name": "Ada"})]
with_others = pytest.mark.django_db(transaction=True)
OFFERS = {**STEP, "topic": "offers"}
RECEIPT = {**STEP, "id": "receipt", "purpose": "transactional"}
SHOW: dict[str, Any] = {"id": "show", "type": "in_app", "message": "hello", "topic": "offers"}
WEEK = {"key": "week", "channels": ["email", "in_app"], "atMost": 3, "per": "P7D"}


@pytest.fixture
def mailer(acme: Workspace, receiver: Receiver, ada: Customer) -> Receiver:
    """Acme has a topic that people get unless they leave it, and a connection that sends mails."""
    topic(acme)
    connect(acme, receiver.url(), channel="email")
    MessageFactory.create(workspace=acme, key="hello", content={"title": "Hello"})
    return receiver


def topic(workspace: Workspace, key: str = "offers", **fields: Any) -> None:
    given = {"channels": ["email", "in_app"], "default": "opted_in"} | fields
    TOPICS.save(workspace=workspace, key=key, now=timezone.now(), name=key, **given)


def policy(workspace: Workspace, **written: Any) -> None:
    rules = rules_of(workspace.id)
    rules.policy = written
    rules.save()


def act(customer: Customer, state: State, channel: str = "email", **fields: Any) -> None:
    new = NewAct(about=About(customer.id, "offers", channel), act=Act(state, timezone.now(), **fields), source="api")
    with transaction.atomic():
        record_acts(workspace_id=customer.workspace_id, acts=[new])


def opt_out(customer: Customer, *channels: str, **fields: Any) -> None:
    for channel in channels or ("email",):
        act(customer, State.UNSUBSCRIBED, channel, **fields)


def bounce(workspace: Workspace, address: str = "ada@example.com", reason: str = "hard_bounce") -> None:
    with transaction.atomic():
        suppress(workspace_id=workspace.id, channel="email", address=address, reason=Suppression.Reason(reason))


def due_again() -> None:
    Enrollment.objects.filter(due_at__isnull=False).update(due_at="2020-01-01T00:00Z")


def told(enrollment: Enrollment, ordinal: int = 0) -> tuple[str, Any, str]:
    run = StepRun.objects.get(enrollment=enrollment, ordinal=ordinal)
    return run.state, run.policy and run.policy["rule"], run.detail


BARRED = [
    (OFFERS, "opt_out", "consent"),
    (OFFERS, "hard_bounce", "reach"),
    (OFFERS, "complaint", "reach"),
    (OFFERS, "manual", "reach"),
    (STEP, "hard_bounce", "reach"),
    (RECEIPT, "hard_bounce", "reach"),
    (RECEIPT, "opt_out", None),
    (RECEIPT, "complaint", None),
    (STEP, "opt_out", None),
    (SHOW, "opt_out", "consent"),
]


@pytest.mark.parametrize(("step", "why", "rule"), BARRED)
def test_who_may_not_be_written_to_is_skipped_and_goes_on(
    server: ServerClient, acme: Workspace, ada: Customer, mailer: Receiver, step: Any, why: str, rule: str | None
) -> None:
    opt_out(ada, "email", "in_app") if why == "opt_out" else bounce(acme, reason=why, address="ada@example.com")
    enrollment = enter(server, journey_of(acme, step, DAY))
    state, by, words = told(enrollment)
    assert (state == "skipped", by) == (rule is not None, rule), words
    assert WebhookDelivery.objects.exists() == (rule is None)
    if rule is not None:
        assert history(enrollment)[1] == ("day", "waiting")
        assert not InAppDelivery.objects.exists()


def test_a_journeys_topic_is_that_of_its_steps(
    server: ServerClient, acme: Workspace, ada: Customer, mailer: Receiver
) -> None:
    opt_out(ada)
    enrollment = enter(server, journey_of(acme, STEP, RECEIPT, topic="offers"))
    assert history(enrollment) == [("mail", "skipped"), ("receipt", "waiting")]


def test_outside_of_a_window_it_waits_and_everything_is_asked_again(
    server: ServerClient, acme: Workspace, ada: Customer, mailer: Receiver
) -> None:
    now = datetime.now(UTC)
    opens, closes = ((now + timedelta(hours=hours)).strftime("%H:%M") for hours in (2, 3))
    policy(acme, timezone="UTC", windows=[{"key": "day", "channels": ["email"], "from": opens, "until": closes}])
    enrollment = enter(server, journey_of(acme, OFFERS, DAY))
    assert told(enrollment)[:2] == ("waiting", "window")
    assert enrollment.due_at is not None
    assert abs(enrollment.due_at - now - timedelta(hours=2)) < timedelta(minutes=1)
    due_again()
    walk()
    assert told(enrollment)[:2] == ("waiting", "window")
    policy(acme)
    due_again()
    walk()
    assert told(enrollment)[:2] == ("waiting", None)
    send()
    walk()
    assert history(enrollment) == [("mail", "done"), ("day", "waiting")]
    assert len(mailer.arrived) == 1


def test_who_waits_leaves_by_an_opt_out_and_by_what_exits(
    server: ServerClient, acme: Workspace, ada: Customer, mailer: Receiver
) -> None:
    hour = (datetime.now(UTC) + timedelta(hours=2)).strftime("%H:%M")
    policy(
        acme, timezone="UTC", windows=[{"key": "day", "channels": ["email"], "from": hour, "until": hour[:3] + "59"}]
    )
    gone = {"if": {"field": "customer.gone", "op": "eq", "value": True}}
    left = enter(server, journey_of(acme, OFFERS, key="left", topic="offers", exit_on=[gone]))
    assert told(left)[:2] == ("waiting", "window")
    Customer.objects.update(attributes={"gone": True})
    due_again()
    walk()
    left.refresh_from_db()
    assert (left.state, left.exit_reason) == ("exited", "Exit condition 1 of 1 holds.")
    assert told(left)[0] == "skipped"
    Customer.objects.update(attributes={})
    stays = enter(server, journey_of(acme, OFFERS, DAY, key="stays", topic="offers", on_opt_out="skip"))
    leaves = enter(server, journey_of(acme, OFFERS, DAY, key="leaves", topic="offers"))
    opt_out(ada, "email")
    leaves.refresh_from_db()
    assert leaves.state == "active"
    opt_out(ada, "in_app", until=timezone.now() + timedelta(days=30))
    leaves.refresh_from_db()
    assert leaves.state == "active"
    opt_out(ada, "in_app")
    for one in (stays, leaves):
        one.refresh_from_db()
    assert (stays.state, leaves.state, leaves.exit_reason) == ("active", "exited", "Unsubscribed from 'offers'.")


def test_what_waits_is_dropped_by_an_opt_out_and_what_is_to_be_shown_withdrawn(
    server: ServerClient, acme: Workspace, ada: Customer, mailer: Receiver
) -> None:
    mail = enter(server, journey_of(acme, OFFERS, DAY, key="mail"))
    receipt = enter(server, journey_of(acme, RECEIPT, DAY, key="receipt"))
    shown = enter(server, journey_of(acme, SHOW, DAY, key="shown"))
    opt_out(ada, "email", "in_app")
    walk()
    assert told(mail) == ("skipped", "consent", "Unsubscribed from 'offers'.")
    assert history(mail)[1] == ("day", "waiting")
    assert list(WebhookDelivery.objects.order_by("id").values_list("state", flat=True)) == ["dropped", "waiting"]
    assert InAppDelivery.objects.get().state == "withdrawn"
    assert history(shown)[1] == ("day", "waiting")
    send()
    walk()
    assert history(receipt)[0] == ("receipt", "done")
    assert len(mailer.arrived) == 1


@pytest.mark.parametrize("barred", [opt_out, lambda ada: bounce(ada.workspace)])
def test_send_again_asks_too(
    server: ServerClient, acme: Workspace, ada: Customer, mailer: Receiver, barred: Any
) -> None:
    connect(acme, mailer.url("/status/400"), channel="email", confirmed=True)
    enter(server, journey_of(acme, OFFERS, DAY))
    send()
    walk()
    barred(ada)
    delivery = WebhookDelivery.objects.get()
    assert delivery.state == "failed"
    send_again(workspace_id=acme.id, delivery_id=delivery.pk)
    make_due()
    send()
    delivery.refresh_from_db()
    assert (delivery.state, len(mailer.arrived)) == ("dropped", 1)


def test_a_suppression_drops_what_waits_for_its_address(
    server: ServerClient, acme: Workspace, mailer: Receiver, django_capture_on_commit_callbacks: Any
) -> None:
    enrollment = enter(server, journey_of(acme, {**STEP, "inputs": {**STEP["inputs"], "to": "ADA@example.com "}}, DAY))
    bounce(acme, "bob@example.com")
    with django_capture_on_commit_callbacks(execute=True):
        bounce(acme)
    assert WebhookDelivery.objects.get().state == "dropped"
    walk()
    assert told(enrollment)[:2] == ("skipped", "reach")
    assert history(enrollment)[1] == ("day", "waiting")


def test_what_fails_or_is_dropped_is_given_back_to_its_caps(
    server: ServerClient, acme: Workspace, ada: Customer, mailer: Receiver
) -> None:
    policy(acme, caps=[WEEK])
    for number in range(3):
        enter(server, journey_of(acme, OFFERS, key=f"of-{number}"))
    over = enter(server, journey_of(acme, OFFERS, key="over"))
    assert told(over)[:2] == ("skipped", "cap:week")
    assert "3 of 3" in told(over)[2]
    one, other, _ = WebhookDelivery.objects.order_by("id")
    ring = ContactRing.objects.get()
    assert len(ring.times) == 3
    WebhookDelivery.objects.filter(id=one.id).update(state="failed")
    WebhookDelivery.objects.filter(id=other.id).update(state="delivered")
    ring.refresh_from_db()
    assert len(ring.times) == 2
    opt_out(ada)
    ring.refresh_from_db()
    assert len(ring.times) == 1


@with_others
def test_a_hundred_at_once_make_exactly_as_many_as_the_cap_allows(
    server: ServerClient, acme: Workspace, ada: Customer, mailer: Receiver
) -> None:
    policy(acme, caps=[WEEK])
    bob = CustomerFactory.create(workspace=acme, external_id="bob", email="bob@example.com")
    journeys = [journey_of(acme, OFFERS, key=f"of-{n}", concurrent_entrances=True) for n in range(2)]
    for n in range(25):
        for journey in journeys:
            for name in ("ada", "bob"):
                data(trigger(server, journey, {"external_id": name, "entranceId": str(n)}))
    let_workers_decide()
    assert Enrollment.objects.count() == 100
    all_at_once([walked] * 4)
    walked()
    assert not Enrollment.objects.filter(state="active", due_at__isnull=False).exists()
    for customer in (ada, bob):
        sent = WebhookDelivery.objects.filter(enrollment__customer=customer)
        assert sent.count() == len(ContactRing.objects.get(customer=customer).times) == 3
    assert StepRun.objects.filter(state="skipped").count() == 94


def walked() -> None:
    while walk_due(seconds=20).moved:
        pass


@with_others
@pytest.mark.slow
@pytest.mark.parametrize("barred", ["opt_out", "suppression"])
def test_no_attempt_begins_after_an_answered_no(
    server: ServerClient, acme: Workspace, mailer: Receiver, barred: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Eight senders, and walkers that go on meanwhile; the ladder's steps take no time."""
    monkeypatch.setattr("journeys.engine.webhooks.schedule.WAITS", (0.05,) * 2000)
    monkeypatch.setattr("journeys.engine.webhooks.schedule.MAX_ATTEMPTS", 2001)
    monkeypatch.setattr("journeys.engine.webhooks.circuits.FAILURES", 10**6)
    connect(acme, mailer.url("/status/503"), channel="email", confirmed=True)
    people = [CustomerFactory.create(workspace=acme, email=f"p{n}@example.com") for n in range(60)]
    journey = journey_of(acme, OFFERS)
    data(trigger(server, journey, {"external_ids": [one.external_id for one in people]}))
    let_workers_decide()
    answered: dict[str, float] = {}
    until = time.monotonic() + 4

    def go_on(work: Any) -> None:
        while time.monotonic() < until:
            work()
        connections.close_all()

    senders = [Thread(target=go_on, args=(partial(send, threads=2, seconds=0.3),)) for _ in range(8)]
    walkers = [Thread(target=go_on, args=(partial(walk_due, seconds=0.2),)) for _ in range(2)]
    for one in [*senders, *walkers]:
        one.start()
    for person in people:
        opt_out(person) if barred == "opt_out" else bounce(acme, str(person.email))
        answered[str(person.email)] = time.time()
    for one in [*senders, *walkers]:
        one.join()
    attempts = WebhookAttempt.objects.select_related("delivery__enrollment__customer")
    assert len(attempts) > len(people)
    late = [
        (email, one.at.timestamp() - answered[email])
        for one in attempts
        for email in [str(one.delivery.enrollment.customer.email)]
        if one.at.timestamp() > answered[email]
    ]
    assert not late
    assert not WebhookDelivery.objects.filter(state="waiting").exists()
    walked()
    assert set(Enrollment.objects.values_list("state", flat=True)) == {"completed"}


@with_others
@pytest.mark.usefixtures("mailer")
@pytest.mark.parametrize("barred", ["opt_out", "suppression"])
def test_what_was_claimed_before_cannot_begin_after_the_answer(
    server: ServerClient, acme: Workspace, ada: Customer, barred: str
) -> None:
    enter(server, journey_of(acme, OFFERS))
    [claimed] = claim_due(HostSlots(4))
    assert claimed.may_begin()
    opt_out(ada) if barred == "opt_out" else bounce(acme)
    assert not claimed.may_begin()


def test_a_workspace_without_rules_is_asked_nothing(
    server: ServerClient, acme: Workspace, rival: Workspace, ada: Customer, receiver: Receiver
) -> None:
    topic(rival)
    connect(acme, receiver.url(), channel="email")
    journey = journey_of(acme, STEP)
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    with CaptureQueriesContext(
        connection,
    ) as queries:
        walk_due(seconds=5)
        send()
    assert not [one["sql"] for one in queries if "customers_consent" in one["sql"] or "suppression" in one["sql"]]
    assert WebhookDelivery.objects.get().contact is None


def test_a_crowd_is_asked_about_in_as_many_statements_as_one(
    server: ServerClient, acme: Workspace, mailer: Receiver
) -> None:
    policy(acme, caps=[WEEK])
    journey: Journey = journey_of(acme, OFFERS)
    numbers = []
    for number in (1, 2, 30):
        people = [CustomerFactory.create(workspace=acme, email=f"{number}.{n}@example.com") for n in range(number)]
        data(trigger(server, journey, {"external_ids": [one.external_id for one in people]}))
        let_workers_decide()
        with CaptureQueriesContext(connection) as queries:
            walk_due(seconds=5)
        numbers.append(len(queries))
    assert numbers[1] == numbers[2]
