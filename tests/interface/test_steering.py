"""POST /api/v1/journeys/{workspaceId}/{journeyId}/close, activate and abort, and what all acts have in common."""

import math
import time
from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.enrollments import withdrawing
from journeys.engine.enrollments.locks import lock_customers_of
from journeys.engine.entering import settling
from journeys.engine.entering.scheduled import come_due
from journeys.engine.steering import aborting
from journeys.engine.steering.aborting import exit_remaining
from journeys.engine.steering.going_on import go_on
from journeys.journey.keeping import archive_journey, restore_journey
from journeys.models import Enrollment, EnrollmentJob, Journey, SteeringAct, Trigger
from tests.bridge.in_app.deliveries import deliver
from tests.interface.steered import REASON, steer, steered
from tests.journeys.walking.stories import enter, history
from tests.support.calls import data, let_workers_decide, let_workers_walk, refused, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.factories import DAY, CustomerFactory, JourneyFactory, crowd
from tests.support.plans import rows_gone_through
from tests.support.simultaneous import elsewhere, impatient

pytestmark = pytest.mark.django_db


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


def scheduled(server: ServerClient, journey: Journey, *, days: int = 1, **named: Any) -> dict[str, Any]:
    due = timezone.now() + timedelta(days=days)
    return data(trigger(server, journey, {**named, "scheduledFor": due.isoformat()}))


def test_an_abort_decides_what_is_queued_and_scheduled_which_then_enters_nobody(
    server: ServerClient, acme: Workspace, rival: Workspace, rival_server: ServerClient
) -> None:
    acme.feed = True
    acme.save()
    journey, other = (JourneyFactory.create(workspace=acme, steps=[DAY]) for _ in range(2))
    theirs = JourneyFactory.create(workspace=rival, steps=[DAY])
    names = crowd(acme, 700)
    scheduled(server, journey, external_id="user-0")
    calls = [scheduled(server, journey, external_ids=names), scheduled(server, other, external_ids=names)]
    data(trigger(server, journey, {"external_id": "user-1", "entranceId": "order-17"}))
    CustomerFactory.create(workspace=rival, external_id="ada")
    scheduled(rival_server, theirs, external_id="ada")
    assert steered(server, journey, "abort", reason=REASON, dry_run=True)["queued"] == 0
    assert EnrollmentJob.objects.filter(status="queued").count() == 1403
    aborted = steered(server, journey, "abort", reason=REASON)
    assert (aborted["queued"], aborted["inside"], aborted["settled"]) == (0, 0, True)
    assert Counter(EnrollmentJob.objects.values_list("journey_id", "status", "result")) == {
        (journey.id, "decided", "journey_inactive"): 702, (other.id, "queued", ""): 700, (theirs.id, "queued", ""): 1,
    }  # fmt: skip
    assert not EnrollmentJob.objects.filter(journey=journey, holds_entrance=True).exists()
    told = data(server.get(f"/api/v1/journeys/{acme.id}/triggers/{calls[0]['triggerId']}"), status=200)
    assert (told["queued"], told["results"]) == (0, {"journey_inactive": 700})
    types = [event["type"] for event in data(server.get(f"/api/v1/feed/{acme.id}?limit=1000"), status=200)["events"]]
    assert Counter(types) == {"job.decided": 702, "trigger.completed": 3}
    assert counted(journey) == counted_by_history(journey.id)
    assert data(steer(server, journey, "activate"), status=200)["queued"] == 0
    time_passes(days=2)
    come_due()
    let_workers_decide()
    assert set(Enrollment.objects.values_list("journey_id", flat=True)) == {other.id, theirs.id}


