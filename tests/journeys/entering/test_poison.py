"""A job that cannot be decided fails alone, with its error; its neighbours are decided."""

import time
from collections.abc import Iterator
from types import SimpleNamespace

import pytest
from django.db import OperationalError, connection
from django.db.models.functions import Now
from django.utils import timezone
from structlog.testing import capture_logs

from customers.models import Customer
from engage.models import Workspace
from journeys import tasks
from journeys.engine.entering.claims import claim_next_chunks
from journeys.engine.entering.lanes import serve_lane
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey
from journeys.rules.failures import MAX_ATTEMPTS
from journeys.tasks import enroll
from tests.support.calls import data, job_of, trigger
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = [f"person-{n}" for n in range(100)]


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    Customer.objects.bulk_create(Customer(workspace=acme, external_id=name) for name in NAMES)
    return JourneyFactory.create(workspace=acme)


@pytest.fixture
def poisonous(journey: Journey) -> Iterator[Customer]:
    """Whoever tries to enroll this one meets an error in the database."""
    customer = Customer.objects.get(external_id="person-42")
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'poisoned' USING DETAIL = 'ada@example.com'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER poison BEFORE INSERT ON journeys_enrollment FOR EACH ROW "
            f"WHEN (NEW.customer_id = '{customer.id}') EXECUTE FUNCTION poison()"
        )
    yield customer
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER poison ON journeys_enrollment; DROP FUNCTION poison()")


def serve_without_waiting(rounds: int = 20) -> int:
    """Serves the lanes as time passes, without the waits between attempts; how many rounds it took."""
    for number in range(rounds):
        if not Chunk.objects.exists():
            return number
        Chunk.objects.update(due_at="2020-01-01T00:00Z")
        for lane in Chunk.Lane:
            serve_lane(lane=lane, named=None, seconds=20)
    raise AssertionError("Something still waits.")


@pytest.mark.slow
def test_a_poisonous_job_fails_alone_with_its_error(
    server: ServerClient, journey: Journey, poisonous: Customer
) -> None:
    answered = data(trigger(server, journey, {"external_ids": NAMES}))
    serve_without_waiting()
    assert Enrollment.objects.count() == 99
    assert EnrollmentJob.objects.filter(status="decided", result="enrolled").count() == 99
    job_id = next(job_id for job_id in answered["jobIds"] if poisonous.id in job_id)
    job = job_of(server, journey.workspace_id, job_id)
    assert (job["status"], job["result"], job["enrollmentId"]) == ("failed", "failed", None)
    assert job["reason"] == "Given up after 5 attempts: ProgrammingError: poisoned"
    counts = data(server.get(f"/api/v1/journeys/{journey.workspace_id}/triggers/{answered['triggerId']}"), status=200)
    assert (counts["decided"], counts["failed"]) == (99, 1)


def test_halves_of_a_failed_chunk_keep_its_turn(server: ServerClient, journey: Journey, poisonous: Customer) -> None:
    data(trigger(server, journey, {"external_ids": NAMES[40:44]}))
    turn_at = Chunk.objects.get().turn_at
    for _ in ("fails", "is split"):
        serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)
        assert not Chunk.objects.filter(due_at__gt=Now()).exists()
    halves = Chunk.objects.order_by("start").values_list("start", "stop", "turn_at", "error")
    assert list(halves) == [(n, n + 2, turn_at, "ProgrammingError: poisoned") for n in (0, 2)]


def test_what_the_database_refuses_is_no_outage(server: ServerClient, journey: Journey, poisonous: Customer) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE OR REPLACE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN RAISE EXCEPTION 'poisoned' USING ERRCODE = 'program_limit_exceeded'; END $$"
        )
    job_id = data(trigger(server, journey, {"external_id": poisonous.external_id}))["jobId"]
    serve_without_waiting()
    reason = job_of(server, journey.workspace_id, job_id)["reason"]
    assert reason == "Given up after 5 attempts: OperationalError: poisoned"


@pytest.mark.slow
def test_the_neighbours_of_a_poisonous_job_in_a_burst_do_not_wait_for_one_another(
    server: ServerClient, journey: Journey, poisonous: Customer, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker's turn is over after a second; to gather others before each would take ten of them."""
    for name in NAMES:
        data(trigger(server, journey, {"external_id": name}))
    serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=0)
    assert not Enrollment.objects.exists()
    Chunk.objects.update(due_at="2020-01-01T00:00Z")
    pauses: list[float] = []
    monkeypatch.setattr(tasks, "time", SimpleNamespace(monotonic=time.monotonic, sleep=pauses.append))
    monkeypatch.setattr(tasks, "_LANE_SECONDS", 60.0)
    enroll(lane="single", trigger_id=None, start=None)
    assert Enrollment.objects.count() == 99
    assert len(pauses) <= 2


