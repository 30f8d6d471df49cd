"""Work that waits: claiming a chunk of jobs, retrying it, splitting it, giving up on one job.

1. A claim is a committed statement: it counts the attempt and holds the chunk back for a moment. So a worker that dies
   leaves a trace, and no other worker takes the chunk between the claim and the lock.
2. A worker locks the chunk's row, and deletes it in the transaction that decides its jobs. If it dies, its connection
   closes and the lock is released.
3. A chunk that was tried before is split in halves, each tried afresh, until a poisonous job is alone in its chunk.
4. A job alone is tried five times, with growing pauses; then it has failed, and its reason says why. A failure that
   might affect any work does not count as an attempt.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass

from django.contrib.postgres.functions import TransactionNow
from django.db import transaction
from django.db.models.functions import Now

from engage.database.sql import Statement
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.engine.counts.counting import count_entries
from journeys.engine.jobs.forgetting import forget_payloads_of_erased
from journeys.models import Chunk, EnrollmentJob
from journeys.rules.failures import SNOOZE_SECONDS, pause_after, why_given_up

SECONDS_BETWEEN_TURNS = 0.1  # how far apart the turns of one call's chunks are
_CLAIM_SECONDS = 0.05  # a claim takes less, commit included


@dataclass(frozen=True, kw_only=True)
class ClaimedChunk:
    """The jobs of a trigger from ordinal `start` to before `stop`; `attempts` counts this one."""

    id: int
    workspace_id: str
    trigger_id: str
    start: int
    stop: int
    lane: str
    attempts: int

    @property
    def size(self) -> int:
        return self.stop - self.start


# By an array: with IN, the planner may go through all chunks and select this one again for each.
_CLAIM = Statement("""
UPDATE journeys_chunk SET attempts = attempts + 1, due_at = now() + interval '1 second'
WHERE id = ANY(ARRAY(
    SELECT id FROM journeys_chunk
    WHERE trigger_id = {trigger_id} AND start = {start} AND due_at <= now() FOR UPDATE SKIP LOCKED
))
RETURNING id, workspace_id, trigger_id, start, stop, lane, attempts
""")


def claim_chunk(*, trigger_id: str, start: int) -> list[ClaimedChunk]:
    """This chunk, if it is due and no other worker has it; otherwise an empty list."""
    return _CLAIM.fetch(ClaimedChunk, trigger_id=trigger_id, start=start)


def lock_chunks(chunks: Sequence[ClaimedChunk]) -> list[ClaimedChunk]:
    """Those of the chunks that still exist and that no other worker holds, locked until the transaction ends.

    The transaction then waits only shortly for other locks: it holds those of a chunk's customers meanwhile. What is
    tried again may have been held up, and waits hardly.

    Another worker's claim that came a moment too late has locked the row as well before it found that it is not due any
    more, and keeps the lock until it commits. So a chunk that is missing is looked for once more.
    """
    wait = "100ms" if chunks[0].attempts > 1 else "500ms"
    locked = _lock([chunk.id for chunk in chunks], wait=wait)
    if missing := [chunk.id for chunk in chunks if chunk.id not in locked]:
        time.sleep(_CLAIM_SECONDS)
        locked |= _lock(missing, wait=wait)
    return [chunk for chunk in chunks if chunk.id in locked]


_LOCK = Statement("""
SELECT id, set_config('lock_timeout', {wait}, true) FROM journeys_chunk
WHERE id = ANY({ids}::bigint[]) FOR UPDATE SKIP LOCKED
""")


def _lock(ids: Sequence[int], *, wait: str) -> set[int]:
    return {row["id"] for row in _LOCK.records(ids=list(ids), wait=wait)}


def remove_chunks(chunks: Sequence[ClaimedChunk]) -> None:
    """Deletes chunks whose jobs are decided."""
    Chunk.objects.filter(id__in=[chunk.id for chunk in chunks]).delete()


def split_chunk(chunk: ClaimedChunk) -> None:
    """Replaces a chunk of more than one job by two halves, each due at once and without counted attempts."""
    middle = chunk.start + chunk.size // 2
    with transaction.atomic():
        whole = Chunk.objects.select_for_update(skip_locked=True).filter(id=chunk.id, stop=chunk.stop).first()
        if whole is None:
            return
        Chunk.objects.create(
            workspace_id=whole.workspace_id, trigger_id=whole.trigger_id, start=middle, stop=whole.stop,
            lane=whole.lane, turn_at=whole.turn_at, due_at=Now(), error=whole.error,
        )  # fmt: skip
        Chunk.objects.filter(id=whole.id).update(stop=middle, attempts=0, due_at=Now())


_RETRY = Statement(
    """
UPDATE journeys_chunk SET error = {error}::text, due_at = now() + CASE WHEN stop - start = 1 THEN {pause} ELSE '0' END
WHERE id = ANY({ids}::bigint[])
""",
    pause=pause_after("attempts"),
)


def retry(chunks: Sequence[ClaimedChunk], *, error: str) -> None:
    """Records why an attempt failed. A job alone waits before the next; a larger chunk is due at once, to be split."""
    _RETRY.execute(error=error, ids=[chunk.id for chunk in chunks])


# The attempt does not count, but at least one is kept, so that the job is still tried alone.
_SNOOZE = Statement("""
UPDATE journeys_chunk SET error = {error}, attempts = greatest(attempts - 1, 1),
    due_at = now() + make_interval(secs => {seconds})
WHERE id = {id}
""")


def snooze(chunk: ClaimedChunk, *, error: str, seconds: float = SNOOZE_SECONDS) -> None:
    """Records why the chunk's one job could not be decided, if that may be no fault of the job.

    It is retried for as long as it takes, always alone: if it is at fault after all, it costs other jobs nothing.
    """
    _SNOOZE.execute(error=error, seconds=seconds, id=chunk.id)


def give_up(chunk: ClaimedChunk) -> str | None:
    """Marks the chunk's one job as failed for good; its reason, which is returned, holds the last error.

    None if it was not there any more to fail.
    """
    with transaction.atomic():
        waiting = Chunk.objects.select_for_update(skip_locked=True).filter(id=chunk.id).first()
        if waiting is None:
            return None
        reason = why_given_up(waiting.error, at="deciding")
        jobs = EnrollmentJob.objects.filter(trigger_id=chunk.trigger_id, ordinal=chunk.start)
        failed = jobs.filter(status=EnrollmentJob.Status.QUEUED).update(
            status=EnrollmentJob.Status.FAILED,
            result=EnrollmentJob.Result.FAILED,
            reason=reason,
            decided_at=TransactionNow(),
        )
        if failed:
            count_entries(
                workspace_id=waiting.workspace_id,
                journey_id=waiting.trigger.journey_id,
                result=EnrollmentJob.Result.FAILED.value,
            )
        forget_payloads_of_erased([chunk.trigger_id])
        waiting.delete()
    if not failed:  # it was cancelled meanwhile
        return None
    metric_counters.count(DECISIONS, EnrollmentJob.Result.FAILED.value)
    return reason
