"""Two lanes, turns within one, wake-ups that a burst shares, and a number of statements that does not grow."""

from collections.abc import Callable
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
import redis
import structlog
from django.db import connection, transaction
from django.db.models import F
from django.test.utils import CaptureQueriesContext

from customers.models import Customer, Segment
from engage.models import Workspace
from journeys.engine import wakeups
from journeys.engine.entering.claims import claim_next_chunks, due_chunks
from journeys.engine.entering.lanes import serve_lane
from journeys.models import Chunk, EnrollmentJob, Journey
from journeys.tasks import enroll, sweep
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, task_ids, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory, SegmentFactory, crowd
from tests.support.simultaneous import all_at_once

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue"), pytest.mark.journey(allow_reenrollment=True)]


@pytest.fixture
def everybody(acme: Workspace) -> Segment:
    segment = SegmentFactory.create(workspace=acme)
    crowd(acme, 3000, segment=segment)
    return segment


@pytest.fixture
def ten(acme: Workspace) -> list[str]:
    return crowd(acme, 10)


def test_the_single_lane_leaves_bulk_work_alone(server: ServerClient, journey: Journey, everybody: Segment) -> None:
    data(trigger(server, journey, {"segment_ids": [everybody.id]}))
    single = data(trigger(server, journey, {"external_id": "user-1"}))
    serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=5)
    assert EnrollmentJob.objects.get(trigger_id=single["triggerId"]).status == "decided"
    assert EnrollmentJob.objects.filter(status="queued").count() == 3000


@pytest.mark.django_db(transaction=True)
def test_a_small_call_takes_its_turn_before_the_end_of_a_large_one(
    server: ServerClient, journey: Journey, everybody: Segment
) -> None:
    large = data(trigger(server, journey, {"segment_ids": [everybody.id]}))["triggerId"]
    small = data(trigger(server, journey, {"external_ids": ["user-1"]}))["triggerId"]
    came_150_ms_after(Chunk.objects.get(trigger_id=small), large)
    turns = []
    while claimed := claim_next_chunks(lane=Chunk.Lane.BULK):
        turns += [chunk.trigger_id for chunk in claimed]
    assert turns == [large, large, small, large, large, large, large]


def came_150_ms_after(small: Chunk, large_id: str) -> None:
    """As if the second call had come so soon, however busy the machine is."""
    first = Chunk.objects.filter(trigger_id=large_id).order_by("turn_at")[0]
    moved = small.turn_at - timedelta(milliseconds=150) - first.turn_at
    Chunk.objects.filter(trigger_id=large_id).update(turn_at=F("turn_at") + moved)


@pytest.mark.django_db(transaction=True)
def test_a_burst_of_singles_shares_a_wake_up_until_a_worker_begins(
    server: ServerClient, journey: Journey, ten: list[str], queue: "redis.Redis"
) -> None:
    first, *_ = [data(trigger(server, journey, {"external_id": f"user-{n}"})) for n in range(5)]
    assert task_ids(queue, "single") == [first["jobId"]]
    queue.delete("single")  # a worker takes it
    enroll(lane="single", trigger_id=first["triggerId"], start=0)
    assert not EnrollmentJob.objects.filter(status="queued").exists()
    later = data(trigger(server, journey, {"external_id": "user-9"}))
    assert task_ids(queue, "single") == [later["jobId"]]


