"""Work that waits: claiming chunks of jobs, retrying them, splitting them, giving up on one job.

1. A claim is a committed statement: it counts the attempt and holds the chunk back for a moment. So a worker that dies
   leaves a trace, and no other takes the chunk between the claim and the lock.
2. The work locks the chunk's row, and deletes it in the transaction that decides its jobs. A worker that dies frees
   the lock with its connection.
3. A chunk that was tried before is split in halves, each tried afresh, until a poisonous job stands alone.
4. One job alone is tried five times, ever later; then it has failed, and its reason says why. An attempt whose failure
   might befall any work does not count.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models.functions import Now

from engage.metric_counters import DECISIONS, metric_counters
from journeys.failures import PUT_OFF, pause_after, why_given_up
from journeys.forgetting import forget_payloads_of_erased
from journeys.job_ids import job_id
from journeys.models import Chunk, EnrollmentJob

CHUNK_SIZE = 500
SECONDS_BETWEEN_TURNS = 0.1  # how far apart the turns of one call's chunks are


@dataclass(frozen=True, kw_only=True)
class ClaimedChunk:
    """The jobs of a trigger from ordinal `start` to before `stop`; `attempts` counts this one."""

    id: int
    trigger_id: str
    start: int
    stop: int
    attempts: int

    @property
    def size(self) -> int:
        return self.stop - self.start


_CLAIM_NAMED = """
UPDATE journeys_chunk SET attempts = attempts + 1, due_at = now() + interval '1 second'
WHERE id IN (
    SELECT id FROM journeys_chunk
    WHERE trigger_id = %(trigger_id)s AND start = %(start)s AND due_at <= now() FOR UPDATE SKIP LOCKED
)
RETURNING id, trigger_id, start, stop, attempts
"""

# Fresh chunks are taken together up to a chunk's worth of jobs (a burst of single triggers is one piece of work);
# one that was tried before is taken alone, so that it cannot spoil others.
_CLAIM_NEXT = """
WITH waiting AS MATERIALIZED (
    SELECT id, attempts, stop - start AS size, turn_at FROM journeys_chunk
    WHERE lane = %(lane)s AND due_at <= now() ORDER BY turn_at LIMIT %(most)s FOR UPDATE SKIP LOCKED
), ranked AS (
    SELECT id, sum(size) OVER in_turn AS jobs, row_number() OVER in_turn AS place,
           bool_or(attempts > 0) OVER in_turn AS spoiled
    FROM waiting WINDOW in_turn AS (ORDER BY turn_at, id)
)
UPDATE journeys_chunk SET attempts = attempts + 1, due_at = now() + interval '1 second'
WHERE id = ANY(ARRAY(SELECT id FROM ranked WHERE place = 1 OR jobs <= %(size)s AND NOT spoiled))
RETURNING id, trigger_id, start, stop, attempts
"""


def claim_chunk(*, trigger_id: str, start: int) -> list[ClaimedChunk]:
    """This chunk, if it is due and nobody works on it; else nothing."""
    return _claim(_CLAIM_NAMED, {"trigger_id": trigger_id, "start": start})


def claim_next_chunks(*, lane: Chunk.Lane) -> list[ClaimedChunk]:
    """The lane's next piece of work, in turn: at most CHUNK_SIZE jobs; empty where nothing is due.

    The bulk lane looks at one chunk only: whoever looks holds a lock, and the others would find less to do.
    """
    most = 1 if lane is Chunk.Lane.BULK else CHUNK_SIZE
    return _claim(_CLAIM_NEXT, {"lane": lane.value, "most": most, "size": CHUNK_SIZE})


def _claim(statement: str, parameters: dict[str, Any]) -> list[ClaimedChunk]:
    with connection.cursor() as cursor:
        cursor.execute(statement, parameters)
        return [
            ClaimedChunk(id=row[0], trigger_id=row[1], start=row[2], stop=row[3], attempts=row[4])
            for row in cursor.fetchall()
        ]


def lock_chunks(chunks: Sequence[ClaimedChunk]) -> list[ClaimedChunk]:
    """Those of the chunks that are still there and that nobody else works on, locked until the transaction ends."""
    locked = set(
        Chunk.objects.select_for_update(skip_locked=True)
        .filter(id__in=[chunk.id for chunk in chunks])
        .values_list("id", flat=True)
    )
    return [chunk for chunk in chunks if chunk.id in locked]


def remove_chunks(chunks: Sequence[ClaimedChunk]) -> None:
    """The chunks' jobs are decided: nothing waits any more."""
    Chunk.objects.filter(id__in=[chunk.id for chunk in chunks]).delete()


