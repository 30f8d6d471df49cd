"""The step `in_app`: what it delivers, what its wait hears, and what ends a delivery that nobody ends."""

from collections.abc import Iterator
from datetime import timedelta
from typing import Any

import pytest
from django.db import transaction
from django.utils import timezone

from bridge.models import Message
from customers.models import Customer, Event
from engage.models import Workspace
from journeys.engine.in_app.expiring import expire
from journeys.engine.in_app.transitions import State
from journeys.engine.steering.going_on import go_on
from journeys.journey.authoring import InvalidJourney, save_journey
from journeys.models import Enrollment, InAppDelivery, Journey, SteeringAct, StepRun, Trigger
from tests.bridge.in_app.deliveries import ACTED, ENDS, KEY, OFFER, deliver, do, events_of, journey_of, offer
from tests.interface.steered import steered
from tests.support.calls import data, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, crowd
from tests.support.plans import rows_gone_through
from tests.support.simultaneous import elsewhere, impatient


@pytest.fixture
def message(acme: Workspace) -> Message:
    return offer(acme)


def enter(server: ServerClient, journey: Journey, customer: Customer, **body: Any) -> dict[str, Any]:
    answer = trigger(server, journey, {"external_id": customer.external_id, **body})
    let_workers_walk()
    return data(answer)


def only() -> InAppDelivery:
    return InAppDelivery.objects.get()


def mistakes() -> Iterator[tuple[list[dict[str, Any]], str]]:
    yield [{**OFFER, "message": "nope"}], "steps[0].message is 'nope', but the workspace has no active message"
    yield [{**OFFER, "expires": "PT59S"}], "steps[0].expires must be between a minute"
    yield [{**OFFER, "expires": "P367D"}], "steps[0].expires must be between a minute"
    yield [{**OFFER, "priority": 101}], "steps[0].priority must be a whole number from -100 to 100."
    yield [{**OFFER, "withdrawOnExit": 1}], "steps[0].withdrawOnExit must be true or false"
    yield [{**OFFER, "values": []}], "steps[0].values must be an object"
    yield [{**OFFER, "values": {"a": "{{ nope }}"}}], "steps[0].values.a reads nope"
    yield [{**OFFER, "values": {"a": "x" * 17_000}}], "steps[0].values is 17"
    day = {"id": "day", "type": "delay", "for": "P1D"}
    for steps in (
        [ACTED],
        [OFFER, day, ACTED],
        [OFFER, {**day, "next": "acted"}, ACTED],
        [{**OFFER, "id": "b"}, ACTED],
    ):
        yield [*steps, *ENDS], "delivery is 'offer', but n"
    yield [OFFER, {**ACTED, "event": "bought"}, *ENDS], "steps[1].delivery may stand only where the event's name begins"
    again = {**ACTED, "id": "again", "event": "in_app.shown", "onEvent": "acted", "onTimeout": "acted"}
    yield [OFFER, again, ACTED, *ENDS], "steps[2].delivery is 'offer', but nothing may lead here"
    forged = {"id": "a", "type": "track_event", "eventName": "in_app.acted"}
    yield [forged], "steps[0].eventName begins with in_app."


@pytest.mark.django_db
@each("steps, told", list(mistakes()))
def test_a_mistake_is_refused_as_it_is_saved(
    acme: Workspace, message: Message, steps: list[dict[str, Any]], told: str
) -> None:
    with pytest.raises(InvalidJourney) as refusal:
        save_journey(workspace=acme, key="x", now=timezone.now(), steps=steps)
    assert told in "; ".join(one.message for one in refusal.value.all_found())


@pytest.mark.django_db
@each(
    "steps, place",
    [
        ([{**OFFER, "message": "nope"}, ACTED], "steps[0].message"),
        ([OFFER, {**ACTED, "id": "shown", "onEvent": "acted", "timeout": "P"}, ACTED], "steps[1].timeout"),
    ],
)
def test_a_mistake_in_the_step_makes_none_of_its_wait(
    acme: Workspace, message: Message, steps: list[dict[str, Any]], place: str
) -> None:
    with pytest.raises(InvalidJourney) as refusal:
        save_journey(workspace=acme, key="x", now=timezone.now(), steps=[*steps, *ENDS])
    (only_one,) = refusal.value.all_found()
    assert only_one.message.startswith(place)