@pytest.mark.django_db(transaction=True)
def test_a_job_needs_no_message_while_a_worker_stays_at_the_lane(
    server: ServerClient, journey: Journey, ten: list[str], queue: "redis.Redis"
) -> None:
    wakeups.stay_at_single_lane()
    data(trigger(server, journey, {"external_id": "user-1"}))
    assert task_ids(queue, "single") == []
    wakeups.leave_single_lane()
    later = data(trigger(server, journey, {"external_id": "user-2"}))
    assert task_ids(queue, "single") == [later["jobId"]]


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("look", [1, 2, 3])
def test_a_job_that_comes_just_after_a_look_of_the_worker_is_decided_or_has_a_message_of_its_own(
    server: ServerClient, acme: Workspace, journey: Journey, queue: "redis.Redis", look: int
) -> None:
    """The worker looks for the job that it is named after, then for others, and for the last time as it leaves."""
    crowd(acme, 2)
    first = data(trigger(server, journey, {"external_id": "user-0"}))
    assert task_ids(queue, "single") == [first["jobId"]]
    queue.delete("single")  # the worker takes it
    looks = count(1)
    later: list[str] = []

    def call() -> str:
        job_id = str(data(trigger(server, journey, {"external_id": "user-1"}))["jobId"])
        wakeups.wake_now()
        return job_id

    def call_after_the_look(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        looked = execute(sql, *rest)
        if "UPDATE journeys_chunk SET attempts" in sql and next(looks) == look:
            later.extend(all_at_once([call]))
        return looked

    with connection.execute_wrapper(call_after_the_look):
        enroll(lane="single", trigger_id=first["triggerId"], start=0)
    waiting = [job.job_id for job in EnrollmentJob.objects.filter(status="queued")]
    assert len(later) == 1
    assert set(waiting) <= set(task_ids(queue, "single"))


def test_nobody_relies_for_long_on_a_worker_that_has_died(queue: "redis.Redis") -> None:
    for begin in (wakeups.stay_at_single_lane, wake_single_lane):
        queue.flushdb()
        begin()
        assert 0 < int(str(queue.pttl("engage:single-lane-pending"))) <= 500


def wake_single_lane() -> None:
    wakeups.wake_for_single(trigger_id="f" * 24, job_id="enroll-1")
    wakeups.wake_now()


@pytest.mark.django_db(transaction=True)
def test_a_bulk_call_wakes_a_task_per_chunk_named_after_its_first_job(
    server: ServerClient, journey: Journey, everybody: Segment, queue: "redis.Redis"
) -> None:
    answered = data(trigger(server, journey, {"segment_ids": [everybody.id]}))
    assert task_ids(queue, "bulk") == answered["jobIds"][::500]


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_task_that_still_waits_does_for_one_of_the_next_call(
    server: ServerClient, journey: Journey, everybody: Segment, queue: "redis.Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.tasks._LANE_SECONDS", 60.0)  # enough for all, however busy the machine is
    small = data(trigger(server, journey, {"external_ids": ["user-1"]}))
    large = data(trigger(server, journey, {"segment_ids": [everybody.id]}))
    assert task_ids(queue, "bulk") == [small["jobIds"][0], *large["jobIds"][500::500]]
    named = {"trigger_id": small["triggerId"], "start": 0}
    enroll(lane="bulk", **named)
    assert not EnrollmentJob.objects.filter(status="queued").exists()


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("steps", "woken"), [([], 0), ([{"id": "day", "type": "delay", "for": "P1D"}], 1)])
def test_a_walker_is_woken_where_somebody_has_entered_who_may_walk_on(
    server: ServerClient, acme: Workspace, ten: list[str], queue: "redis.Redis", steps: list[dict[str, Any]], woken: int
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    single = data(trigger(server, journey, {"external_id": "user-1"}))
    enroll(lane="single", trigger_id=single["triggerId"], start=0)
    assert len(task_ids(queue, "walk")) == woken


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize(("event", "woken"), [("ordered", 1), ("looked", 0)])
def test_a_walker_is_woken_by_an_event_that_somebody_waits_for(
    server: ServerClient, acme: Workspace, ten: list[str], queue: "redis.Redis", event: str, woken: int
) -> None:
    step = {"id": "wait", "type": "wait_for_event", "event": "ordered", "timeout": "P3D"}
    data(trigger(server, JourneyFactory.create(workspace=acme, steps=[step]), {"external_id": "user-1"}))
    let_workers_walk()
    data(server.post(customers_path(acme, "events"), {"external_id": "user-1", "eventName": event}))
    assert len(task_ids(queue, "walk")) == woken


@pytest.mark.django_db(transaction=True)
def test_an_event_that_starts_a_journey_wakes_a_task_named_after_its_job(
    server: ServerClient, acme: Workspace, ten: list[str], queue: "redis.Redis"
) -> None:
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered")
    data(server.post(customers_path(acme, "events"), {"external_id": "user-1", "eventName": "ordered"}))
    assert task_ids(queue, "single") == [EnrollmentJob.objects.get().job_id]


@pytest.mark.django_db(transaction=True)
def test_nobody_is_woken_before_the_commit(
    server: ServerClient, journey: Journey, ten: list[str], queue: "redis.Redis"
) -> None:
    with transaction.atomic():
        single = data(trigger(server, journey, {"external_id": "user-1"}))
        bulk = data(trigger(server, journey, {"external_ids": ["user-2"]}, headers={"Idempotency-Key": "1"}))
        assert task_ids(queue, "single") == task_ids(queue, "bulk") == []
    assert (task_ids(queue, "single"), task_ids(queue, "bulk")) == ([single["jobId"]], bulk["jobIds"])


@pytest.mark.django_db(transaction=True)
def test_nobody_is_woken_for_an_event_before_the_commit(
    server: ServerClient, acme: Workspace, ten: list[str], queue: "redis.Redis"
) -> None:
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered")
    with transaction.atomic():
        data(server.post(customers_path(acme, "events"), {"external_id": "user-1", "eventName": "ordered"}))
        assert task_ids(queue, "single") == []
    assert task_ids(queue, "single") == [EnrollmentJob.objects.get().job_id]


def test_who_serves_a_lane_tells_of_walks_that_an_earlier_piece_of_work_began(
    server: ServerClient, acme: Workspace, journey: Journey, ten: list[str]
) -> None:
    stops = JourneyFactory.create(workspace=acme, steps=[{"id": "day", "type": "delay", "for": "P1D"}])
    for entered in (stops, journey):  # the other one completes at once
        data(trigger(server, entered, {"external_ids": ["user-1"]}))
    assert serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=60).due.walk
    assert not Chunk.objects.exists()


