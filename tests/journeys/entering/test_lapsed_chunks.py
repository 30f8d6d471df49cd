"""A chunk is worked on by whoever claimed it last, and not before it is due."""

from concurrent.futures import ThreadPoolExecutor
from datetime import timedelta
from threading import Event

import pytest
from django.db import connection, transaction
from django.utils import timezone

from journeys.engine.entering.chunks import ClaimedChunk, claim_chunk
from journeys.engine.entering.claims import claim_next_chunks
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.entering.settling import settle
from journeys.models import Chunk, EnrollmentJob, Journey
from journeys.rules.failures import MAX_ATTEMPTS
from tests.journeys.standstill import standing_still_while
from tests.support.calls import data, trigger
from tests.support.clients import ServerClient
from tests.support.factories import crowd
from tests.support.simultaneous import elsewhere

pytestmark = pytest.mark.django_db(transaction=True)


def serve_once() -> None:
    serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)


@pytest.mark.parametrize("by_name", [True, False])
def test_whoever_claims_a_chunk_has_it_alone_for_a_second(
    server: ServerClient, journey: Journey, by_name: bool
) -> None:
    trigger_id = data(trigger(server, journey, {"external_ids": crowd(journey.workspace, 1)}))["triggerId"]
    before = timezone.now()
    claimed = claim_chunk(trigger_id=trigger_id, start=0) if by_name else claim_next_chunks(lane=Chunk.Lane.BULK)
    assert [chunk.attempts for chunk in claimed] == [1]
    assert Chunk.objects.get().due_at >= before + timedelta(seconds=1)


def test_a_message_that_comes_again_finds_no_chunk_that_is_held_back(server: ServerClient, journey: Journey) -> None:
    names = crowd(journey.workspace, 1)
    trigger_id = data(trigger(server, journey, {"external_ids": names}))["triggerId"]
    assert len(claim_next_chunks(lane=Chunk.Lane.BULK)) == 1
    Chunk.objects.update(due_at="2100-01-01T00:00Z")  # held back for longer than a busy machine takes
    before = Chunk.objects.values().get()
    assert not serve_lane(lane=Chunk.Lane.BULK, named=(trigger_id, 0), seconds=0).anything
    assert Chunk.objects.values().get() == before
    assert EnrollmentJob.objects.get().status == "queued"


def test_a_claim_that_came_a_moment_too_late_does_not_keep_a_chunk_from_its_worker(
    server: ServerClient, journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """It has locked the row before it finds that the chunk is not due any more, and commits only then."""
    data(trigger(server, journey, {"external_ids": crowd(journey.workspace, 1)}))
    claimed = claim_next_chunks(lane=Chunk.Lane.BULK)
    locked, to_commit = Event(), Event()

    def come_too_late() -> None:
        with transaction.atomic():
            Chunk.objects.select_for_update().get()
            locked.set()
            assert to_commit.wait(10)
        connection.close()

    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(come_too_late)
        assert locked.wait(10)

        def pause(_: float) -> None:
            to_commit.set()
            other.result()

        monkeypatch.setattr("journeys.engine.entering.chunks.time.sleep", pause)
        assert settle(claimed).decided == 1
    assert not Chunk.objects.exists()


def test_nobody_waits_for_a_chunk_that_another_worker_is_at(server: ServerClient, journey: Journey) -> None:
    names = crowd(journey.workspace, 2)
    first, second = (data(trigger(server, journey, {"external_ids": [name]}))["triggerId"] for name in names)
    with transaction.atomic():
        claimed = Chunk.objects.select_for_update().get(trigger_id=first)
        assert elsewhere(lambda: claim_chunk(trigger_id=first, start=0)) == []
        assert [chunk.trigger_id for chunk in elsewhere(lambda: claim_next_chunks(lane=Chunk.Lane.BULK))] == [second]
        held = ClaimedChunk(
            id=claimed.id, workspace_id=journey.workspace_id, trigger_id=first, start=0, stop=1, lane="bulk", attempts=1
        )
        assert elsewhere(lambda: settle([held])).decided == 0
    assert EnrollmentJob.objects.filter(status="queued").count() == 2


def test_a_chunk_that_another_has_given_up_is_not_given_up_again(server: ServerClient, journey: Journey) -> None:
    data(trigger(server, journey, {"external_ids": crowd(journey.workspace, 1)}))
    Chunk.objects.update(attempts=MAX_ATTEMPTS)
    with standing_still_while(serve_once):
        serve_once()
    assert EnrollmentJob.objects.get().status == "failed"
    assert not Chunk.objects.exists()


def test_a_chunk_that_another_has_split_since_is_not_split_once_more(server: ServerClient, journey: Journey) -> None:
    data(trigger(server, journey, {"external_ids": crowd(journey.workspace, 8)}))
    Chunk.objects.update(attempts=1)  # as if a worker had died with it
    with standing_still_while(serve_once):
        serve_once()
    chunks = Chunk.objects.order_by("start").values_list("start", "stop", "attempts")
    assert list(chunks) == [(0, 4, 0), (4, 8, 0)]
