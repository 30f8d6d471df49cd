"""POST /api/v1/journeys/{workspaceId}/{journeyId}/hold and resume, and the pace at which it goes on."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connections, transaction
from django.utils import timezone

from engage.models import Workspace
from journeys.engine.enrollments.locks import lock_customers_of
from journeys.engine.steering.going_on import go_on
from journeys.engine.steering.hosts import hold_host, release_host
from journeys.engine.steering.releasing import release
from journeys.engine.walking import walk_due
from journeys.models import Enrollment, Journey, SteeringAct, WebhookAttempt, WebhookDelivery
from tests.interface.steered import NOTE, REASON, steer, steered
from tests.journeys.events.reporting import report
from tests.journeys.walking.stories import enter, history
from tests.journeys.webhooks.standing import send
from tests.support.calls import data, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import DAY, CustomerFactory, JourneyFactory, crowd
from tests.support.receiver import Receiver
from tests.support.simultaneous import PATIENCE_SECONDS, elsewhere, impatient

pytestmark = pytest.mark.django_db


def test_nobody_steps_in_a_held_journey_and_waits_keep_their_due_times(
    server: ServerClient, inside: Enrollment, rival: Workspace, rival_server: ServerClient
) -> None:
    theirs = enter(
        rival_server, JourneyFactory.create(workspace=rival, steps=[DAY, NOTE]), CustomerFactory.create(workspace=rival)
    )
    let_workers_walk()
    held = steered(server, inside.journey, "hold", reason=REASON)
    assert held == {
        "journeyId": inside.journey_id, "state": "held", "dryRun": False, "changed": True, "queued": 0, "inside": 1,
        "settled": True, "released": 0, "releasedUntil": None, "exited": 0,
    }  # fmt: skip
    path = f"/api/v1/journeys/{inside.workspace_id}/enrollments/{inside.id}"
    inside.refresh_from_db()
    due_at = inside.due_at
    time_passes(days=1, hours=1)
    let_workers_walk()
    assert history(inside) == [("day", "waiting")]
    assert history(theirs) == [("day", "done"), ("note", "done")]
    goes_on_at = datetime.fromisoformat(data(server.get(path), status=200)["goesOnAt"])
    assert due_at is not None
    assert abs(goes_on_at - (due_at - timedelta(days=1, hours=1))) < timedelta(seconds=1)
    resumed = steered(server, inside.journey, "resume")
    assert (resumed["state"], resumed["released"], resumed["releasedUntil"]) == ("active", 1, None)
    let_workers_walk()
    assert history(inside) == [("day", "done"), ("note", "done")]
    assert not Journey.objects.exclude(resumed_at=None, held_at=None).exists()


def test_a_held_journey_takes_customers_in_who_step_once_it_is_resumed(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[NOTE])
    steered(server, journey, "hold")
    enrollment = enter(server, journey, CustomerFactory.create(workspace=acme))
    let_workers_walk()
    assert history(enrollment) == []
    assert steered(server, journey, "hold", dry_run=True)["inside"] == 1
    steered(server, journey, "resume")
    let_workers_walk()
    assert history(enrollment) == [("note", "done")]


def test_an_event_ends_a_wait_of_a_held_journey_that_then_goes_on(server: ServerClient, acme: Workspace) -> None:
    wait = {
        "id": "buys",
        "type": "wait_for_event",
        "event": "bought",
        "timeout": "P1D",
        "onEvent": "note",
        "onTimeout": "out",
    }
    journey = JourneyFactory.create(
        workspace=acme, steps=[wait, NOTE, {"id": "out", "type": "exit", "reason": "Late."}]
    )
    customer = CustomerFactory.create(workspace=acme)
    enrollment = enter(server, journey, customer)
    let_workers_walk()
    steered(server, journey, "hold")
    time_passes(days=2)
    let_workers_walk()  # its time is over, but nothing came of that yet
    report(server, customer, "bought")
    let_workers_walk()
    assert history(enrollment) == [("buys", "waiting")]
    assert steered(server, journey, "resume")["released"] == 1
    let_workers_walk()
    assert history(enrollment)[:2] == [("buys", "done"), ("note", "done")]


def sending_journey(workspace: Workspace, receiver: Receiver) -> Journey:
    call = {"id": "call", "type": "webhook", "url": receiver.url(), "body": {"hello": "{{ customer.external_id }}"}}
    return JourneyFactory.create(workspace=workspace, steps=[call])


def test_no_attempt_at_a_webhook_of_a_held_journey_begins_and_others_are_sent(
    server: ServerClient, acme: Workspace, rival: Workspace, rival_server: ServerClient, receiver: Receiver
) -> None:
    ours, theirs = sending_journey(acme, receiver), sending_journey(rival, receiver)
    other = sending_journey(acme, receiver)
    for client, journey in ((server, ours), (server, other), (rival_server, theirs)):
        enter(client, journey, CustomerFactory.create(workspace=journey.workspace, external_id=str(journey.id)))
    let_workers_walk()
    steered(server, ours, "hold", reason=REASON)
    send()
    send()
    assert sorted(request.body.decode() for request in receiver.arrived) == sorted(
        f'{{"hello":"{journey.id}"}}' for journey in (other, theirs)
    )
    delivery = WebhookDelivery.objects.get(enrollment__journey=ours)
    assert (delivery.state, delivery.attempts) == ("held", 0)
    path = f"/api/v1/journeys/{acme.id}/enrollments/{delivery.enrollment_id}"
    told = data(server.get(path), status=200)
    assert (told["steps"][0]["webhook"]["state"], told["goesOnAt"] is None) == ("held", False)
    assert steered(server, ours, "resume")["released"] == 1
    send()
    assert len(receiver.arrived) == 3
    let_workers_walk()
    assert Enrollment.objects.filter(state="completed").count() == 3


def test_those_who_became_due_go_on_at_the_pace_asked_for(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY, NOTE])
    people = [CustomerFactory.create(workspace=acme, external_id=f"p{n}") for n in range(6)]
    data(trigger(server, journey, {"external_ids": [person.external_id for person in people]}))
    let_workers_walk()
    steered(server, journey, "hold")
    time_passes(days=1, hours=1)
    walk_due(seconds=10)
    unseen = Enrollment.objects.filter(customer=people[0])  # it became due as the walkers were not looking
    moment = unseen.get().was_due_at
    unseen.update(due_at=moment, was_due_at=None)
    resumed = steered(server, journey, "resume", perMinute=60)
    assert resumed["released"] == 5
    until = datetime.fromisoformat(resumed["releasedUntil"])
    assert abs(until - timezone.now() - timedelta(seconds=5)) < timedelta(seconds=3)
    due = sorted(one.due_at for one in Enrollment.objects.exclude(id=unseen.get().id) if one.due_at)
    gaps = [later - earlier for earlier, later in pairwise(due)]
    assert all(abs(gap - timedelta(seconds=1)) < timedelta(milliseconds=50) for gap in gaps), gaps
    # One that was due before the resumption, and was not put aside, is not let past the others either.
    time_passes(minutes=1)
    moment = unseen.get().due_at
    go_on(seconds=5)
    assert Journey.objects.get().per_minute == 60  # so long as walkers are behind
    walk_due(seconds=0)
    assert unseen.get().was_due_at == moment
    go_on(seconds=5)
    last = unseen.get().due_at
    assert last is not None
    assert last > timezone.now() - timedelta(seconds=5)
    time_passes(seconds=30)
    go_on(seconds=5)
    assert Journey.objects.get().per_minute is None
    let_workers_walk()
    assert Enrollment.objects.filter(state="completed").count() == 6


@pytest.mark.parametrize("seen", [True, False])
def test_a_pace_lasts_while_a_host_is_left_alone(
    server: ServerClient, acme: Workspace, receiver: Receiver, seen: bool
) -> None:
    """As behind an open circuit: neither what senders have `seen` due while it was held goes at once, nor the rest."""
    journey = sending_journey(acme, receiver)
    data(trigger(server, journey, {"external_ids": crowd(acme, 20)}))
    let_workers_walk()
    name = WebhookDelivery.objects.latest("id").host
    host: dict[str, str] = {"workspace_id": acme.id, "host": name, "reason": "", "actor": "staff"}
    steered(server, journey, "hold")
    if seen:
        send()
    assert hold_host(**host)
    assert steered(server, journey, "resume", perMinute=6)["released"] == (20 if seen else 0)

    def a_minute_passes() -> int:
        before = len(receiver.arrived)
        for _ in range(6):
            time_passes(seconds=10)
            send()
            go_on(seconds=5)
        return len(receiver.arrived) - before

    assert a_minute_passes() + a_minute_passes() == 0
    assert release_host(**host)
    send()
    assert len(receiver.arrived) <= 3
    assert 4 <= a_minute_passes() <= 8
    assert steered(server, journey, "resume", perMinute=6)["changed"] is False
    went = len(receiver.arrived)
    again = steered(server, journey, "resume")  # what is left goes at once
    assert again["changed"] is True
    assert 20 - went - 5 <= again["released"] <= 20 - went
    time_passes(seconds=30)
    send()
    let_workers_walk()
    go_on(seconds=5)
    assert Enrollment.objects.filter(state="completed").count() == len(receiver.arrived) == 20
    assert not Journey.objects.exclude(resumed_at=None).exists()


def test_a_pace_is_changed_while_it_runs_and_by_another_hold(server: ServerClient, acme: Workspace) -> None:
    """A typo costs no hours: those whose turn has not come are where they were put aside."""
    journey = JourneyFactory.create(workspace=acme, steps=[DAY, NOTE])
    data(trigger(server, journey, {"external_ids": crowd(acme, 20)}))
    let_workers_walk()
    steered(server, journey, "hold")
    time_passes(days=1, hours=1)
    let_workers_walk()
    assert steered(server, journey, "resume", perMinute=1)["released"] == 20
    for pace, held in ((2, False), (6000, True)):
        if held:
            assert steered(server, journey, "hold")["changed"] is True
        would = steered(server, journey, "resume", dry_run=True, perMinute=pace)
        did = steered(server, journey, "resume", perMinute=pace)
        assert {**would, "dryRun": False, "releasedUntil": None} == {**did, "releasedUntil": None}
        assert (did["changed"], did["released"] >= 17) == (True, True)
    for _ in range(2):  # also those who were released, and had not gone on when it was held again
        time_passes(minutes=1)
        let_workers_walk()
        go_on(seconds=5)
    time_passes(minutes=1)
    let_workers_walk()
    assert Enrollment.objects.filter(state="completed").count() == 20
    acts = SteeringAct.objects.filter(kind="resume").order_by("at")
    assert [act.numbers["per_minute"] for act in acts] == [1, 2, 6000]


@pytest.mark.without_pooler
@pytest.mark.django_db(transaction=True)
def test_a_release_that_is_held_up_is_made_later(server: ServerClient, inside: Enrollment) -> None:
    steered(server, inside.journey, "hold")
    time_passes(days=1, minutes=1)
    let_workers_walk()
    with patch("journeys.engine.steering.holding.release"):  # between its commit and this, others lock the journey
        assert steered(server, inside.journey, "resume")["released"] == 1
    with transaction.atomic():
        Journey.objects.select_for_update(no_key=True).get()
        assert elsewhere(impatient(lambda: release(inside.journey_id, seconds=5))) == 0
    assert go_on(seconds=5)
    let_workers_walk()
    assert Enrollment.objects.get().state == "completed"


@pytest.mark.django_db(transaction=True)
def test_a_hold_is_answered_once_no_step_is_under_way(server: ServerClient, inside: Enrollment) -> None:
    def hold() -> tuple[dict[str, Any], float]:
        try:
            return steered(server, inside.journey, "hold"), time.monotonic()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        with transaction.atomic():  # as a walker does until it has written what it walked
            lock_customers_of([inside.id])
            holding = pool.submit(hold)
            while not Journey.objects.filter(held_at__isnull=False).exists():
                time.sleep(0.005)
            assert not holding.done()
            ended = time.monotonic()
        answered, at = holding.result(PATIENCE_SECONDS)
    assert (answered["changed"], answered["settled"]) == (True, True)
    assert at > ended


@pytest.mark.django_db(transaction=True)
def test_a_hold_says_so_if_a_step_under_way_does_not_end(
    server: ServerClient, inside: Enrollment, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.engine.steering.holding.LONGEST_WALK_SECONDS", 0.1)
    with transaction.atomic():
        lock_customers_of([inside.id])
        answer = elsewhere(lambda: steer(server, inside.journey, "hold"))
        assert (data(answer, status=200)["settled"], "has not ended" in answer.json()["message"]) == (False, True)
    assert steered(server, inside.journey, "hold")["settled"] is True


def test_a_sender_that_was_held_up_after_its_claim_begins_no_attempt(
    server: ServerClient, acme: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A process may be stopped for minutes between its claim and the request: its journey may be held by then."""
    enter(server, sending_journey(acme, receiver), CustomerFactory.create(workspace=acme))
    let_workers_walk()
    with monkeypatch.context() as patch:
        patch.setattr("journeys.engine.webhooks.claims.BEGIN_SECONDS", -1.0)
        send(seconds=0.2)
    delivery = WebhookDelivery.objects.get()
    assert (receiver.arrived, delivery.state, delivery.attempts) == ([], "waiting", 0)
    assert delivery.due_at <= timezone.now()
    send()
    assert len(receiver.arrived) == 1


def test_a_claim_that_took_long_is_looked_at_again(
    server: ServerClient, acme: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    enter(server, sending_journey(acme, receiver), CustomerFactory.create(workspace=acme))
    let_workers_walk()
    monkeypatch.setattr("journeys.engine.webhooks.claims._CLAIM_SECONDS", 0.0)
    send()
    assert WebhookAttempt.objects.count() == 1
