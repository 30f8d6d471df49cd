"""What is queued for an aborted journey is decided: as `journey_inactive`, at once, also what is scheduled for later.

Whoever decides jobs holds the row of their chunk, as here; a chunk that another process holds is decided by that. What
a call that had begun before the abort queues behind it is decided so when it is due (journey.aborted_serial).
"""

import time
from collections.abc import Iterator, Sequence

from django.db import transaction

from engage.database.sql import Statement
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.engine.counts.counting import count_entries
from journeys.engine.jobs.forgetting import forget_payloads_of_erased
from journeys.models import CHUNK_SIZE, Journey
from journeys.rules.entry_rules import SWITCHED_OFF

_MOST_FOUND = 10_000  # chunks

_FIND = Statement("""
SELECT chunk.id, chunk.stop - chunk.start FROM journeys_chunk chunk
CROSS JOIN LATERAL (SELECT journey_id FROM journeys_trigger known WHERE known.id = chunk.trigger_id LIMIT 1) AS trigger
WHERE chunk.workspace_id = {workspace_id} AND trigger.journey_id = {journey_id} LIMIT {most}
""")
_DECIDE = Statement("""
WITH chunks AS MATERIALIZED (
    SELECT id, trigger_id, start, stop FROM journeys_chunk WHERE id = ANY({ids}::bigint[])
    ORDER BY id FOR UPDATE SKIP LOCKED
), removed AS (
    DELETE FROM journeys_chunk WHERE id = ANY(ARRAY(SELECT id FROM chunks))
), decided AS (
    UPDATE journeys_enrollmentjob SET status = 'decided', result = {result}, reason = {reason}, decided_at = now()
    WHERE id = ANY(ARRAY(
        SELECT job.id FROM chunks CROSS JOIN LATERAL (
            SELECT id FROM journeys_enrollmentjob queued
            WHERE queued.trigger_id = chunks.trigger_id AND queued.ordinal >= chunks.start
              AND queued.ordinal < chunks.stop AND queued.status = 'queued' LIMIT chunks.stop - chunks.start
        ) AS job
    )) AND status || '' = 'queued'
    RETURNING 1
)
SELECT (SELECT count(*) FROM decided), ARRAY(SELECT DISTINCT trigger_id FROM chunks)
""")


def decide_queued(journey: Journey, *, until: float) -> bool:
    """Decides what is queued, piece by piece, for at most so long; whether nothing is left. Safe to run twice."""
    whose = {"workspace_id": journey.workspace_id, "journey_id": journey.id, "most": _MOST_FOUND}
    for ids in _pieces(_FIND.rows(**whose)):
        if time.monotonic() >= until:
            return False
        _decide(journey, ids)
    return not _FIND.rows(**whose)


def _pieces(chunks: Sequence[tuple[int, int]]) -> Iterator[list[int]]:
    """Of as many jobs as are decided together, or of one chunk."""
    ids, jobs = list[int](), 0
    for chunk_id, size in chunks:
        if ids and jobs + size > CHUNK_SIZE:
            yield ids
            ids, jobs = [], 0
        ids.append(chunk_id)
        jobs += size
    if ids:
        yield ids


def _decide(journey: Journey, chunk_ids: Sequence[int]) -> None:
    result = SWITCHED_OFF.verdict.value
    with transaction.atomic():
        ((decided, trigger_ids),) = _DECIDE.rows(ids=list(chunk_ids), result=result, reason=SWITCHED_OFF.reason)
        if decided:
            count_entries(workspace_id=journey.workspace_id, journey_id=journey.id, result=result, number=decided)
            forget_payloads_of_erased(trigger_ids)
    if decided:
        metric_counters.count(DECISIONS, result, by=decided)
