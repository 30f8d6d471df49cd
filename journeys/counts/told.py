"""The relation `told`: what the history has to be counted, a row for each time."""

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
HISTORY = _HISTORY.format(jobs="", enrollments="")
HISTORY_OF_ONE = _HISTORY.format(
    jobs="AND job.journey_id = %(journey_id)s", enrollments="AND enrollment.journey_id = %(journey_id)s"
)