def test_it_delivers_and_goes_on_and_its_wait_hears_its_own(
    acme: Workspace, ada: Customer, message: Message, server: ServerClient
) -> None:
    shown = {**ACTED, "id": "shown", "event": "in_app.shown", "onEvent": "acted", "onTimeout": "late"}
    values = {"coupon": "{{ api.payload.coupon }}", "n": {"$value": "api.payload.n"}}
    journey = journey_of(acme, {**OFFER, "values": values, "priority": 5, "expires": "P7D"}, shown, ACTED, *ENDS)
    enter(server, journey, ada, payload={"coupon": "A1", "n": 3})

    mine = only()
    assert (mine.state, mine.values, mine.priority, mine.step_id) == ("due", {"coupon": "A1", "n": 3}, 5, "offer")
    assert timedelta(days=6, hours=23) < mine.expires_at - timezone.now() <= timedelta(days=7)
    other = deliver(ada)
    do(other, State.ACTED)
    let_workers_walk()
    assert Enrollment.objects.get().state == "active"  # another delivery's events are not its own

    do(mine, State.ACTED, action_id="cta")  # whose `shown` was lost: both are heard, the second by looking back
    let_workers_walk()
    assert Enrollment.objects.get().exit_reason == "It went."
    assert events_of(ada) == ["in_app.shown", "in_app.acted"] * 2
    event = Event.objects.order_by("serial").last()
    assert event is not None
    assert (event.message_id, event.properties) == (KEY, {"deliveryId": mine.id, "actionId": "cta"})
    runs = StepRun.objects.order_by("ordinal").values_list("step_id", "state")
    assert list(runs) == [("offer", "done"), ("shown", "done"), ("acted", "done"), ("went", "done")]


def test_what_is_over_stays_over(ada: Customer) -> None:
    for first in (State.ACTED, State.CLOSED):
        mine = deliver(ada)
        do(mine, State.SHOWN)
        do(mine, State.SHOWN)
        do(mine, first)
        for later in (State.SHOWN, State.ACTED, State.CLOSED):
            do(mine, later)
        mine.refresh_from_db()
        assert mine.state == first
    assert events_of(ada) == ["in_app.shown", "in_app.acted", "in_app.shown", "in_app.closed"]


def test_what_nobody_ends_expires_and_that_moves_journeys(
    acme: Workspace, ada: Customer, message: Message, server: ServerClient
) -> None:
    expired = {**ACTED, "event": "in_app.expired", "onEvent": "late"}
    enter(server, journey_of(acme, OFFER, expired, *ENDS), ada)
    assert not expire(seconds=1).walk
    InAppDelivery.objects.update(expires_at=timezone.now() - timedelta(hours=1))
    do(only(), State.ACTED)  # too late, though the sweeper was not there yet
    assert only().state == "due"
    assert expire(seconds=1).walk
    let_workers_walk()
    assert (only().state, Enrollment.objects.get().exit_reason) == ("expired", "Too late.")
    assert events_of(ada) == ["in_app.expired"]


def test_it_is_skipped_once_the_message_is_not_active(
    acme: Workspace, ada: Customer, message: Message, server: ServerClient
) -> None:
    journey = journey_of(acme, OFFER, *ENDS)
    Message.objects.update(status="archived")
    enter(server, journey, ada)
    run = StepRun.objects.get(step_id="offer")
    assert (run.state, run.detail) == ("skipped", "The message 'offer' is not active, or has no content.")
    assert not InAppDelivery.objects.exists()


DAY = {"id": "day", "type": "delay", "for": "P1D"}


@each("flag", [True, False])
@each("how", ["exit", "abort", "cancel", "step"])
def test_it_is_withdrawn_with_its_enrollment(
    acme: Workspace, ada: Customer, message: Message, server: ServerClient, how: str, flag: bool
) -> None:
    after = [{"id": "out", "type": "exit", "reason": "Out."}] if how == "step" else [DAY]
    journey = journey_of(acme, {**OFFER, "withdrawOnExit": flag}, *after)
    enter(server, journey, ada)
    path = f"/api/v1/journeys/{acme.id}/{journey.id}"
    if how == "exit":
        enrollment = Enrollment.objects.get()
        assert server.post(f"/api/v1/journeys/{acme.id}/enrollments/{enrollment.id}/exit", {"reason": "x"}).succeeded
    elif how == "abort":
        assert server.post(f"{path}/abort", {"reason": "x"}).succeeded
    elif how == "cancel":
        sent = Trigger.objects.get().id
        body = {"reason": "x", "enrollments": "exit"}
        cancelled = server.post(f"/api/v1/journeys/{acme.id}/triggers/{sent}/cancel", body)
        assert cancelled.succeeded, cancelled.json()
    gone = flag or how in {"abort", "cancel"}
    assert only().state == ("withdrawn" if gone else "due")
    assert not Event.objects.exists()


