"""A call is taken back: none of its jobs is decided any more, and those who have entered by it may leave.

Whoever decides jobs holds the row of their chunk. So one statement that locks all chunks of a trigger, and then cancels
the jobs that are still queued, comes between decisions: each job is decided or cancelled, and all are one of the two.
"""

import time
from collections.abc import Iterator
from dataclasses import dataclass

from django.db import transaction

from engage.database.sql import Statement
from engage.database.statement_limit import longer_statements
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.counts.counting import count_entries
from journeys.jobs.forgetting import forget_payloads_of_erased
from journeys.jobs.progress import count_jobs
from journeys.models import EnrollmentJob, SteeringAct, Trigger
from journeys.steering.aborting import exit_all
from journeys.steering.acts import record_act

_EXIT_SECONDS = 20.0
_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class CancelledTrigger:
    """What became of a trigger's jobs: `cancelled` and `already_decided` are all of them.

    `exited` are the enrollments that have left, and `inside` those that have not ended.
    """

    trigger_id: str
    journey_id: str
    customers: int
    cancelled: int
    already_decided: int
    exited: int
    inside: int


def cancel_trigger(
    trigger: Trigger, *, exit_enrollments: bool, reason: str, actor: str, dry_run: bool = False
) -> CancelledTrigger:
    """Cancels the jobs of the trigger that are not decided. With `exit_enrollments`, those inside leave as well.

    If more are inside than leave within some seconds, `inside` tells how many are left, for another call. Cancelling
    again does nothing more.
    """
    with longer_statements():
        cancelled = _undecided(trigger) if dry_run else _cancel_jobs(trigger, reason=reason)
        exited = 0
        if exit_enrollments:
            exited = _count_inside(trigger) if dry_run else _exit(trigger, reason=reason)
        inside = _count_inside(trigger) - (exited if dry_run else 0)
    outcome = CancelledTrigger(
        trigger_id=trigger.id,
        journey_id=trigger.journey_id,
        customers=trigger.customers,
        cancelled=cancelled,
        already_decided=trigger.customers - cancelled,
        exited=exited,
        inside=inside,
    )
    if not dry_run and (cancelled or exited):
        numbers = {"cancelled": cancelled, "already_decided": outcome.already_decided, "exited": exited}
        record_act(SteeringAct.Kind.CANCEL, trigger, actor=actor, reason=reason, **numbers)
    return outcome


def _undecided(trigger: Trigger) -> int:
    return sum(jobs.number for jobs in count_jobs(trigger) if jobs.status == EnrollmentJob.Status.QUEUED)


_CANCEL = Statement("""
WITH chunks AS MATERIALIZED (
    SELECT id FROM journeys_chunk WHERE trigger_id = {trigger_id} ORDER BY id FOR UPDATE
), removed AS (
    DELETE FROM journeys_chunk WHERE id = ANY(ARRAY(SELECT id FROM chunks))
), cancelled AS (
    UPDATE journeys_enrollmentjob SET status = 'cancelled', result = 'cancelled', reason = {reason}, decided_at = now()
    WHERE trigger_id = {trigger_id} AND status || '' = 'queued' AND (SELECT count(*) FROM chunks) >= 0
    RETURNING 1
)
SELECT count(*) FROM cancelled
""")


def _cancel_jobs(trigger: Trigger, *, reason: str) -> int:
    with transaction.atomic():
        (cancelled,) = _CANCEL.column(trigger_id=trigger.id, reason=_in_words(reason))
        if cancelled:
            result = EnrollmentJob.Result.CANCELLED.value
            count_entries(
                workspace_id=trigger.workspace_id, journey_id=trigger.journey_id, result=result, number=cancelled
            )
            forget_payloads_of_erased([trigger.id])
    if cancelled:
        metric_counters.count(DECISIONS, EnrollmentJob.Result.CANCELLED.value, by=cancelled)
    return int(cancelled)


def _in_words(reason: str) -> str:
    return f"The whole call was cancelled: {reason}" if reason else "The whole call was cancelled."


# A range of jobs in their order, and their enrollments by key (docs/sql.md).
_INSIDE = """
FROM (
    SELECT id FROM journeys_enrollmentjob
    WHERE trigger_id = {trigger_id} AND ordinal >= {start} AND ordinal < {stop} OFFSET 0
) AS job
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.job_id = job.id LIMIT 1) AS enrollment
WHERE enrollment.state = 'active'
"""
_INSIDE_IDS, _INSIDE_NUMBER = Statement(f"SELECT enrollment.id {_INSIDE}"), Statement(f"SELECT count(*) {_INSIDE}")


def _count_inside(trigger: Trigger) -> int:
    return int(_INSIDE_NUMBER.column(trigger_id=trigger.id, start=0, stop=trigger.customers)[0])


def _exit(trigger: Trigger, *, reason: str) -> int:
    total, until = 0, time.monotonic() + _EXIT_SECONDS
    for found in _blocks(trigger):
        total += exit_all(found, reason=_in_words(reason)) if found else 0
        if time.monotonic() >= until:
            break
    return total


def _blocks(trigger: Trigger) -> Iterator[list[str]]:
    for start in range(0, trigger.customers, _AT_ONCE):
        yield _INSIDE_IDS.column(trigger_id=trigger.id, start=start, stop=start + _AT_ONCE)
