"""The counts as the history tells them: for what happened before there were counts, and to compare the two.

Each statement sees history and counts as of one moment, and whoever writes the one commits the other with it. So the
difference is what was never counted, whatever happens meanwhile.
"""

from collections.abc import Mapping

from django.db import connection, transaction

from journeys.counts.counting import Key
from journeys.steps.graph import COMPLETED, ENTRY, EXITED

# A row for each key and hour: decided jobs; runs by where they came from, and those that have ended; the ends of
# enrollments by their last run.
_HISTORY = f"""
told AS (
    SELECT job.workspace_id, job.journey_id, coalesce(enrollment.revision_id, 0) AS revision_id,
           date_trunc('hour', job.decided_at, 'UTC') AS hour, 'entry' AS kind, job.result AS name, '' AS outcome
    FROM journeys_enrollmentjob job LEFT JOIN journeys_enrollment enrollment ON enrollment.job_id = job.id
    WHERE job.status <> 'queued' AND (job.result <> 'enrolled' OR enrollment.id IS NOT NULL) {{jobs}}
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', run.began_at, 'UTC'), 'edge',
           CASE WHEN run.ordinal = 0 THEN '{ENTRY}' ELSE before.step_id END, run.step_id
    FROM journeys_steprun run JOIN journeys_enrollment enrollment ON enrollment.id = run.enrollment_id
    LEFT JOIN journeys_steprun before
      ON before.enrollment_id = run.enrollment_id AND before.ordinal = run.ordinal - 1
    WHERE (run.ordinal = 0 OR before.id IS NOT NULL) {{enrollments}}
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', run.ended_at, 'UTC'), 'end', run.step_id, run.state
    FROM journeys_steprun run JOIN journeys_enrollment enrollment ON enrollment.id = run.enrollment_id
    WHERE run.state <> 'waiting' {{enrollments}}
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', enrollment.ended_at, 'UTC'), 'edge',
           CASE WHEN enrollment.steps_begun = 0 THEN '{ENTRY}' ELSE last.step_id END,
           CASE enrollment.state WHEN 'completed' THEN '{COMPLETED}' ELSE '{EXITED}' END
    FROM journeys_enrollment enrollment LEFT JOIN journeys_steprun last
      ON last.enrollment_id = enrollment.id AND last.ordinal = enrollment.steps_begun - 1
    WHERE enrollment.state <> 'active' AND (enrollment.steps_begun = 0 OR last.id IS NOT NULL) {{enrollments}}
)
"""  # noqa: S608
_ALL = _HISTORY.format(jobs="", enrollments="")
_OF_ONE = _HISTORY.format(
    jobs="AND job.journey_id = %(journey_id)s", enrollments="AND enrollment.journey_id = %(journey_id)s"
)

_COUNTED = """
    SELECT workspace_id, journey_id, revision_id, begin AS hour, kind, name, outcome, number
    FROM journeys_count WHERE grain = 'hour'
    UNION ALL
    SELECT workspace_id, journey_id, revision_id, hour, kind, name, outcome, number FROM journeys_countdelta
"""

_COUNT_WHAT_IS_MISSING = f"""
WITH {_ALL}, missing AS (
    SELECT workspace_id, journey_id, revision_id, hour, kind, name, outcome, sum(number) AS number
    FROM (SELECT *, 1 AS number FROM told UNION ALL SELECT {{columns}}, -number FROM ({_COUNTED}) AS counted) AS both_of
    GROUP BY workspace_id, journey_id, revision_id, hour, kind, name, outcome HAVING sum(number) > 0
), written AS (
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT * FROM missing
)
SELECT coalesce(sum(number), 0) FROM missing
""".replace("{columns}", "workspace_id, journey_id, revision_id, hour, kind, name, outcome")  # noqa: S608

_SUMS = f"""
WITH {_OF_ONE}
SELECT workspace_id, journey_id, revision_id, kind, name, outcome, count(*) FROM told GROUP BY 1, 2, 3, 4, 5, 6
"""  # noqa: S608


def count_what_is_missing() -> int:
    """Counts the history that was never counted, and returns how much it is. May run under traffic, and twice.

    What the history has lost since it was counted stays counted.
    """
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended('engage: count history', 0))")
        cursor.execute(_COUNT_WHAT_IS_MISSING)
        return int(cursor.fetchone()[0])


def counted_by_history(journey_id: str) -> Mapping[Key, int]:
    """The journey's counts, whatever the hour, as its whole history tells them. Reads all of it."""
    with connection.cursor() as cursor:
        cursor.execute(_SUMS, {"journey_id": journey_id})
        return {(*row[:-1],): row[-1] for row in cursor.fetchall()}
