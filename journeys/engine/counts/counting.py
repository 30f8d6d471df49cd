"""What a transaction adds to the counts: one statement beside the history that it writes, so both are always equal.

These are deltas, which are deleted and added to the sums now and then (`fold`), by one process at a time.

Both by one clock, or they would belong to two hours at the turn of an hour: what `write_counts` counts has the time of
the transaction in the history, and what a part of a statement counts the time of the statement.
"""

import json
from collections import Counter
from datetime import UTC, datetime, timedelta

from django.conf import settings
from django.db import transaction

from engage.database.sql import Rows, Statement
from engage.redis.metric_counters import EVENTS_MISSED, metric_counters
from journeys.models.counts import CountKind
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED

NO_REVISION = 0
# The workspace, the journey, the revision, the kind, and the name and outcome that it counts.
Key = tuple[str, str, int, str, str, str]

_WRITE = Statement(
    """
INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
SELECT workspace_id, journey_id, revision_id, date_trunc('hour', now(), 'UTC'), kind, name, outcome, number
FROM {deltas}
""",
    deltas=Rows(
        "delta",
        {
            "workspace_id": "text", "journey_id": "text", "revision_id": "bigint", "kind": "text", "name": "text",
            "outcome": "text", "number": "bigint",
        },
    ),
)  # fmt: skip


def write_counts(numbers: Counter[Key]) -> None:
    """Adds the numbers to the counts of this hour, within the caller's transaction."""
    if numbers:
        _WRITE.execute(deltas=[(*key, number) for key, number in numbers.items()])


def count_entries(*, workspace_id: str, journey_id: str, result: str, number: int = 1) -> None:
    """Adds decisions that enrolled nobody."""
    write_counts(Counter({(workspace_id, journey_id, NO_REVISION, CountKind.ENTRY.value, result, ""): number}))


# The counts of those in a relation `entered` who ended as they began, a part of the statement that enters them.
COUNT_ENDED_AT_ONCE = f"""
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT workspace_id, journey_id, revision_id, date_trunc('hour', statement_timestamp(), 'UTC'), 'edge', '{ENTRY}',
           CASE state WHEN 'completed' THEN '{COMPLETED}' ELSE '{EXITED}' END, count(*)
    FROM entered WHERE state <> 'active' GROUP BY workspace_id, journey_id, revision_id, state
"""  # noqa: S608

# The counts of those in a relation `ended` (of ids), a part of the statement that exits them.
COUNT_EXITS = f"""
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT inside.workspace_id, inside.journey_id, inside.revision_id,
           date_trunc('hour', statement_timestamp(), 'UTC'), way.kind, way.name, way.outcome, count(*)
    FROM ended
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = ended.id LIMIT 1) AS inside
    LEFT JOIN LATERAL (
        SELECT * FROM journeys_steprun known
        WHERE known.enrollment_id = inside.id AND known.ordinal = inside.steps_begun - 1 LIMIT 1
    ) AS last ON true
    CROSS JOIN LATERAL (
        VALUES ('edge', coalesce(last.step_id, '{ENTRY}'), '{EXITED}'), ('end', last.step_id, 'interrupted')
    ) AS way(kind, name, outcome)
    WHERE way.kind = 'edge' OR last.state = 'waiting'
    GROUP BY inside.workspace_id, inside.journey_id, inside.revision_id, way.kind, way.name, way.outcome
"""  # noqa: S608

