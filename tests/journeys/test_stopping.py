"""Cancelling jobs and exiting enrollments while workers decide and walk: exact, whoever comes first."""

from collections.abc import Callable
from functools import partial

import pytest
from django.db import connection, transaction

from customers.models import Customer
from engage.models import Workspace
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.engine.walking import walk_due
from journeys.models import Chunk, Enrollment, EnrollmentJob, StepRun
from tests.support.calls import data, job_of, let_workers_walk, serve_until_empty, trigger
from tests.support.clients import Answer, ServerClient
from tests.support.factories import JourneyFactory, crowd
from tests.support.simultaneous import all_at_once, made_to_wait

pytestmark = pytest.mark.django_db(transaction=True)

CANCELS, EXITS = 16, 16
YEAR = {"id": "year", "type": "delay", "for": "P365D"}
# A way that goes on as long as somebody walks.
RESTLESS = [
    {"id": "blink", "type": "delay", "for": "PT1S"},
    *({"id": f"blink-{n}", "type": "delay", "for": "PT0S"} for n in range(30)),
    {"id": "blink-last", "type": "delay", "for": "PT0S", "next": "blink"},
]


def assert_cancelled_or_enrolled(answers: dict[str, Answer]) -> None:
    """Whoever was told that the job is cancelled was told the truth, and so was everybody else."""
    for job in EnrollmentJob.objects.select_related("customer"):
        enrolled = Enrollment.objects.filter(job_id=job.id).exists()
        assert (job.status, job.result, enrolled) in {("cancelled", "cancelled", False), ("decided", "enrolled", True)}
        if job.job_id in answers:
            assert answers[job.job_id].status_code == (200 if job.status == "cancelled" else 409)


@pytest.mark.slow
@pytest.mark.parametrize("form", ["single", "bulk"])
def test_a_job_is_either_cancelled_or_enrolled(server: ServerClient, acme: Workspace, form: str) -> None:
    names = crowd(acme, 64)
    journey = JourneyFactory.create(workspace=acme, steps=[YEAR])
    if form == "bulk":
        job_ids = data(trigger(server, journey, {"external_ids": names}))["jobIds"]
    else:
        job_ids = [data(trigger(server, journey, {"external_id": name}))["jobId"] for name in names]
    answers: dict[str, Answer] = {}

    def cancel(mine: list[str]) -> None:
        for job_id in mine:
            answers[job_id] = server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job_id}")

    calls: list[Callable[[], None]] = [partial(cancel, job_ids[n : n + 2]) for n in range(0, 2 * CANCELS, 2)]
    all_at_once([*calls, serve_until_empty, serve_until_empty])
    serve_until_empty()
    assert len(answers) == 2 * CANCELS
    assert_cancelled_or_enrolled(answers)
    assert EnrollmentJob.objects.filter(result="enrolled").count() >= len(names) - 2 * CANCELS
    assert not Chunk.objects.exists()


def test_a_cancel_amid_a_decision_waits_and_is_refused(server: ServerClient, acme: Workspace) -> None:
    (name,) = crowd(acme, 1)
    journey = JourneyFactory.create(workspace=acme, steps=[YEAR])
    job_id = data(trigger(server, journey, {"external_id": name}))["jobId"]
    with transaction.atomic():
        serve_until_empty()  # decided, and not committed yet
        cancelling = made_to_wait(lambda: server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job_id}"))
    assert cancelling.result().status_code == 409
    assert Enrollment.objects.get().state == "active"


@pytest.mark.slow
def test_an_erased_customers_job_cancelled_amid_its_decision_stays_so(server: ServerClient, acme: Workspace) -> None:
    """There is no customer's row for which the two could wait."""
    (name,) = crowd(acme, 1)
    job_id = data(trigger(server, JourneyFactory.create(workspace=acme), {"external_id": name}))["jobId"]
    Customer.objects.all().delete()
    with transaction.atomic():
        assert server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job_id}").status_code == 200
        deciding = made_to_wait(serve_until_empty)
    deciding.result()
    job = job_of(server, acme.id, job_id)
    assert (job["status"], job["result"]) == ("cancelled", "cancelled")