def test_an_aborted_journey_withdraws_from_those_who_have_completed_it(
    acme: Workspace, ada: Customer, message: Message, server: ServerClient
) -> None:
    journey = journey_of(acme, OFFER)
    enter(server, journey, ada)
    assert Enrollment.objects.get().state == "completed"
    assert only().state == "due"
    server.post(f"/api/v1/journeys/{acme.id}/{journey.id}/abort", {"reason": "x"})
    assert only().state == "withdrawn"


@pytest.mark.django_db(transaction=True)
def test_what_others_have_locked_while_a_journey_is_aborted_is_withdrawn_by_the_next_sweep(
    acme: Workspace, ada: Customer, message: Message, server: ServerClient
) -> None:
    journey = journey_of(acme, OFFER)
    for customer in (ada, CustomerFactory.create(workspace=acme, external_id="grace")):
        enter(server, journey, customer)
    with transaction.atomic():
        InAppDelivery.objects.select_for_update().get(customer=ada)
        for act in (lambda: steered(server, journey, "abort", reason="x"), lambda: go_on(seconds=5)):
            elsewhere(act)
            assert dict(InAppDelivery.objects.values_list("customer__external_id", "state")) == {
                "ada": "due", "grace": "withdrawn"
            }  # fmt: skip
    go_on(seconds=5)
    assert {*InAppDelivery.objects.values_list("state", "because")} == {("withdrawn", "The journey was aborted: x")}
    assert Journey.objects.get().held_at is None


@pytest.mark.without_pooler
@pytest.mark.django_db(transaction=True)
def test_a_cancelled_call_withdraws_from_those_who_have_completed_and_says_if_some_are_left(
    acme: Workspace, ada: Customer, message: Message, server: ServerClient
) -> None:
    """Of two whom it has sent through; another call has sent one of them through as well."""
    journey = journey_of(acme, OFFER, max_entries_per_customer=2)
    enter(server, journey, ada)
    kept = only()
    CustomerFactory.create(workspace=acme, external_id="grace")
    sent = data(trigger(server, journey, {"external_ids": ["ada", "grace"]}))["triggerId"]
    let_workers_walk()
    path, body = f"/api/v1/journeys/{acme.id}/triggers/{sent}/cancel", {"reason": "x", "enrollments": "exit"}
    with transaction.atomic():
        Customer.objects.select_for_update(no_key=True).get(id=ada.id)
        did = elsewhere(impatient(lambda: data(server.post(path, body), status=200)))
        assert (did["exited"], did["inside"], did["allWithdrawn"]) == (0, 0, False)
    for acts in (2, 2):  # the second time nothing is left to be done
        assert data(server.post(path, body), status=200) == {**did, "allWithdrawn": True}
        assert SteeringAct.objects.count() == acts
    withdrawn = InAppDelivery.objects.exclude(id=kept.id)
    assert [*withdrawn.values_list("state", "because")] == [("withdrawn", "The whole call was cancelled: x")] * 2
    assert InAppDelivery.objects.get(id=kept.id).state == "due"
    assert {*Enrollment.objects.values_list("state", flat=True)} == {"completed"}


def test_whom_a_cancelled_call_has_sent_through_is_looked_up_by_key(
    acme: Workspace, message: Message, server: ServerClient
) -> None:
    journey, names = journey_of(acme, OFFER), crowd(acme, 200)
    sent = data(trigger(server, journey, {"external_ids": names}))["triggerId"]
    let_workers_walk()
    with rows_gone_through() as seen:
        body = {"reason": "x", "enrollments": "exit"}
        data(server.post(f"/api/v1/journeys/{acme.id}/triggers/{sent}/cancel", body), status=200)
    assert not InAppDelivery.objects.exclude(state="withdrawn").exists()
    assert max(rows for sql, rows in seen.items() if "journeys_enrollment" in sql) < 20 * len(names)