# An enrollment counts, with all of its history, for the revision that it is in. So what was counted of those in a
# relation `moved` is taken from the revision that each `was` in, and given to the one that it has now, hour by hour.
# A part of the statement that moves them.
COUNT_MOVES = f"""
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT moved.workspace_id, moved.journey_id, side.revision_id, told.hour, told.kind, told.name, told.outcome,
           sum(side.number)
    FROM moved
    CROSS JOIN LATERAL (
        SELECT date_trunc('hour', job.decided_at, 'UTC') AS hour, 'entry' AS kind, job.result AS name, '' AS outcome
        FROM (SELECT * FROM journeys_enrollmentjob known WHERE known.id = moved.job_id LIMIT 1) AS job
        UNION ALL
        SELECT way.hour, way.kind, way.name, way.outcome
        FROM (
            SELECT ordinal, step_id, state, began_at, ended_at, lag(step_id) OVER runs AS last_step,
                   lag(ordinal) OVER runs AS last_ordinal
            FROM journeys_steprun known WHERE known.enrollment_id = moved.id WINDOW runs AS (ORDER BY ordinal)
        ) AS run
        CROSS JOIN LATERAL (
            VALUES ('edge', CASE WHEN run.ordinal = 0 THEN '{ENTRY}' WHEN run.last_ordinal = run.ordinal - 1
                            THEN run.last_step END, run.step_id, date_trunc('hour', run.began_at, 'UTC')),
                   ('end', CASE WHEN run.state <> 'waiting' THEN run.step_id END, run.state,
                    date_trunc('hour', run.ended_at, 'UTC'))
        ) AS way (kind, name, outcome, hour)
        WHERE way.name IS NOT NULL
        UNION ALL
        SELECT date_trunc('hour', watch.reached_at, 'UTC'), 'goal', watch.goal, outcome
        FROM (SELECT * FROM journeys_goalwatch known WHERE known.enrollment_id = moved.id OFFSET 0) AS watch
        CROSS JOIN LATERAL unnest(watch.counted) AS outcome
        WHERE watch.reached_at IS NOT NULL
    ) AS told
    CROSS JOIN LATERAL (VALUES (moved.was, -1), (moved.revision_id, 1)) AS side (revision_id, number)
    GROUP BY moved.workspace_id, moved.journey_id, side.revision_id, told.hour, told.kind, told.name, told.outcome
"""  # noqa: S608

# The counts of those in a relation `reached`, each as all that is `counted` of it; the end of the statement that notes
# it.
COUNT_GOALS = """
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT workspace_id, journey_id, revision_id, date_trunc('hour', statement_timestamp(), 'UTC'), 'goal', goal,
           outcome, count(*)
    FROM reached CROSS JOIN LATERAL unnest(counted) AS outcome
    GROUP BY workspace_id, journey_id, revision_id, goal, outcome
"""

_MOST_FOLDED = 20_000
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
    WHERE span.grain <> 'hour' OR span.begin >= {since}
    GROUP BY workspace_id, journey_id, span.grain, span.begin, revision_id, kind, name, outcome
    ORDER BY journey_id, span.grain, span.begin, kind, name, outcome, revision_id
    ON CONFLICT (journey_id, grain, begin, kind, name, outcome, revision_id)
    DO UPDATE SET number = known.number + excluded.number
)
SELECT (SELECT count(*) FROM taken), (
    SELECT coalesce(jsonb_object_agg(name, number), '{}') FROM (
        SELECT name, sum(number) AS number FROM taken WHERE kind = 'event' GROUP BY name
    ) AS missed
)
""")


def _kept_since() -> datetime:
    """From when on hours are kept: what is counted of a time before, as by moves, counts by the day alone."""
    days = settings.RETAIN_HOURLY_COUNTS_DAYS
    since = datetime.now(UTC) - timedelta(days=days) if days else datetime(1970, 1, 1, tzinfo=UTC)
    return since.replace(hour=0, minute=0, second=0, microsecond=0)


def fold() -> int:
    """Folds the deltas that are there, some at a time, and returns how many; 0 if another process is folding.

    The metrics count here which events have started nothing, at no cost for whoever records them.
    """
    total = 0
    while folded := _fold_some():
        total += folded
        if folded < _MOST_FOLDED:
            break
    return total


def _fold_some() -> int:
    with transaction.atomic():
        ((folded, missed),) = _FOLD.rows(most=_MOST_FOLDED, since=_kept_since()) if _ALONE.column()[0] else ((0, "{}"),)
    for reason, number in json.loads(missed).items():
        metric_counters.count(EVENTS_MISSED, reason, by=int(number))
    return int(folded)
