"""POST /api/v1/journeys/{workspaceId}/{journeyId}/hold, resume, close, activate and abort."""

import time
from concurrent.futures import ThreadPoolExecutor
from datetime import datetime, timedelta
from itertools import pairwise
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connections, transaction
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.enrollments.locks import lock_customers_of
from journeys.entering import settling
from journeys.models import Enrollment, Journey, SteeringAct, WebhookAttempt, WebhookDelivery
from journeys.steering.aborting import exit_remaining
from journeys.steering.going_on import go_on
from journeys.steering.hosts import hold_host, release_host
from journeys.steering.releasing import release
from journeys.walking import walk_due
from tests.journeys.events.reporting import report
from tests.journeys.walking.stories import enter, history
from tests.journeys.webhooks.standing import send
from tests.support.calls import data, let_workers_decide, let_workers_walk, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.clock import time_passes
from tests.support.factories import DAY, CustomerFactory, JourneyFactory, crowd
from tests.support.plans import rows_gone_through
from tests.support.receiver import Receiver
from tests.support.simultaneous import PATIENCE_SECONDS, elsewhere, impatient

pytestmark = pytest.mark.django_db
NOTE = {"id": "note", "type": "update_profile", "attributes": {"noted": True}}
REASON = "The mail provider is down."


def steer(server: ServerClient, journey: Journey, act: str, body: Any = None, *, dry_run: bool = False) -> Answer:
    query = "?dryRun=true" if dry_run else ""
    return server.post(f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/{act}{query}", body or {})


def steered(server: ServerClient, journey: Journey, act: str, *, dry_run: bool = False, **body: Any) -> dict[str, Any]:
    return data(steer(server, journey, act, body, dry_run=dry_run), status=200)


@pytest.fixture
def inside(acme: Workspace, server: ServerClient) -> Enrollment:
    """Ada waits for a day, then something is noted of her."""
    journey = JourneyFactory.create(workspace=acme, steps=[DAY, NOTE])
    enrollment = enter(server, journey, CustomerFactory.create(workspace=acme, external_id="ada"))
    let_workers_walk()
    return enrollment


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


def test_every_act_is_kept_with_who_and_why(server: ServerClient, inside: Enrollment, rival: Workspace) -> None:
    for _ in range(2):
        changed = [
            steered(server, inside.journey, act, reason=act.upper())["changed"]
            for act in ("hold", "hold", "resume", "close", "close", "activate", "abort", "abort")
        ]
        assert changed == [True, False, True, True, False, True, True, False]
        data(steer(server, inside.journey, "activate"), status=200)
    acts = SteeringAct.objects.filter(journey=inside.journey).order_by("at", "id")
    once = ["hold", "resume", "close", "activate", "abort", "activate"]
    assert [act.kind for act in acts] == once * 2
    assert {act.actor for act in acts} == {f"key {server.key.name} ({server.key.prefix}…)"}
    assert [act.reason for act in acts][:5] == ["HOLD", "RESUME", "CLOSE", "ACTIVATE", "ABORT"]
    assert not SteeringAct.objects.filter(workspace=rival).exists()


@each("act", ["hold", "close", "abort"])
def test_a_dry_run_says_what_would_happen_and_changes_nothing(
    server: ServerClient, inside: Enrollment, act: str
) -> None:
    before = Journey.objects.values().get()
    would = steered(server, inside.journey, act, dry_run=True, reason=REASON)
    assert (would["dryRun"], would["changed"]) == (True, True)
    assert (Journey.objects.values().get(), SteeringAct.objects.count()) == (before, 0)
    did = steered(server, inside.journey, act, reason=REASON)
    assert {**would, "dryRun": False} == did
    would = steered(server, inside.journey, "activate", dry_run=True)
    assert would["changed"] is (act != "hold")
    inside.refresh_from_db()
    assert inside.state == ("exited" if act == "abort" else "active")


def test_a_closed_journey_takes_nobody_in_and_those_inside_go_on(
    server: ServerClient, inside: Enrollment, acme: Workspace
) -> None:
    CustomerFactory.create(workspace=acme, external_id="grace")
    data(trigger(server, inside.journey, {"external_id": "grace"}))
    assert steered(server, inside.journey, "close") | {"queued": 1, "inside": 1, "state": "closed"} == steered(
        server, inside.journey, "close", dry_run=True
    ) | {"changed": True, "dryRun": False}
    refused(trigger(server, inside.journey, {"external_id": "grace"}), status=404, error="Journey not found")
    let_workers_decide()
    assert Enrollment.objects.count() == 1
    time_passes(days=2)
    let_workers_walk()
    assert history(inside) == [("day", "done"), ("note", "done")]
    assert steered(server, inside.journey, "activate")["state"] == "active"
    data(trigger(server, inside.journey, {"external_id": "grace"}))


def test_all_who_are_inside_an_aborted_journey_leave_it_with_the_reason(
    server: ServerClient, inside: Enrollment, acme: Workspace, rival: Workspace, rival_server: ServerClient
) -> None:
    theirs = enter(
        rival_server, JourneyFactory.create(workspace=rival, steps=[DAY]), CustomerFactory.create(workspace=rival)
    )
    refused(steer(server, inside.journey, "abort"), status=400, error="Missing required parameter")
    aborted = steered(server, inside.journey, "abort", reason="The offer has ended.")
    assert (aborted["state"], aborted["inside"], aborted["exited"]) == ("aborted", 0, 1)
    inside.refresh_from_db()
    theirs.refresh_from_db()
    assert (inside.state, inside.exit_reason) == ("exited", "The journey was aborted: The offer has ended.")
    assert theirs.state == "active"
    assert history(inside) == [("day", "interrupted")]
    for act in ("hold", "resume"):
        refused(steer(server, inside.journey, act), status=409, error="Journey aborted")
    stats = data(server.get(f"/api/v1/journeys/{acme.id}/{inside.journey_id}/stats"), status=200)
    assert stats["outcomes"] == {"active": 0, "completed": 0, "exited": 1}


def test_an_abort_whose_process_died_goes_on(server: ServerClient, inside: Enrollment) -> None:
    Journey.objects.update(active=False, aborted_at=timezone.now(), held_at=timezone.now(), held_because="Enough.")
    time_passes(days=2)
    let_workers_walk()
    assert history(inside) == [("day", "waiting")]
    refused(steer(server, inside.journey, "activate"), status=400, error="Invalid journey")
    go_on(seconds=5)
    inside.refresh_from_db()
    assert (inside.state, inside.was_due_at) == ("exited", None)
    assert steered(server, inside.journey, "activate")["state"] == "active"


@pytest.mark.django_db(transaction=True)
def test_whom_a_decision_under_way_lets_into_an_aborted_journey_leaves_it(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The decision takes longer than the abort, and than a sweep that goes on with it."""
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    CustomerFactory.create(workspace=acme, external_id="grace")
    data(trigger(server, journey, {"external_id": "grace"}))
    write, answers = settling._write_decisions, list[dict[str, Any]]()

    def slowly(*decisions: Any) -> None:
        answers.append(elsewhere(lambda: steered(server, journey, "abort", reason="The offer has ended.")))
        elsewhere(lambda: go_on(seconds=1))
        write(*decisions)

    monkeypatch.setattr(settling, "_write_decisions", slowly)
    monkeypatch.setattr("journeys.steering.aborting.LONGEST_WALK_SECONDS", 0.1)
    let_workers_decide()
    assert answers[0]["settled"] is False
    assert Enrollment.objects.get().state == "active"
    go_on(seconds=5)
    assert Enrollment.objects.get().state == "exited"
    assert Journey.objects.get().held_at is None


@pytest.mark.without_pooler
@pytest.mark.django_db(transaction=True)
def test_a_foreign_transaction_holds_up_neither_a_hold_nor_an_abort(
    server: ServerClient, inside: Enrollment, acme: Workspace, rival: Workspace
) -> None:
    """It has locked customers, as an import does: of another tenant, and one of two who are inside."""
    enter(server, inside.journey, grace := CustomerFactory.create(workspace=acme, external_id="grace"))
    let_workers_walk()
    CustomerFactory.create(workspace=rival)
    with transaction.atomic():
        list(Customer.objects.select_for_update(no_key=True).exclude(id=grace.id))
        held = elsewhere(impatient(lambda: steered(server, inside.journey, "hold")))
        assert (held["settled"], held["inside"]) == (True, 2)
        began = time.monotonic()
        aborted = elsewhere(impatient(lambda: steered(server, inside.journey, "abort", reason="The offer has ended.")))
        assert (aborted["settled"], aborted["exited"], aborted["inside"]) == (True, 1, 1)
        elsewhere(lambda: go_on(seconds=5))  # a sweeper waits for no lock
        assert time.monotonic() - began < 3
    go_on(seconds=5)
    assert {*Enrollment.objects.values_list("state", flat=True)} == {"exited"}
    assert Journey.objects.get().held_at is None


@pytest.mark.django_db(transaction=True)
def test_a_sweeper_waits_for_nobody_who_decides_and_comes_back(
    server: ServerClient, inside: Enrollment, acme: Workspace
) -> None:
    Journey.objects.update(active=False, aborted_at=timezone.now(), held_at=timezone.now(), held_because="Enough.")
    other = enter(server, JourneyFactory.create(workspace=acme, steps=[DAY]), CustomerFactory.create(workspace=acme))
    for ends in (False, True):
        with transaction.atomic():
            lock_customers_of([other.id])  # one begins before the last one has ended, as under load
            began = time.monotonic()
            elsewhere(lambda: go_on(seconds=5))
            assert time.monotonic() - began < 2
        inside.refresh_from_db()
        assert inside.state == ("exited" if ends else "active")


@pytest.mark.without_pooler
@pytest.mark.django_db(transaction=True)
def test_a_release_that_is_held_up_is_made_later(server: ServerClient, inside: Enrollment) -> None:
    steered(server, inside.journey, "hold")
    time_passes(days=1, minutes=1)
    let_workers_walk()
    with patch("journeys.steering.holding.release"):  # between its commit and this, others lock the journey
        assert steered(server, inside.journey, "resume")["released"] == 1
    with transaction.atomic():
        Journey.objects.select_for_update(no_key=True).get()
        assert elsewhere(impatient(lambda: release(inside.journey_id, seconds=5))) == 0
    assert go_on(seconds=5)
    let_workers_walk()
    assert Enrollment.objects.get().state == "completed"


def test_who_waits_in_an_aborted_journey_is_found_beside_its_past(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    names = crowd(acme, 200)
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_walk()
    assert steered(server, journey, "abort", reason="The offer has ended.")["exited"] == len(names)
    steered(server, journey, "activate")
    data(trigger(server, journey, {"external_ids": names[:3]}))
    let_workers_walk()
    Journey.objects.update(active=False, aborted_at=timezone.now(), held_at=timezone.now(), held_because="Enough.")
    with rows_gone_through() as seen:
        assert exit_remaining(journey.id, seconds=0) == 3
    assert max(rows for sql, rows in seen.items() if "journeys_enrollment" in sql) < len(names)


def test_an_aborted_journey_with_somebody_inside_is_aborted_again(server: ServerClient, inside: Enrollment) -> None:
    Journey.objects.update(active=False, aborted_at=timezone.now())
    aborted = steered(server, inside.journey, "abort", reason="The offer has ended.")
    assert (aborted["changed"], aborted["inside"], aborted["exited"]) == (True, 0, 1)
    assert steered(server, inside.journey, "abort", reason="The offer has ended.")["changed"] is False


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
    monkeypatch.setattr("journeys.steering.holding.LONGEST_WALK_SECONDS", 0.1)
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
        patch.setattr("journeys.webhooks.claims.BEGIN_SECONDS", -1.0)
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
    monkeypatch.setattr("journeys.webhooks.claims._CLAIM_SECONDS", 0.0)
    send()
    assert WebhookAttempt.objects.count() == 1


@each(
    "act, body, message",
    [
        ("hold", {"reason": 5}, "reason must be a string"),
        ("resume", {"perMinute": 0}, "perMinute must be from 1"),
        ("resume", {"perMinute": "fast"}, "perMinute must be a whole number"),
        ("abort", {"reason": " "}, "reason is required."),
    ],
)
def test_what_is_wrong_is_named_and_nothing_is_changed(
    server: ServerClient, inside: Enrollment, act: str, body: Any, message: str
) -> None:
    answer = steer(server, inside.journey, act, body)
    assert answer.status_code == 400
    assert message in answer.json()["message"]
    assert not SteeringAct.objects.exists()
    wrong = server.post(f"/api/v1/journeys/{inside.workspace_id}/{inside.journey_id}/hold?dryrun=true", {})
    assert wrong.status_code == 400
    assert Journey.objects.get().state is Journey.State.ACTIVE


def test_a_call_without_a_body_is_as_good_as_one_with_an_empty_object(server: ServerClient, inside: Enrollment) -> None:
    path = f"/api/v1/journeys/{inside.workspace_id}/{inside.journey_id}"
    assert data(server.call("POST", f"{path}/hold"), status=200)["state"] == "held"
    assert data(server.call("POST", f"{path}/resume"), status=200)["state"] == "active"