def split_chunk(chunk: ClaimedChunk) -> None:
    """Puts two halves in the place of a chunk of more than one job, each to be tried at once and afresh."""
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


_HOLD_BACK = """
UPDATE journeys_chunk SET error = %s::text, due_at = now() + CASE WHEN stop - start = 1 THEN {pause} ELSE '0' END
WHERE id = ANY(%s::bigint[])
""".replace("{pause}", pause_after("attempts"))


def hold_back(chunks: Sequence[ClaimedChunk], *, error: str) -> None:
    """Notes why an attempt failed. One job alone waits before the next one; a larger chunk is split at once."""
    with connection.cursor() as cursor:
        cursor.execute(_HOLD_BACK, [error, [chunk.id for chunk in chunks]])


_PUT_OFF = """
UPDATE journeys_chunk SET error = %s, {put_off} WHERE id = %s
""".replace("{put_off}", PUT_OFF)


def put_off(chunk: ClaimedChunk, *, error: str) -> None:
    """Notes why the one job of the chunk could not be decided, where that may be no fault of it.

    It is tried for as long as it takes, and goes on to be tried alone: if it is its fault, it costs no other anything.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PUT_OFF, [error, chunk.id])


def give_up(chunk: ClaimedChunk) -> None:
    """The one job of the chunk has failed for good; its reason holds the last error."""
    with transaction.atomic():
        waiting = Chunk.objects.select_for_update(skip_locked=True).filter(id=chunk.id).first()
        if waiting is None:
            return
        reason = why_given_up(waiting.error, at="deciding")
        jobs = EnrollmentJob.objects.filter(trigger_id=chunk.trigger_id, ordinal=chunk.start)
        jobs.filter(status=EnrollmentJob.Status.QUEUED).update(
            status=EnrollmentJob.Status.FAILED, result=EnrollmentJob.Result.FAILED, reason=reason, decided_at=Now()
        )
        forget_payloads_of_erased([chunk.trigger_id])
        waiting.delete()
    metric_counters.count(DECISIONS, EnrollmentJob.Result.FAILED.value)


@dataclass(frozen=True, kw_only=True)
class DueChunk:
    """A chunk that waits for a worker, with the parts of its first job's id."""

    lane: str
    journey_id: str
    customer_id: str
    queued_ms: int

    @property
    def first_job(self) -> str:
        """The id of its first job."""
        return job_id(journey_id=self.journey_id, customer_id=self.customer_id, queued_ms=self.queued_ms)


_DUE = """
SELECT chunk.lane, job.journey_id, job.customer_id, job.queued_ms
FROM unnest(%(lanes)s::text[]) AS wanted(lane)
CROSS JOIN LATERAL (
    SELECT lane, trigger_id, start, turn_at FROM journeys_chunk
    WHERE lane = wanted.lane AND due_at <= now() - %(seconds)s * interval '1 second'
    ORDER BY turn_at LIMIT %(most)s
) AS chunk
JOIN journeys_enrollmentjob job ON job.trigger_id = chunk.trigger_id AND job.ordinal = chunk.start
ORDER BY chunk.lane, chunk.turn_at
"""


def due_chunks(*, most: int, seconds: float = 0.0, lanes: Sequence[Chunk.Lane] = tuple(Chunk.Lane)) -> list[DueChunk]:
    """At most `most` chunks of each lane that have been due for so many seconds, lane by lane, earliest turn first."""
    with connection.cursor() as cursor:
        cursor.execute(_DUE, {"lanes": [lane.value for lane in lanes], "seconds": seconds, "most": most})
        return [
            DueChunk(lane=row[0], journey_id=row[1], customer_id=row[2], queued_ms=row[3]) for row in cursor.fetchall()
        ]
