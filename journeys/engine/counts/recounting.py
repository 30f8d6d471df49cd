"""The counts as the history tells them: for what happened before there were counts, and to compare the two.

Each statement sees history and counts as of one moment, and whoever writes the one commits the other with it. So the
difference is what was never counted, whatever happens meanwhile.
"""

from django.db import transaction

from engage.database.sql import Statement
from journeys.steps.kinds import COMPLETED, ENTRY, EXITED

# The relation `told`: what the history has to be counted.
# A row for each key and hour: decided jobs; runs by where they came from, and those that have ended; the ends of
# enrollments by their last run; goals that were reached.
HISTORY = f"""
told AS (
    SELECT job.workspace_id, job.journey_id, coalesce(enrollment.revision_id, 0) AS revision_id,
           date_trunc('hour', job.decided_at, 'UTC') AS hour, 'entry' AS kind, job.result AS name, '' AS outcome
    FROM journeys_enrollmentjob job LEFT JOIN journeys_enrollment enrollment ON enrollment.job_id = job.id
    WHERE job.status <> 'queued' AND (job.result <> 'enrolled' OR enrollment.id IS NOT NULL)
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', run.began_at, 'UTC'), 'edge',
           CASE WHEN run.ordinal = 0 THEN '{ENTRY}' ELSE before.step_id END, run.step_id
    FROM journeys_steprun run JOIN journeys_enrollment enrollment ON enrollment.id = run.enrollment_id
    LEFT JOIN journeys_steprun before
      ON before.enrollment_id = run.enrollment_id AND before.ordinal = run.ordinal - 1
    WHERE (run.ordinal = 0 OR before.id IS NOT NULL)
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', run.ended_at, 'UTC'), 'end', run.step_id, run.state
    FROM journeys_steprun run JOIN journeys_enrollment enrollment ON enrollment.id = run.enrollment_id
    WHERE run.state <> 'waiting'
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', enrollment.ended_at, 'UTC'), 'edge',
           CASE WHEN enrollment.steps_begun = 0 THEN '{ENTRY}' ELSE last.step_id END,
           CASE enrollment.state WHEN 'completed' THEN '{COMPLETED}' ELSE '{EXITED}' END
    FROM journeys_enrollment enrollment LEFT JOIN journeys_steprun last
      ON last.enrollment_id = enrollment.id AND last.ordinal = enrollment.steps_begun - 1
    WHERE enrollment.state <> 'active' AND (enrollment.steps_begun = 0 OR last.id IS NOT NULL)
    UNION ALL
    SELECT watch.workspace_id, watch.journey_id, watch.revision_id, date_trunc('hour', watch.reached_at, 'UTC'), 'goal',
           watch.goal, outcome
    FROM journeys_goalwatch watch CROSS JOIN LATERAL unnest(watch.counted) AS outcome
    WHERE watch.reached_at IS NOT NULL
)
"""  # noqa: S608

_COLUMNS = "workspace_id, journey_id, revision_id, hour, kind, name, outcome"
# For each key and hour, the sum of `number` is what the history has more than was counted. Days whose hours are not
# kept any more are not compared.
HISTORY_AND_COUNTS = f"""
    SELECT {_COLUMNS}, 1 AS number FROM told WHERE NOT EXISTS (
        SELECT FROM (
            SELECT journey_id, begin FROM journeys_count WHERE grain = 'day'
            EXCEPT SELECT journey_id, date_trunc('day', begin, 'UTC') FROM journeys_count WHERE grain = 'hour'
        ) AS alone
        WHERE alone.journey_id = told.journey_id AND alone.begin = date_trunc('day', told.hour, 'UTC')
    )
    UNION ALL
    SELECT workspace_id, journey_id, revision_id, begin, kind, name, outcome, -number
    FROM journeys_count WHERE grain = 'hour'
    UNION ALL
    SELECT {_COLUMNS}, -number FROM journeys_countdelta
"""  # noqa: S608
_ALONE = Statement("SELECT pg_advisory_xact_lock(hashtextextended('engage: count history', 0))")
_COUNT_WHAT_IS_MISSING = Statement(
    """
WITH {history}, missing AS (
    SELECT {columns}, sum(number) AS number
    FROM ({history_and_counts}) AS both_of
    GROUP BY {columns} HAVING sum(number) > 0
), written AS (
    INSERT INTO journeys_countdelta ({columns}, number)
    SELECT * FROM missing
)
SELECT coalesce(sum(number), 0) FROM missing
""",
    history=HISTORY,
    history_and_counts=HISTORY_AND_COUNTS,
    columns=_COLUMNS,
)


def count_what_is_missing() -> int:
    """Counts the history that was never counted, and returns how much it is. May run under traffic, and twice.

    What the history has lost since it was counted stays counted.
    """
    with transaction.atomic():
        _ALONE.execute()
        return int(_COUNT_WHAT_IS_MISSING.column()[0])
