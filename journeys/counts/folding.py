"""Folding: deltas are deleted and added to the sums, in one statement. One process folds at a time."""

from django.db import connection, transaction

_MOST = 20_000
_ALONE = "SELECT pg_try_advisory_xact_lock(hashtextextended('engage: fold counts', 0))"
# In one order of keys, like whatever else may lock several of them.
_FOLD = """
WITH taken AS MATERIALIZED (
    DELETE FROM journeys_countdelta WHERE id = ANY(ARRAY(
        SELECT id FROM journeys_countdelta ORDER BY id LIMIT %s FOR UPDATE SKIP LOCKED
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
"""


def fold() -> int:
    """Folds the deltas that are there, some at a time, and returns how many; 0 if another process is folding."""
    total = 0
    while folded := _fold_some():
        total += folded
        if folded < _MOST:
            break
    return total


def _fold_some() -> int:
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(_ALONE)
        if not cursor.fetchone()[0]:
            return 0
        cursor.execute(_FOLD, [_MOST])
        return int(cursor.fetchone()[0])
