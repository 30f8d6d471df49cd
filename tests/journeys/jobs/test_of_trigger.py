"""Finding the few jobs of a large trigger that have a result: only what may have it is read."""

import pytest
from django.db import connection

from engage.models import Workspace
from journeys.engine.entering import queueing
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.jobs.of_trigger import WantedJobs, trigger_jobs_page
from journeys.models import Chunk, EnrollmentJob, Journey, Trigger, TriggerProgress
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import SegmentFactory, crowd
from tests.support.plans import note_statistics, rows_gone_through

BLOCK, NUMBER = 500, 3_000
RARE = (7, 1_003, 1_004, 2_999)  # the ordinals of jobs that failed
FAILED = WantedJobs(result="failed")


@pytest.fixture
def large(server: ServerClient, acme: Workspace, journey: Journey, monkeypatch: pytest.MonkeyPatch) -> Trigger:
    """A queued trigger that counts as large."""
    monkeypatch.setattr(queueing, "LARGE_TRIGGER", NUMBER)
    segment = SegmentFactory.create(workspace=acme)
    crowd(acme, NUMBER, segment=segment)
    answer = trigger(server, journey, {"segment_ids": [segment.id]}, headers={"Prefer": "return=minimal"})
    queued = Trigger.objects.get(id=data(answer)["triggerId"])
    assert queued.keeps_progress
    return queued


@pytest.fixture
def decided(large: Trigger) -> Trigger:
    EnrollmentJob.objects.filter(trigger=large, ordinal__in=RARE).update(status="failed", result="failed")
    let_workers_decide()
    return large


def ordinals(of: Trigger, wanted: WantedJobs, *, limit: int = 100) -> list[int]:
    """Those of all pages."""
    found, after = [], -1
    while True:
        page = trigger_jobs_page(
            workspace_id=of.workspace_id, trigger_id=of.id, wanted=wanted, after=after, limit=limit
        )
        found += [job.ordinal for job in page.jobs]
        if page.last is None:
            return found
        assert len(page.jobs) == limit
        assert page.last == found[-1]
        after = page.last


@pytest.mark.slow
@pytest.mark.parametrize("limit", [1, 2, 3, 4, 5])
def test_the_few_are_found_page_by_page(decided: Trigger, limit: int) -> None:
    assert ordinals(decided, FAILED, limit=limit) == list(RARE)
    assert ordinals(decided, WantedJobs(status="failed"), limit=limit) == list(RARE)
    assert ordinals(decided, WantedJobs(status="decided", result="failed"), limit=limit) == []


@pytest.mark.slow
def test_those_between_are_found_as_well(decided: Trigger) -> None:
    others = [ordinal for ordinal in range(NUMBER) if ordinal not in RARE]
    assert ordinals(decided, WantedJobs(result="enrolled"), limit=999) == others
    assert ordinals(decided, WantedJobs(), limit=1000) == list(range(NUMBER))


def test_what_still_waits_is_found(large: Trigger) -> None:
    serve_lane(lane=Chunk.Lane.BULK, named=(large.id, 1000), seconds=0)
    waiting = [*range(1000), *range(1500, NUMBER)]
    assert ordinals(large, WantedJobs(status="queued"), limit=1000) == waiting
    assert ordinals(large, WantedJobs(status="decided")) == list(range(1000, 1500))
    assert ordinals(large, WantedJobs(status="queued", result="enrolled")) == []


def test_no_more_is_read_than_the_blocks_that_have_one(decided: Trigger) -> None:
    note_statistics()
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_bitmapscan = off")  # in such a plan each row is counted twice
    for wanted in (FAILED, WantedJobs(status="queued"), WantedJobs(result="enrolled"), WantedJobs()):
        with rows_gone_through() as seen:
            trigger_jobs_page(
                workspace_id=decided.workspace_id, trigger_id=decided.id, wanted=wanted, after=-1, limit=20
            )
        sql, rows = max(seen.items(), key=lambda item: item[1])
        assert rows < 2_000, f"{wanted}: {rows:,} rows by {sql}"


def test_what_was_noted_before_there_were_blocks_is_found_too(decided: Trigger) -> None:
    TriggerProgress.objects.filter(trigger=decided).update(block=None)
    assert ordinals(decided, FAILED, limit=3) == list(RARE)


@pytest.mark.slow
def test_a_block_whose_jobs_are_pruned_ends_no_page(decided: Trigger, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("journeys.engine.jobs.of_trigger._BLOCKS_AT_ONCE", 1)
    EnrollmentJob.objects.filter(trigger=decided, ordinal__lt=2 * BLOCK).delete()
    assert ordinals(decided, FAILED, limit=2) == list(RARE[1:])
