"""In both lanes the workspaces take turns: nobody waits for another tenant's crowd, however large it is."""

from collections.abc import Iterator

import pytest
import redis
from django.db import connection

from engage.models import Workspace
from journeys.engine.entering import claims as turns
from journeys.engine.entering.chunks import ClaimedChunk
from journeys.engine.entering.claims import claim_next_chunks, due_chunks
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.walking import walk_due
from journeys.models import CHUNK_SIZE, Chunk, EnrollmentJob, Journey
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, task_ids, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory, crowd
from tests.support.plans import note_statistics, rows_gone_through

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue"), pytest.mark.journey(allow_reenrollment=True)]

_WAITING = """
WITH tenant AS (
    INSERT INTO engage_workspace (id, key, name)
    SELECT left(md5(%(name)s || n), 24), %(name)s || n, 'Tenant' FROM generate_series(1, %(tenants)s) n RETURNING id
), journey AS (
    INSERT INTO journeys_journey
        (id, workspace_id, key, name, active, trigger_type, event_name, revision, allow_reenrollment, created_at,
         updated_at)
    SELECT left(md5(id), 24), id, 'one', 'One', true, 'api', '', 1, true, now(), now() FROM tenant
    RETURNING id, workspace_id
), trigger AS (
    INSERT INTO journeys_trigger (id, workspace_id, journey_id, form, payload, customers, request_id, queued_at)
    SELECT left(md5(id || n), 24), workspace_id, id, 'single', '{}', 1, '', now()
    FROM journey, generate_series(1, %(each)s) n RETURNING id, workspace_id
)
INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
SELECT workspace_id, id, 0, 1, %(lane)s, now(), now(), 0, '' FROM trigger
"""


def waiting(*, tenants: int, each: int, lane: str = "single", name: str = "tenant") -> None:
    """So many new workspaces, each with chunks of one job."""
    with connection.cursor() as cursor:
        cursor.execute(_WAITING, {"tenants": tenants, "each": each, "lane": lane, "name": name})


MOST_ROWS = 40 * CHUNK_SIZE  # over all nodes of a claim's plan


@pytest.fixture(autouse=True)
def _nobody_was_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_last", {})


@pytest.fixture
def rivals_journey(rival: Workspace) -> Journey:
    CustomerFactory.create(workspace=rival, external_id="bob")
    return JourneyFactory.create(workspace=rival)


def owners(claimed: list[ClaimedChunk]) -> list[str]:
    found = Chunk.objects.in_bulk([chunk.id for chunk in claimed])
    return [found[chunk.id].workspace_id for chunk in claimed]


def claims(lane: Chunk.Lane) -> Iterator[list[ClaimedChunk]]:
    while claimed := claim_next_chunks(lane=lane):
        yield claimed


def test_one_single_trigger_is_taken_with_the_first_of_another_tenants_thousands(
    server: ServerClient, rival_server: ServerClient, journey: Journey, rivals_journey: Journey
) -> None:
    waiting(tenants=3, each=2 * CHUNK_SIZE)
    data(trigger(rival_server, rivals_journey, {"external_id": "bob"}))
    first = claim_next_chunks(lane=Chunk.Lane.SINGLE)
    assert owners(first).count(rivals_journey.workspace_id) == 1
    assert len(first) <= CHUNK_SIZE
    assert len(set(owners(first))) == 4


def test_large_calls_of_two_tenants_take_turns(
    server: ServerClient, rival_server: ServerClient, journey: Journey, rivals_journey: Journey
) -> None:
    crowd(journey.workspace, 3000)
    for _ in range(2):
        data(trigger(server, journey, {"external_ids": [f"user-{n}" for n in range(1000)]}))
    data(trigger(rival_server, rivals_journey, {"external_ids": ["bob"]}))
    order = [owner for claimed in claims(Chunk.Lane.BULK) for owner in owners(claimed)]
    assert len(order) == 5
    assert rivals_journey.workspace_id in order[:2]


def test_a_thousand_tenants_with_a_job_each_are_served_together_and_each_once() -> None:
    waiting(tenants=1000, each=1)
    with rows_gone_through() as seen:
        taken = [{chunk.id for chunk in claimed} for claimed in claims(Chunk.Lane.SINGLE)]
    assert [len(ids) for ids in taken] == [CHUNK_SIZE, CHUNK_SIZE]
    assert len(set.union(*taken)) == 1000
    assert max(seen.values()) < MOST_ROWS


