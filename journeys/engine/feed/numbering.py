"""Readers give what was told its order (docs/decisions/18-the-feed-is-numbered-by-its-readers.md).

One reader of a workspace at a time numbers what is committed. Whoever reads meanwhile sees what was numbered before, so
all that anybody sees is a beginning of the same list. No reader waits for a transaction, however long it takes.

A call is complete once none of its jobs is queued, which is the work of no single transaction: those that decide its
last jobs may not see each other. So it is told here, behind the last of its decisions.
"""

from django.db import transaction

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.positions import MICROSECONDS
from engage.database.sql import Statement

_AT_ONCE = 2_000  # by one request: some 50 ms
_ANY = Statement(
    "SELECT EXISTS (SELECT FROM engage_feedbatch WHERE workspace_id = {workspace_id} AND position IS NULL)"
)
_ALONE = Statement("SELECT pg_try_advisory_xact_lock(hashtextextended('engage: feed of ' || {workspace_id}, 0))")
# Of one moment: if a call has no queued job, all of its decisions are there. Those that are left for the next time tell
# of it then; for them all that is left is read, but not for calls of one job, which have no other decision.
_NUMBER = Statement(
    """
WITH begun AS MATERIALIZED (
    SELECT greatest((
        SELECT position FROM engage_feedbatch, {in_index_order}
        WHERE workspace_id = {workspace_id} AND position IS NOT NULL ORDER BY position DESC LIMIT 1
    ) + 1, {now}) AS first
), fresh AS MATERIALIZED (
    SELECT id, serial, first + row_number() OVER (ORDER BY serial) AS position, type, journey_id, trigger_ids, at
    FROM begun, (
        SELECT id, serial, type, journey_id, trigger_ids, at FROM engage_feedbatch, {in_index_order}
        WHERE workspace_id = {workspace_id} AND position IS NULL ORDER BY serial LIMIT {most}
    ) AS ordered
), numbered AS (
    UPDATE engage_feedbatch batch SET position = fresh.position FROM fresh WHERE batch.id = ANY(ARRAY[fresh.id])
), decided AS MATERIALIZED (
    SELECT trigger_id, max(journey_id) AS journey_id, max(at) AS at
    FROM fresh CROSS JOIN LATERAL unnest(trigger_ids) AS called(trigger_id)
    WHERE type = 'job.decided' GROUP BY trigger_id
), completed AS (
    SELECT * FROM decided
    WHERE NOT EXISTS (
        SELECT FROM journeys_chunk chunk CROSS JOIN LATERAL (
            SELECT FROM journeys_enrollmentjob job
            WHERE job.trigger_id = chunk.trigger_id AND job.ordinal >= chunk.start AND job.ordinal < chunk.stop
              AND job.status = 'queued' LIMIT 1
        ) AS queued
        WHERE chunk.trigger_id = decided.trigger_id
    ) AND ((
        SELECT customers = 1 FROM journeys_trigger known WHERE known.id = decided.trigger_id
    ) IS TRUE OR trigger_id NOT IN (
        SELECT unnest(trigger_ids) FROM engage_feedbatch
        WHERE workspace_id = {workspace_id} AND position IS NULL AND type = 'job.decided'
          AND serial > (SELECT max(serial) FROM fresh)
    ))
), told AS (
    INSERT INTO engage_feedbatch (workspace_id, type, journey_id, at, size, trigger_ids, position)
    SELECT {workspace_id}, 'trigger.completed', journey_id, max(at), count(*), array_agg(trigger_id),
           (SELECT max(position) FROM fresh) + row_number() OVER (ORDER BY journey_id)
    FROM completed GROUP BY journey_id
)
SELECT count(*) FROM fresh
""",
    now=MICROSECONDS,
    in_index_order=IN_INDEX_ORDER,
)


def number_fresh(workspace_id: str) -> bool:
    """Numbers some of what has been told in the workspace since, unless another process does so at this moment; whether
    there may be more.
    """
    if not _ANY.column(workspace_id=workspace_id)[0]:
        return False
    with transaction.atomic():
        if not _ALONE.column(workspace_id=workspace_id)[0]:
            return False
        (numbered,) = _NUMBER.column(workspace_id=workspace_id, most=_AT_ONCE)
    return int(numbered) == _AT_ONCE