def test_who_leaves_the_bulk_lane_hands_on_what_still_waits(
    server: ServerClient, journey: Journey, everybody: Segment, queue: "redis.Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.tasks._LANE_SECONDS", 0.0)
    bulk = data(trigger(server, journey, {"segment_ids": [everybody.id]}))
    handed_on = []
    for _ in range(6):
        queue.delete("bulk")
        enroll(lane="bulk", trigger_id=None, start=None)
        handed_on.append(task_ids(queue, "bulk"))
    assert handed_on == [*([job_id] for job_id in bulk["jobIds"][500::500]), []]
    assert not Chunk.objects.exists()


@pytest.mark.django_db(transaction=True)  # or all jobs would have one and the same turn
@pytest.mark.parametrize("attempts", [0, 1])
def test_who_leaves_the_single_lane_wakes_somebody_for_a_backlog(
    server: ServerClient,
    journey: Journey,
    ten: list[str],
    queue: "redis.Redis",
    monkeypatch: pytest.MonkeyPatch,
    attempts: int,
) -> None:
    """Of jobs that were tried before, and are tried one by one now, or of more than a turn takes at once."""
    monkeypatch.setattr("journeys.tasks._LANE_SECONDS", 0.0)
    jobs = [data(trigger(server, journey, {"external_id": f"user-{n}"}))["jobId"] for n in range(4)]
    # Not before the first call, which may load modules that take the constant along.
    monkeypatch.setattr("journeys.engine.entering.claims.CHUNK_SIZE", 1)
    Chunk.objects.update(attempts=attempts, due_at="2020-01-01T00:00Z")
    task_ids(queue, "single")
    queue.delete("single")
    enroll(lane="single", trigger_id=None, start=None)
    assert task_ids(queue, "single") == [jobs[3]]
    queue.delete("single")
    enroll(lane="single", trigger_id=None, start=None)
    assert not Chunk.objects.exists()
    assert task_ids(queue, "single") == []


