"""Folding: deltas are deleted and added to the sums, in one statement. One process folds at a time."""

from django.db import transaction

from engage.database.sql import Statement

_MOST = 20_000
_ALONE = Statement("SELECT pg_try_advisory_xact_lock(hashtextextended('engage: fold counts', 0))")
# In one order of keys, like whatever else may lock several of them.
_FOLD = Statement("""
WITH taken AS MATERIALIZED (
    DELETE FROM journeys_countdelta WHERE id = ANY(ARRAY(
        SELECT id FROM journeys_countdelta ORDER BY id LIMIT {most} FOR UPDATE SKIP LOCKED
    ))
    RETURNING *
), folded AS (
    INSERT INTO journeys_count AS known
        (workspace_id, journey_id, grain, begin, revision_id, kind, name, outcome, number)
    SELECT workspace_id, journey_id, span.grain, span.begin, revision_id, kind, name, outcome, sum(number)
    FROM taken CROSS JOIN LATERAL (
        VALUES ('hour', hour), ('day', date_trunc('day', hour, 'UTC')), ('all', 'epoch'::timestamptz)
    ) AS span(grain, begin)
    GROUP BY workspace_id, journey_id, span.grain, span.begin, revision_id, kind, name, outcome
    ORDER BY journey_id, span.grain, span.begin, kind, name, outcome, revision_id
    ON CONFLICT (journey_id, grain, begin, kind, name, outcome, revision_id)
    DO UPDATE SET number = known.number + excluded.number
)
SELECT count(*) FROM taken
""")


def fold() -> int:
    """Folds the deltas that are there, some at a time, and returns how many; 0 if another process is folding."""
    total = 0
    while folded := _fold_some():
        total += folded
        if folded < _MOST:
            break
    return total


def _fold_some() -> int:
    with transaction.atomic():
        return int(_FOLD.column(most=_MOST)[0]) if _ALONE.column()[0] else 0
