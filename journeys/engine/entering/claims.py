"""Whose turn it is in a lane: the workspaces that wait there take turns, however much each has queued.

1. The workspaces are found by skipping through the index from one to the next, however many chunks each of them has.
   Each process goes round them: it begins after the last one that it served.
2. In the single lane many are served together, each with an equal share of CHUNK_SIZE jobs; in the bulk lane one after
   the other. Among a workspace's own chunks, `turn_at` decides.
3. Fresh chunks are taken together, up to a chunk's worth of jobs: a burst of single triggers is one piece of work. One
   that was tried before is taken alone, so that it cannot spoil others.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Statement
from journeys.engine.entering.chunks import ClaimedChunk
from journeys.models import CHUNK_SIZE, Chunk
from journeys.rules.job_ids import job_id

# The workspace that this process served last in each lane.
_last: dict[Chunk.Lane, str] = {}

_NEXT_WORKSPACE = """
    SELECT workspace_id, stop - start AS size, attempts FROM journeys_chunk, {in_index_order}
    WHERE lane = {lane} AND workspace_id > before.workspace_id AND due_at <= now()
    ORDER BY workspace_id, turn_at LIMIT 1
"""

# Only what is looked at is locked, and what is looked at is nearly always taken: other workers would find less to do.
_CLAIM = Statement(
    """
WITH RECURSIVE turn AS (
    (SELECT found.* FROM (VALUES ({last}), ('')) AS before(workspace_id)
     CROSS JOIN LATERAL ({next}) AS found LIMIT 1)
    UNION ALL
    SELECT found.* FROM turn AS before CROSS JOIN LATERAL ({next}) AS found
), served AS MATERIALIZED (
    SELECT *, row_number() OVER () AS place, count(*) OVER () AS number
    FROM (SELECT * FROM turn LIMIT {workspaces}) AS first
), looked_at AS MATERIALIZED (
    SELECT chunk.*, served.place, row_number() OVER (PARTITION BY served.place ORDER BY turn_at, chunk.id) AS nth
    FROM served CROSS JOIN LATERAL (
        SELECT id, attempts, stop - start AS size, turn_at FROM journeys_chunk, {in_index_order}
        WHERE lane = {lane} AND workspace_id = served.workspace_id AND due_at <= now()
        ORDER BY turn_at
        LIMIT CASE WHEN served.attempts > 0 THEN 1 ELSE greatest(1, {jobs} / greatest(served.size, served.number)) END
        FOR UPDATE OF journeys_chunk SKIP LOCKED
    ) AS chunk
), ranked AS (
    SELECT id, attempts, row_number() OVER in_turn AS place, sum(size) OVER in_turn AS jobs,
           first_value(attempts) OVER in_turn AS attempts_at_first
    FROM looked_at WINDOW in_turn AS (ORDER BY nth, place)
)
UPDATE journeys_chunk SET attempts = attempts + 1, due_at = now() + interval '1 second'
WHERE id = ANY(ARRAY(
    SELECT id FROM ranked WHERE place = 1 OR jobs <= {jobs} AND attempts = 0 AND attempts_at_first = 0
))
RETURNING id, workspace_id, trigger_id, start, stop, lane, attempts
""",
    next=_NEXT_WORKSPACE,
    in_index_order=IN_INDEX_ORDER,
)


def claim_next_chunks(*, lane: Chunk.Lane) -> list[ClaimedChunk]:
    """The lane's next piece of work: at most CHUNK_SIZE jobs, or one chunk; empty if nothing is due."""
    last = _last.get(lane, "")
    workspaces = 1 if lane is Chunk.Lane.BULK else CHUNK_SIZE
    claimed = _CLAIM.fetch(ClaimedChunk, lane=lane.value, last=last, workspaces=workspaces, jobs=CHUNK_SIZE)
    if served := {chunk.workspace_id for chunk in claimed}:
        _last[lane] = max(served, key=lambda workspace_id: (workspace_id <= last, workspace_id))
    return claimed


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


_DUE = Statement(
    """
SELECT chunk.lane, job.journey_id, job.customer_id, job.queued_ms
FROM unnest({lanes}::text[]) AS wanted(lane)
CROSS JOIN LATERAL (
    SELECT lane, trigger_id, start, workspace_id, turn_at FROM journeys_chunk, {in_index_order}
    WHERE lane = wanted.lane AND due_at <= now() - {seconds} * interval '1 second'
    ORDER BY workspace_id, turn_at LIMIT {most}
) AS chunk
JOIN journeys_enrollmentjob job ON job.trigger_id = chunk.trigger_id AND job.ordinal = chunk.start
ORDER BY chunk.lane, chunk.workspace_id, chunk.turn_at
""",
    in_index_order=IN_INDEX_ORDER,
)


def due_chunks(*, most: int, seconds: float = 0.0, lanes: Sequence[Chunk.Lane] = tuple(Chunk.Lane)) -> list[DueChunk]:
    """At most `most` chunks of each lane that have been due for `seconds`, lane by lane and in turn."""
    return _DUE.fetch(DueChunk, lanes=[lane.value for lane in lanes], seconds=seconds, most=most)
