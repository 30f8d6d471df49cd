"""The feed as a witness: what was committed was told, once, and nothing else was."""

from collections.abc import Iterator

from tests.chaos.service import Service

# By type, and what it tells of; with the result of a decision. Who was merged keeps the ids of then.
_DIFFERENCES = """
WITH told AS (
    SELECT type, CASE type WHEN 'job.decided' THEN job_id || ' ' || result ELSE enrollment_id END AS of
    FROM engage_feedbatch CROSS JOIN LATERAL unnest(job_ids, enrollment_ids, results)
        AS event(job_id, enrollment_id, result)
    WHERE type LIKE 'enrollment.%%' OR type = 'job.decided'
), happened AS (
    SELECT 'job.decided' AS type, coalesce(
        queued_as, 'enroll-' || journey_id || '-' || customer_id || '-' || queued_ms
    ) || ' ' || result AS of
    FROM journeys_enrollmentjob WHERE status <> 'queued'
    UNION ALL SELECT 'enrollment.started', id FROM journeys_enrollment
    UNION ALL SELECT 'enrollment.' || state, id FROM journeys_enrollment WHERE state <> 'active'
)
SELECT type, of, sum(number) FROM (
    SELECT type, of, -1 AS number FROM happened UNION ALL SELECT type, of, 1 FROM told
) AS both_of
WHERE of IS NOT NULL GROUP BY type, of HAVING sum(number) <> 0
"""


def the_feed_tells_what_happened(service: Service) -> Iterator[str]:
    """Not where it is off: the version before has none, and who was inside by then was not told."""
    if not service.count("SELECT count(*) FROM engage_workspace WHERE feed"):
        return
    for kind, of, number in service.ask(_DIFFERENCES):
        yield f"{kind} of {of} was told {number:+} times more often than it happened"