WHAT_MAY_BEFALL_ANY = ["disk_full", "read_only_sql_transaction", "insufficient_privilege", "undefined_column"]


def poison_with(condition: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE OR REPLACE FUNCTION poison() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '{condition}'; END $$"
        )


@pytest.mark.parametrize("condition", WHAT_MAY_BEFALL_ANY)
@pytest.mark.parametrize("form", ["burst", "bulk"])
def test_a_job_is_not_given_up_for_what_may_befall_any_and_its_neighbours_are_decided(
    server: ServerClient, journey: Journey, poisonous: Customer, condition: str, form: str
) -> None:
    poison_with(condition)
    if form == "bulk":
        data(trigger(server, journey, {"external_ids": NAMES[40:45]}))
    else:
        for name in NAMES[40:45]:
            data(trigger(server, journey, {"external_id": name}))
    for _ in range(3 * MAX_ATTEMPTS):
        Chunk.objects.update(due_at="2020-01-01T00:00Z")
        for lane in Chunk.Lane:
            serve_lane(lane=lane, named=None, seconds=1)
    assert EnrollmentJob.objects.filter(result="enrolled").count() == 4
    chunk = Chunk.objects.get()
    assert (chunk.stop - chunk.start, chunk.attempts) == (1, 1)  # as tried, so that it stays alone
    assert "no room" in chunk.error
    assert chunk.due_at > timezone.now()  # nobody runs against it without a pause
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE journeys_enrollment DISABLE TRIGGER poison")
    serve_without_waiting()
    assert EnrollmentJob.objects.filter(result="enrolled").count() == 5


def test_what_is_put_off_often_is_traced_once(server: ServerClient, journey: Journey, poisonous: Customer) -> None:
    poison_with("disk_full")
    data(trigger(server, journey, {"external_id": poisonous.external_id}))
    with capture_logs() as lines:
        for _ in range(3):
            Chunk.objects.update(due_at="2020-01-01T00:00Z")
            serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=0)
    assert [(line["event"], line["exc_info"]) for line in lines] == [
        ("job_snoozed", True),
        ("job_snoozed", False),
        ("job_snoozed", False),
    ]
    assert all(line["error"] == "OperationalError: no room" for line in lines)


def test_what_a_lost_connection_decided_is_tried_again(
    server: ServerClient, journey: Journey, poisonous: Customer
) -> None:
    poison_with("admin_shutdown")
    data(trigger(server, journey, {"external_id": poisonous.external_id}))
    with pytest.raises(OperationalError, match="no room"):
        serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=0)
    assert Chunk.objects.get().error == ""


def test_a_poisonous_single_does_not_spoil_the_burst_that_it_came_in(
    server: ServerClient, journey: Journey, poisonous: Customer
) -> None:
    for name in NAMES[40:45]:
        data(trigger(server, journey, {"external_id": name}))
    serve_without_waiting()
    assert EnrollmentJob.objects.filter(status="decided", result="enrolled").count() == 4
    assert EnrollmentJob.objects.get(status="failed").customer_id == poisonous.id


def test_one_job_alone_is_tried_ever_later(server: ServerClient, journey: Journey, poisonous: Customer) -> None:
    data(trigger(server, journey, {"external_id": poisonous.external_id}))
    waits = []
    for _ in range(5):
        Chunk.objects.update(due_at="2020-01-01T00:00Z")
        serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=0)
        with connection.cursor() as cursor:
            cursor.execute("SELECT extract(epoch FROM due_at - now()), attempts FROM journeys_chunk")
            waits.append(cursor.fetchone())
    assert [attempts for _, attempts in waits] == [1, 2, 3, 4, 5]
    for (wait, _), expected in zip(waits, (1, 2, 4, 8, 0), strict=True):
        assert expected - 1 < wait <= expected  # the last is given up at once


def test_work_that_a_dead_worker_claimed_is_split_and_at_last_given_up(server: ServerClient, journey: Journey) -> None:
    """A worker that dies leaves nothing but the count of its claim."""
    data(trigger(server, journey, {"external_ids": NAMES[:2]}))
    assert [chunk.size for chunk in claim_next_chunks(lane=Chunk.Lane.BULK)] == [2]
    Chunk.objects.update(due_at="2020-01-01T00:00Z")
    serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)  # sees that it was tried before: splits it
    assert list(Chunk.objects.order_by("start").values_list("start", "stop", "attempts")) == [(0, 1, 0), (1, 2, 0)]
    Chunk.objects.filter(start=1).update(attempts=5)  # as if five workers had died with it
    serve_without_waiting()
    assert EnrollmentJob.objects.get(ordinal=0).result == "enrolled"
    assert EnrollmentJob.objects.get(ordinal=1).reason == (
        "Given up after 5 attempts: the worker died while deciding it."
    )