def test_who_leaves_the_single_lane_wakes_nobody_for_what_has_just_come(
    server: ServerClient, journey: Journey, ten: list[str], queue: "redis.Redis", monkeypatch: pytest.MonkeyPatch
) -> None:
    """Or each turn under a steady load would lead to two."""
    monkeypatch.setattr("journeys.tasks._LANE_SECONDS", 0.0)
    monkeypatch.setattr("journeys.tasks._BACKLOG_SECONDS", 60.0)
    for n in range(4):
        data(trigger(server, journey, {"external_id": f"user-{n}"}))
    monkeypatch.setattr("journeys.engine.entering.claims.CHUNK_SIZE", 1)
    task_ids(queue, "single")
    queue.delete("single")
    enroll(lane="single", trigger_id=None, start=None)
    assert Chunk.objects.count() == 1
    assert task_ids(queue, "single") == []


@pytest.mark.slow
def test_the_sweeper_wakes_for_what_has_waited_too_long_and_for_nothing_else(
    server: ServerClient, journey: Journey, everybody: Segment, queue: "redis.Redis"
) -> None:
    single = data(trigger(server, journey, {"external_id": "user-1"}))
    bulk = data(trigger(server, journey, {"segment_ids": [everybody.id]}))
    queue.delete("single", "bulk")
    sweep()
    assert task_ids(queue, "single") == task_ids(queue, "bulk") == []
    Chunk.objects.update(due_at="2020-01-01T00:00Z")
    sweep()
    assert task_ids(queue, "single") == [single["jobId"]]
    assert task_ids(queue, "bulk") == bulk["jobIds"][::500][:4]
    sweep()  # what still waits does for it
    assert (queue.llen("single"), queue.llen("bulk")) == (1, 4)
    let_workers_decide()
    assert due_chunks(most=4, seconds=1.0) == []


def test_a_decision_finds_room_beside_its_job(server: ServerClient, journey: Journey, everybody: Segment) -> None:
    """Then no index is touched."""
    data(trigger(server, journey, {"segment_ids": [everybody.id]}))
    queued = pages_of_jobs()
    let_workers_decide()
    decided = pages_of_jobs()
    assert sum(queued[job] == page for job, page in decided.items()) > 0.99 * len(queued)


def pages_of_jobs() -> dict[int, int]:
    """On which page of the table each job's row stands."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT id, (ctid::text::point)[0]::int FROM journeys_enrollmentjob")
        return dict(cursor.fetchall())


@each("number", [1, 500])
def test_a_chunk_costs_the_same_number_of_statements_whatever_its_size(
    server: ServerClient, journey: Journey, everybody: Segment, number: int
) -> None:
    Journey.objects.update(entry_conditions={"field": "customer.external_id", "op": "exists"})
    data(trigger(server, journey, {"external_ids": [f"user-{n}" for n in range(number)]}))
    with CaptureQueriesContext(connection) as captured:
        serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)
    assert EnrollmentJob.objects.filter(result="enrolled").count() == number
    assert Customer.objects.count() == 3000
    # Claim; begin; lock chunks, lock customers, read jobs, read journeys, ask conditions; write entries, decisions and
    # counts, end the chunk; commit.
    assert len(captured) == 12


def test_a_task_says_in_its_log_lines_who_it_is_and_nothing_of_the_one_before() -> None:
    with structlog.contextvars.bound_contextvars(task="enroll", request_id="of-another"):
        sweep.apply(task_id="t-1")
        assert structlog.contextvars.get_contextvars() == {"task": "sweep", "task_id": "t-1"}