def test_an_abort_that_has_left_something_queued_goes_on_before_the_journey_can_be_opened(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = JourneyFactory.create(workspace=acme)
    for name in crowd(acme, 3):
        scheduled(server, journey, external_id=name)
    monkeypatch.setattr("journeys.engine.steering.aborting._EXIT_SECONDS", -1.0)
    monkeypatch.setattr("journeys.engine.steering.undecided.CHUNK_SIZE", 1)
    assert steered(server, journey, "abort", reason=REASON)["queued"] == 3
    told = refused(steer(server, journey, "activate"), status=400, error="Invalid journey")
    assert told == "active cannot be true yet: some have yet to leave the aborted journey, or to be decided."
    monkeypatch.setattr("journeys.engine.steering.undecided._MOST_FOUND", 2)
    for left in (1, 0):
        go_on(seconds=1.0)
        assert EnrollmentJob.objects.filter(status="queued").count() == left
    data(steer(server, journey, "activate"), status=200)


def test_what_a_call_that_had_begun_before_queues_behind_an_abort_enters_nobody(
    server: ServerClient, acme: Workspace
) -> None:
    journey = JourneyFactory.create(workspace=acme)
    steered(server, journey, "abort", reason=REASON)
    data(steer(server, journey, "activate"), status=200)
    journey.refresh_from_db()
    for name, serial in zip(crowd(acme, 2), (-1, 1), strict=True):
        late = data(trigger(server, journey, {"external_id": name}))["triggerId"]
        Trigger.objects.filter(id=late).update(serial=(journey.aborted_serial or 0) + serial)
    let_workers_decide()
    results = EnrollmentJob.objects.order_by("id").values_list("result", flat=True)
    assert list(results) == ["journey_inactive", "enrolled"]


@each("archived", [False, True])
def test_what_is_scheduled_is_decided_by_whether_a_closed_journey_is_open_again_when_it_is_due(
    server: ServerClient, acme: Workspace, archived: bool
) -> None:
    journey = JourneyFactory.create(workspace=acme)
    for days, name in enumerate(crowd(acme, 2)):
        scheduled(server, journey, external_id=name, days=1 + 2 * days)
    if archived:
        archive_journey(journey, actor="root", now=timezone.now())
    else:
        assert steered(server, journey, "close")["queued"] == 2
    for _ in range(2):
        time_passes(days=2)
        come_due()
        let_workers_decide()
        restore_journey(workspace_id=acme.id, journey_id=journey.id, now=timezone.now())
        data(steer(server, journey, "activate"), status=200)
    assert list(EnrollmentJob.objects.order_by("id").values_list("result", flat=True)) == [
        "journey_inactive",
        "enrolled",
    ]


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
    monkeypatch.setattr("journeys.engine.steering.aborting.LONGEST_WALK_SECONDS", 0.1)
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


def test_an_abort_goes_through_a_journey_s_past_once(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Not again for each part of those who are inside: of a crowd that has entered, and has yet to be walked."""
    monkeypatch.setattr(aborting, "_AT_ONCE", 5)
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    data(trigger(server, journey, {"external_ids": crowd(acme, 20)}))
    let_workers_decide()
    begins = []

    def note(execute: Any, sql: str, params: Any, *beside: Any) -> Any:
        if "ORDER BY id DESC" in sql and "journeys_enrollment" in sql:
            begins.append(params[3])
        return execute(sql, params, *beside)

    with connection.execute_wrapper(note):
        assert steered(server, journey, "abort", reason="The offer has ended.")["exited"] == 20
    assert len(begins) == 6
    assert begins[:5] == sorted({*begins}, reverse=True), "and from its end once more, to see that none is left"


def test_an_abort_withdraws_no_longer_than_it_may(acme: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(withdrawing, "_AT_ONCE", 1)
    ada = CustomerFactory.create(workspace=acme)
    for _ in range(3):
        deliver(ada, journey_id="a" * 24)
    done = [withdrawing.withdraw_of_journey("a" * 24, because="x", until=until) for until in (0.0, 0.0, math.inf)]
    assert done == [False, False, True]


def test_an_aborted_journey_with_somebody_inside_is_aborted_again(server: ServerClient, inside: Enrollment) -> None:
    Journey.objects.update(active=False, aborted_at=timezone.now())
    aborted = steered(server, inside.journey, "abort", reason="The offer has ended.")
    assert (aborted["changed"], aborted["inside"], aborted["exited"]) == (True, 0, 1)
    assert steered(server, inside.journey, "abort", reason="The offer has ended.")["changed"] is False


@each(
    "act, body, message",
    [
        ("hold", {"reason": 5}, "reason must be a string"),
        ("resume", {"perMinute": 0}, "perMinute must be a whole number from 1"),
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