@pytest.mark.slow
@pytest.mark.parametrize("lane", list(Chunk.Lane))
@pytest.mark.parametrize("noted", ["when all was done", "when all were there"])
@pytest.mark.parametrize("joins", ["hashing", "comparing"])
def test_a_claim_reads_no_more_than_it_takes(lane: Chunk.Lane, noted: str, joins: str) -> None:
    with connection.cursor() as cursor:
        if joins == "comparing":
            cursor.execute("SET LOCAL enable_hashjoin = off")
            cursor.execute("SET LOCAL enable_mergejoin = off")
        waiting(tenants=300, each=1, lane=lane, name="former")
        note_statistics("journeys_chunk")
        cursor.execute("DELETE FROM journeys_chunk")
        if noted == "when all was done":
            note_statistics("journeys_chunk")
            cursor.execute("SELECT reltuples, relpages > 0 FROM pg_class WHERE relname = 'journeys_chunk'")
            assert cursor.fetchone() == (0, True)
        waiting(tenants=1, each=10_000, lane=lane, name="large")
        waiting(tenants=300, each=1, lane=lane)
        if noted == "when all were there":
            note_statistics("journeys_chunk")
    with rows_gone_through() as seen:
        served = {owner for _ in range(3) for owner in owners(claim_next_chunks(lane=lane))}
        due_chunks(most=4)
    assert len(served) == (301 if lane is Chunk.Lane.SINGLE else 3)
    assert max(rows for sql, rows in seen.items() if "ORDER BY workspace_id" in sql) < MOST_ROWS


def test_what_a_dead_worker_left_is_tried_between_others(rival_server: ServerClient, rivals_journey: Journey) -> None:
    waiting(tenants=1, each=50)
    assert len(claim_next_chunks(lane=Chunk.Lane.SINGLE)) == 50
    time_passes(seconds=2)
    for _ in range(3):
        data(trigger(rival_server, rivals_journey, {"external_id": "bob"}))
    first, second = (claim_next_chunks(lane=Chunk.Lane.SINGLE) for _ in range(2))
    sizes = {owners(claimed)[0]: len(claimed) for claimed in (first, second)}
    assert sizes.pop(rivals_journey.workspace_id) == 3
    assert list(sizes.values()) == [1]


# Events in crowds ----------------------------------------------------------------------------------------------------


@pytest.fixture
def starting(acme: Workspace) -> list[Journey]:
    return [JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered") for _ in range(5)]


def report(server: ServerClient, workspace: Workspace, number: int) -> None:
    events = [{"external_id": f"user-{n}", "eventName": "ordered"} for n in range(number)]
    assert data(server.post(customers_path(workspace, "events"), {"events": events}))["recorded"] == number


@pytest.mark.django_db(transaction=True)
def test_a_report_that_starts_many_journeys_leaves_the_single_lane_to_others(
    server: ServerClient,
    rival_server: ServerClient,
    acme: Workspace,
    starting: list[Journey],
    rivals_journey: Journey,
    queue: "redis.Redis",
) -> None:
    crowd(acme, 240)
    report(server, acme, 240)
    single = data(trigger(rival_server, rivals_journey, {"external_id": "bob"}))
    serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=0)
    assert list(EnrollmentJob.objects.exclude(status="queued").values_list("trigger_id", flat=True)) == [
        single["triggerId"]
    ]
    jobs = [job.job_id for job in EnrollmentJob.objects.filter(workspace=acme).order_by("id")]
    assert task_ids(queue, "bulk") == jobs[::CHUNK_SIZE]
    let_workers_decide()
    assert EnrollmentJob.objects.filter(workspace=acme, result="enrolled").count() == 1200


def test_a_crowd_of_events_is_decided_by_the_chunk_and_takes_turns_with_a_call(
    server: ServerClient, acme: Workspace, journey: Journey, starting: list[Journey]
) -> None:
    crowd(acme, 240)
    report(server, acme, 240)
    call = data(trigger(server, journey, {"external_ids": ["user-0"]}))["triggerId"]
    Chunk.objects.filter(trigger_id=call).update(turn_at=Chunk.objects.earliest("turn_at").turn_at)
    pieces = [[chunk.trigger_id for chunk in claimed] for claimed in claims(Chunk.Lane.BULK)]
    assert [len(piece) for piece in pieces] == [CHUNK_SIZE, CHUNK_SIZE, 201]
    assert call in pieces[0] + pieces[1]
    assert len(set(Chunk.objects.values_list("turn_at", flat=True))) == 3


def test_an_event_that_starts_a_few_journeys_goes_to_the_single_lane(
    server: ServerClient, acme: Workspace, starting: list[Journey]
) -> None:
    crowd(acme, 2)
    report(server, acme, 2)
    assert set(Chunk.objects.values_list("lane", flat=True)) == {"single"}


def test_many_started_journeys_leave_a_lane_free(
    server: ServerClient, acme: Workspace, starting: list[Journey]
) -> None:
    tell = JourneyFactory.create(workspace=acme, steps=[{"id": "tell", "type": "track_event", "eventName": "ordered"}])
    data(trigger(server, tell, {"external_ids": crowd(acme, 20)}))
    serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=60)
    walk_due(seconds=60)
    assert Chunk.objects.filter(lane="bulk").count() == 100
    let_workers_walk()
    assert EnrollmentJob.objects.filter(result="enrolled").count() == 120
