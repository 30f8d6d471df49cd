"""A call is taken back: none of its jobs is decided any more, and those who have entered by it may leave.

Then what it has delivered in-app is withdrawn as well, also from those who have ended before.

Whoever decides jobs holds the row of their chunk. So one statement that locks all chunks of a trigger, and then cancels
the jobs that are still queued, comes between decisions: each job is decided or cancelled, and all are one of the two.
"""

import time
from dataclasses import dataclass
from typing import Annotated

from django.db import transaction

from engage.database.object_ids import ObjectId
from engage.database.sql import Statement
from engage.database.statement_limit import longer_statements
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.engine.counts.counting import count_entries
from journeys.engine.jobs.forgetting import forget_payloads_of_erased
from journeys.engine.jobs.progress import count_jobs
from journeys.engine.steering.aborting import exit_all
from journeys.engine.steering.acts import record_act
from journeys.models import EnrollmentJob, SteeringAct, Trigger

_EXIT_SECONDS = 20.0
_AT_ONCE = 500


@dataclass(frozen=True, kw_only=True)
class CancelledTrigger:
    """What became of a trigger's jobs. `cancelled` and `alreadyDecided` are all of them."""

    trigger_id: Annotated[ObjectId, "The trigger's id."]
    journey_id: Annotated[ObjectId, "The journey's id."]
    dry_run: Annotated[bool, "Whether this is only what the call would do."] = False
    customers: Annotated[int, "The number of jobs that the trigger has."]
    cancelled: Annotated[int, "How many of them this call has cancelled."]
    already_decided: Annotated[int, "How many were decided before, or cancelled."]
    exited: Annotated[int, "How many enrollments the call has ended."]
    inside: Annotated[
        int, "How many enrollments of the trigger have not ended. If they were to leave, call again until it is 0."
    ]
    all_withdrawn: Annotated[
        bool,
        "False if those who have entered were to leave, and some of their in-app messages may still be due: time ran "
        "out, or others held them up. Call again.",
    ] = True


def cancel_trigger(
    trigger: Trigger, *, exit_enrollments: bool, reason: str, actor: str, dry_run: bool = False
) -> CancelledTrigger:
    """Cancels the jobs of the trigger that are not decided. With `exit_enrollments`, those inside leave as well.

    And what the call has delivered in-app is withdrawn. If that takes more than some seconds, `inside` and
    `all_withdrawn` tell what is left, for another call. Cancelling again does nothing more.
    """
    all_withdrawn = True
    done = _Cancellation(trigger=trigger, actor=actor, reason=reason)
    with longer_statements():
        if dry_run:
            done.cancelled = _undecided(trigger)
            done.exited = _count_inside(trigger) if exit_enrollments else 0
        else:
            _cancel_jobs(done)
            if exit_enrollments:
                all_withdrawn = _exit(done)
        inside = _count_inside(trigger) - (done.exited if dry_run else 0)
    return CancelledTrigger(
        trigger_id=trigger.id,
        journey_id=trigger.journey_id,
        dry_run=dry_run,
        customers=trigger.customers,
        cancelled=done.cancelled,
        already_decided=trigger.customers - done.cancelled,
        exited=done.exited,
        inside=inside,
        all_withdrawn=all_withdrawn,
    )


@dataclass(kw_only=True)
class _Cancellation:
    """What was done so far, by whom and why. All of it is one act, which its transactions write as they do it."""

    trigger: Trigger
    actor: str
    reason: str
    cancelled: int = 0
    exited: int = 0
    act: SteeringAct | None = None

    def note(self, *, cancelled: int = 0, exited: int = 0) -> None:
        """Adds to the act, in the transaction that does it."""
        self.cancelled += cancelled
        self.exited += exited
        numbers = {
            "cancelled": self.cancelled,
            "already_decided": self.trigger.customers - self.cancelled,
            "exited": self.exited,
        }
        if self.act is None:
            kind = SteeringAct.Kind.CANCEL
            self.act = record_act(kind, self.trigger, actor=self.actor, reason=self.reason, **numbers)
        else:
            SteeringAct.objects.filter(id=self.act.id).update(numbers=numbers)


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


def _cancel_jobs(done: _Cancellation) -> None:
    trigger = done.trigger
    with transaction.atomic():
        (cancelled,) = _CANCEL.column(trigger_id=trigger.id, reason=_in_words(done.reason))
        if cancelled:
            done.note(cancelled=cancelled)
            result = EnrollmentJob.Result.CANCELLED.value
            count_entries(
                workspace_id=trigger.workspace_id, journey_id=trigger.journey_id, result=result, number=cancelled
            )
            forget_payloads_of_erased([trigger.id])
    if cancelled:
        metric_counters.count(DECISIONS, EnrollmentJob.Result.CANCELLED.value, by=cancelled)


def _in_words(reason: str) -> str:
    return f"The whole call was cancelled: {reason}" if reason else "The whole call was cancelled."


# A range of jobs in their order, and their enrollments by key (docs/sql.md).
_ENTERED = """
FROM (
    SELECT id FROM journeys_enrollmentjob
    WHERE trigger_id = {trigger_id} AND ordinal >= {start} AND ordinal < {stop} OFFSET 0
) AS job
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.job_id = job.id LIMIT 1) AS enrollment
"""
_INSIDE_NUMBER = Statement("SELECT count(*) {entered} WHERE enrollment.state = 'active'", entered=_ENTERED)
# Those inside, and those who have ended to whom something is still shown. The index of deliveries by enrollments is not
# in the collation of enrollments' ids (docs/sql.md).
_TO_LEAVE = Statement(
    """
SELECT enrollment.id {entered}
CROSS JOIN LATERAL (
    SELECT bool_or(ended_at IS NULL) AS is_due FROM journeys_inappdelivery known
    WHERE known.enrollment_id = enrollment.id COLLATE "default"
) AS delivered
WHERE enrollment.state = 'active' OR delivered.is_due
""",
    entered=_ENTERED,
)


def _count_inside(trigger: Trigger) -> int:
    return int(_INSIDE_NUMBER.column(trigger_id=trigger.id, start=0, stop=trigger.customers)[0])


def _exit(done: _Cancellation) -> bool:
    """Lets all leave, for at most so long, block by block; returns whether nothing is left to be done."""
    until, is_all = time.monotonic() + _EXIT_SECONDS, True
    for start in range(0, done.trigger.customers, _AT_ONCE):
        if time.monotonic() >= until:
            return False
        block = {"trigger_id": done.trigger.id, "start": start, "stop": start + _AT_ONCE}
        if found := _TO_LEAVE.column(**block):
            with transaction.atomic():
                exited = exit_all(found, reason=_in_words(done.reason))
                stay = _TO_LEAVE.column(**block) if exited < len(found) else []
                if len(stay) < len(found):
                    done.note(exited=exited)
            is_all = is_all and not stay
    return is_all
