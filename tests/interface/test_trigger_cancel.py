"""POST /api/v1/journeys/{workspaceId}/triggers/{triggerId}/cancel: none of its jobs is decided any more."""

from typing import Any

import pytest
from django.db import transaction

from customers.models import Customer
from engage.models import AuditEntry
from journeys.engine.entering import settling
from journeys.engine.steering.aborting import exit_all
from journeys.engine.steering.cancelling import cancel_trigger
from journeys.engine.walking import walk_due
from journeys.models import Chunk, CountDelta, Enrollment, EnrollmentJob, Journey, SteeringAct, StepRun, Trigger
from tests.support.calls import data, let_workers_decide, let_workers_walk, refused, trigger
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import DAY
from tests.support.simultaneous import PATIENCE_SECONDS, elsewhere, impatient, made_to_wait

pytestmark = [pytest.mark.usefixtures("cast"), pytest.mark.journey(steps=[DAY])]

NAMES = ["ada", "grace", "alan"]


def cancel(server: ServerClient, journey: Journey, trigger_id: str, *, query: str = "", **body: Any) -> Answer:
    return server.post(f"/api/v1/journeys/{journey.workspace_id}/triggers/{trigger_id}/cancel{query}", body)


def test_no_waiting_job_is_decided_and_all_are_accounted_for(server: ServerClient, journey: Journey) -> None:
    sent = data(trigger(server, journey, {"external_ids": NAMES}))
    other = data(trigger(server, journey, {"external_id": "ada"}))
    data(server.delete(f"/api/v1/journeys/{journey.workspace_id}/jobs/{sent['jobIds'][0]}"), status=200)
    would = data(cancel(server, journey, sent["triggerId"], query="?dryRun=true"), status=200)
    did = data(cancel(server, journey, sent["triggerId"], reason="Too many."), status=200)
    assert would == {**did, "dryRun": True}
    assert did == {
        "triggerId": sent["triggerId"], "journeyId": journey.id, "dryRun": False, "customers": 3, "cancelled": 2,
        "alreadyDecided": 1, "exited": 0, "inside": 0, "allWithdrawn": True,
    }  # fmt: skip
    again = data(cancel(server, journey, sent["triggerId"]), status=200)
    assert (again["cancelled"], again["alreadyDecided"]) == (0, 3)
    let_workers_decide()
    assert list(Enrollment.objects.values_list("job__trigger_id", flat=True)) == [other["triggerId"]]
    reasons = EnrollmentJob.objects.filter(trigger_id=sent["triggerId"]).values_list("reason", flat=True)
    assert sorted(reasons)[1:] == ["The whole call was cancelled: Too many."] * 2
    stats = data(server.get(f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/stats"), status=200)
    assert (stats["entries"], stats["queued"]) == ({"cancelled": 3, "enrolled": 1}, 0)
    [act] = SteeringAct.objects.all()
    assert (act.kind, act.trigger_id, act.reason) == ("cancel", sent["triggerId"], "Too many.")
    assert act.numbers == {"cancelled": 2, "already_decided": 1, "exited": 0}


@each("enrollments", ["keep", "exit"])
def test_who_has_entered_by_the_call_stays_or_leaves(server: ServerClient, journey: Journey, enrollments: str) -> None:
    first = data(trigger(server, journey, {"external_id": "alan"}))
    let_workers_walk()
    sent = data(trigger(server, journey, {"external_ids": NAMES}))
    let_workers_walk()
    would = data(cancel(server, journey, sent["triggerId"], query="?dryRun=true", enrollments=enrollments), status=200)
    did = data(cancel(server, journey, sent["triggerId"], enrollments=enrollments), status=200)
    assert would == {**did, "dryRun": True}
    leave = enrollments == "exit"
    assert (did["cancelled"], did["alreadyDecided"]) == (0, 3)
    assert (did["exited"], did["inside"]) == ((2, 0) if leave else (0, 2))
    states = dict(Enrollment.objects.values_list("job__trigger_id", "state"))
    assert states == {first["triggerId"]: "active", sent["triggerId"]: "exited" if leave else "active"}
    assert StepRun.objects.filter(state="interrupted").count() == did["exited"]
    assert SteeringAct.objects.count() == int(leave)


@pytest.mark.django_db(transaction=True)
def test_a_decision_under_way_comes_before_the_cancellation(server: ServerClient, journey: Journey) -> None:
    """A worker holds the chunk until it has decided. Here it is held up by a customer, amid its transaction."""
    sent = data(trigger(server, journey, {"external_ids": NAMES}))
    with transaction.atomic():
        Customer.objects.select_for_update(no_key=True).get(workspace=journey.workspace, external_id="grace")
        deciding = made_to_wait(let_workers_decide)
        cancelling = made_to_wait(lambda: cancel(server, journey, sent["triggerId"]), waiting=2)
    deciding.result(PATIENCE_SECONDS)
    did = data(cancelling.result(PATIENCE_SECONDS), status=200)
    assert (did["cancelled"], did["alreadyDecided"], did["inside"]) == (0, 3, 3)
    assert not Chunk.objects.exists()


@pytest.mark.django_db(transaction=True)
def test_a_worker_that_comes_later_decides_nothing(server: ServerClient, journey: Journey) -> None:
    sent = data(trigger(server, journey, {"external_ids": NAMES}))
    with transaction.atomic():
        did = data(cancel(server, journey, sent["triggerId"]), status=200)
        assert did["cancelled"] == 3
        elsewhere(let_workers_decide)
    let_workers_decide()
    assert walk_due(seconds=0).moved == 0
    assert set(EnrollmentJob.objects.values_list("status", flat=True)) == {"cancelled"}


@pytest.mark.django_db(transaction=True)
def test_a_job_that_is_cancelled_while_it_is_decided_enrolls_nobody(
    server: ServerClient, journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As where its chunk was parted at the moment of the cancellation, which then did not wait for the half."""
    data(trigger(server, journey, {"external_ids": NAMES[:2]}))
    first = EnrollmentJob.objects.filter(ordinal=0)
    write = settling._write_decisions

    def late(*decisions: Any) -> None:
        elsewhere(lambda: first.filter(status="queued").update(status="cancelled", result="cancelled"))
        write(*decisions)

    monkeypatch.setattr(settling, "_write_decisions", late)
    let_workers_decide()
    assert list(EnrollmentJob.objects.order_by("ordinal").values_list("result", flat=True)) == ["cancelled", "enrolled"]
    assert list(Enrollment.objects.values_list("job__ordinal", flat=True)) == [1]
    assert CountDelta.objects.get().number == 1
    assert not Chunk.objects.exists()


@pytest.mark.without_pooler
@pytest.mark.django_db(transaction=True)
def test_who_is_held_up_stays_inside_and_all_else_is_done_and_kept(server: ServerClient, journey: Journey) -> None:
    sent = data(trigger(server, journey, {"external_ids": NAMES}))
    let_workers_walk()
    Enrollment.objects.exclude(customer__external_id="ada").delete()
    EnrollmentJob.objects.exclude(customer__external_id="ada").update(status="queued", result="", decided_at=None)
    with transaction.atomic():
        Customer.objects.select_for_update(no_key=True).get(workspace=journey.workspace, external_id="ada")
        answer = elsewhere(impatient(lambda: cancel(server, journey, sent["triggerId"], enrollments="exit")))
    did = data(answer, status=200)
    assert (did["cancelled"], did["exited"], did["inside"]) == (2, 0, 1)
    again = data(cancel(server, journey, sent["triggerId"], enrollments="exit"), status=200)
    assert (again["cancelled"], again["exited"], again["inside"]) == (0, 1, 0)
    numbers = [(act.numbers["cancelled"], act.numbers["exited"]) for act in SteeringAct.objects.order_by("at")]
    assert numbers == [(2, 0), (0, 1)]
    assert AuditEntry.objects.filter(action="steered").count() == 2


def test_an_act_is_kept_if_its_process_dies_while_some_leave(
    server: ServerClient, journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One who has entered is exited with the first block, and then the process dies."""
    sent = data(trigger(server, journey, {"external_ids": NAMES}))
    let_workers_walk()
    exited: list[str] = []

    def once(found: list[str], *, reason: str) -> int:
        if exited:
            raise SystemExit
        exited.extend(found)
        return exit_all(found, reason=reason)

    monkeypatch.setattr("journeys.engine.steering.cancelling.exit_all", once)
    monkeypatch.setattr("journeys.engine.steering.cancelling._AT_ONCE", 1)
    one = Trigger.objects.get(id=sent["triggerId"])
    with pytest.raises(SystemExit):
        cancel_trigger(one, exit_enrollments=True, reason="", actor="staff root")
    assert list(Enrollment.objects.filter(state="exited").values_list("id", flat=True)) == exited
    assert SteeringAct.objects.get().numbers == {"cancelled": 0, "already_decided": 3, "exited": 1}


def test_a_wrong_choice_is_named(server: ServerClient, journey: Journey) -> None:
    sent = data(trigger(server, journey, {"external_ids": NAMES}))
    message = refused(
        cancel(server, journey, sent["triggerId"], enrollments="drop"), status=400, error="Invalid request"
    )
    assert message == "enrollments must be one of keep, exit, not 'drop'."
    assert set(EnrollmentJob.objects.values_list("status", flat=True)) == {"queued"}
