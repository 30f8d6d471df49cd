"""Ending enrollments early, with everything that depends on them."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

from journeys.counts.counting import COUNT_EXITS


@dataclass(frozen=True, kw_only=True)
class EnrollmentExit:
    """An enrollment to end, and why."""

    enrollment_id: str
    reason: str


# Steps and webhooks that wait are stopped in the same statement: none goes on, or is sent, after the end. Each row is
# looked up by its key, in laterals with a limit, as in entering/waiting_jobs.py.
_EXIT = f"""
WITH asked AS MATERIALIZED (
    SELECT inside.id, inside.steps_begun, asked.reason
    FROM unnest(%s::text[], %s::text[]) AS asked(id, reason)
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = asked.id LIMIT 1) AS inside
    WHERE inside.state = 'active'
), ended AS (
    UPDATE journeys_enrollment enrollment
    SET state = 'exited', exit_reason = asked.reason, ended_at = statement_timestamp(), due_at = NULL,
        step_began_at = NULL, awaits_event = '', attempts = 0, error = ''
    FROM asked WHERE enrollment.id = ANY(ARRAY[asked.id])
    RETURNING enrollment.id
), interrupted AS (
    UPDATE journeys_steprun SET state = 'interrupted', ended_at = statement_timestamp()
    WHERE id = ANY(ARRAY(
        SELECT run.id FROM asked CROSS JOIN LATERAL (
            SELECT * FROM journeys_steprun known
            WHERE known.enrollment_id = asked.id AND known.ordinal = asked.steps_begun - 1 LIMIT 1
        ) AS run WHERE run.state = 'waiting'
    ))
), dropped AS (
    UPDATE journeys_webhookdelivery SET state = 'dropped', result = 'The enrollment ended before it was delivered.'
    WHERE id = ANY(ARRAY(
        SELECT delivery.id FROM asked CROSS JOIN LATERAL (
            SELECT * FROM journeys_webhookdelivery known
            WHERE known.enrollment_id = asked.id AND known.ordinal = asked.steps_begun - 1 LIMIT 1
        ) AS delivery WHERE delivery.state = 'waiting' AND NOT delivery.again
    ))
), counted AS ({COUNT_EXITS})
SELECT id FROM ended
"""  # noqa: S608


def exit_enrollments(exits: Sequence[EnrollmentExit]) -> set[str]:
    """Ends those of the enrollments that are active, in one statement, and returns their ids.

    The caller must hold the customers' row locks: so no walker walks these enrollments meanwhile, or afterwards.
    """
    if not exits:
        return set()
    with connection.cursor() as cursor:
        cursor.execute(_EXIT, [[one.enrollment_id for one in exits], [one.reason for one in exits]])
        return {enrollment_id for (enrollment_id,) in cursor.fetchall()}