def test_a_job_that_was_cancelled_before_it_is_given_up_stays_cancelled(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    counted: list[object] = []
    monkeypatch.setattr(metric_counters, "count", lambda *what: counted.append(what))
    (name,) = crowd(acme, 1)
    job_id = data(trigger(server, JourneyFactory.create(workspace=acme), {"external_id": name}))["jobId"]
    data(server.delete(f"/api/v1/journeys/{acme.id}/jobs/{job_id}"), status=200)
    cancelled = job_of(server, acme.id, job_id)
    assert cancelled["status"] == "cancelled"
    Chunk.objects.update(attempts=5)  # as if five workers had died with it
    serve_until_empty()
    assert job_of(server, acme.id, job_id) == cancelled
    assert counted == [(DECISIONS, "cancelled")]


@pytest.mark.slow
def test_no_step_follows_an_exit(server: ServerClient, acme: Workspace) -> None:
    names = crowd(acme, 2 * EXITS)
    journey = JourneyFactory.create(workspace=acme, steps=RESTLESS)
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_walk()
    wake_all()
    enrollments = list(Enrollment.objects.order_by("id").values_list("id", flat=True))
    steps_at_the_exit: dict[str, int] = {}

    def leave(enrollment_id: str) -> None:
        path = f"/api/v1/journeys/{acme.id}/enrollments/{enrollment_id}/exit"
        data(server.post(path, {"reason": "Enough."}), status=200)
        steps_at_the_exit[enrollment_id] = StepRun.objects.filter(enrollment_id=enrollment_id).count()

    def walk() -> None:
        for _ in range(10):
            walk_due(seconds=1)

    calls: list[Callable[[], None]] = [partial(leave, enrollment_id) for enrollment_id in enrollments[:EXITS]]
    all_at_once([walk, *calls, walk])
    wake_all()
    let_workers_walk()
    assert len(steps_at_the_exit) == EXITS
    for enrollment in Enrollment.objects.filter(id__in=steps_at_the_exit):
        assert (enrollment.state, enrollment.exit_reason, enrollment.due_at) == ("exited", "Enough.", None)
        runs = StepRun.objects.filter(enrollment=enrollment)
        assert runs.count() == enrollment.steps_begun == steps_at_the_exit[enrollment.id]
        assert not runs.filter(state="waiting").exists()
    assert Enrollment.objects.filter(state="active").count() == EXITS
    walked_on = Enrollment.objects.filter(state="active").order_by("steps_begun").first()
    assert walked_on is not None
    assert walked_on.steps_begun > len(RESTLESS)


def test_an_exit_amid_a_walk_waits_for_it(server: ServerClient, acme: Workspace) -> None:
    (name,) = crowd(acme, 1)
    journey = JourneyFactory.create(workspace=acme, steps=[{**YEAR, "id": "short", "for": "PT0S"}, YEAR])
    data(trigger(server, journey, {"external_id": name}))
    serve_until_empty()
    path = f"/api/v1/journeys/{acme.id}/enrollments/{Enrollment.objects.get().id}/exit"
    with transaction.atomic():
        walk_due(seconds=1)  # walked, and not committed yet
        leaving = made_to_wait(lambda: server.post(path, {"reason": "Enough."}))
    left = data(leaving.result(), status=200)
    assert (left["state"], left["stepId"]) == ("exited", "year")
    runs = StepRun.objects.order_by("ordinal").values_list("step_id", "state")
    assert list(runs) == [("short", "done"), ("year", "interrupted")]


def wake_all() -> None:
    """Everybody who is inside goes on at once."""
    with connection.cursor() as cursor:
        cursor.execute("UPDATE journeys_enrollment SET due_at = now() - interval '1 second' WHERE state = 'active'")
