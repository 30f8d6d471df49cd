"""Deciding chunks of jobs, and enrolling the customers who may enter.

1. In one transaction: lock the chunks, then their customers' rows in the order of their ids. Decisions about one
   customer then happen one after the other; the partial unique index alone would let a second entry through once the
   first has completed.
2. Decide the jobs that are still queued (entry_decisions.py).
3. Write exits, enrollments and results, one statement each.
"""

import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import structlog
from django.db import connection, transaction

from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.counts.counting import NO_REVISION, Key, write_counts
from journeys.enrollments.exits import exit_enrollments
from journeys.entering.chunks import ClaimedChunk, lock_chunks, remove_chunks
from journeys.entering.entry_decisions import DecidedJobs, Entry, decide_jobs
from journeys.entering.waiting_jobs import WaitingJob, jobs_of_chunks, lock_customers
from journeys.entry_rules import Decision, Verdict
from journeys.jobs.forgetting import forget_payloads_of_erased
from journeys.models import Enrollment
from journeys.steps.graph import COMPLETED, ENTRY, EXITED

log = structlog.get_logger(__name__)
_MOST_LINES, _TRIGGERS_IN_A_LINE = 5, 50


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The result of one piece of work: how many jobs were decided, and whether an enrollment is due to be walked."""

    decided: int = 0
    somebody_walks: bool = False


def settle(claimed: Sequence[ClaimedChunk]) -> Settled:
    """Decides the jobs of the chunks and enrolls customers who may enter, in one transaction. Safe to run twice."""
    with transaction.atomic():
        if claimed[0].attempts > 1:
            _wait_hardly()
        chunks = lock_chunks(claimed)
        if not chunks:
            return Settled()
        lock_customers(chunks)
        outcome = decide_jobs(jobs_of_chunks(chunks))
        exit_enrollments(outcome.exits)
        _write_entries(outcome.entries)
        _write_decisions(outcome.decisions)
        write_counts(_counts(outcome))
        gone = {job.trigger_id for job, decision in outcome.decisions if decision.verdict is Verdict.CUSTOMER_DELETED}
        if gone:
            forget_payloads_of_erased(gone)
        remove_chunks(chunks)
    for verdict, number in Counter(decision.verdict for _, decision in outcome.decisions).items():
        metric_counters.count(DECISIONS, verdict.value, by=number)
    _log_decisions(outcome)
    return Settled(
        decided=len(outcome.decisions),
        somebody_walks=any(entry.state is Enrollment.State.ACTIVE for entry in outcome.entries),
    )


def _wait_hardly() -> None:
    """What is tried again may have been held up: the lane is not to stand still for it each time."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL lock_timeout = '100ms'")


def _log_decisions(outcome: DecidedJobs) -> None:
    """A line per trigger; in a burst, lines that name many, because a line each would cost as much as the job."""
    jobs = Counter((job.trigger_id, job.request_id, job.workspace_id) for job, _ in outcome.decisions)
    enrolled = Counter(entry.job.trigger_id for entry in outcome.entries)
    told = [
        {
            "trigger_id": trigger_id,
            "request_id": request_id,
            "workspace_id": workspace_id,
            "jobs": number,
            "enrolled": enrolled[trigger_id],
        }
        for (trigger_id, request_id, workspace_id), number in jobs.items()
    ]
    if len(told) <= _MOST_LINES:
        for one in told:
            log.info("jobs_decided", **one)
        return
    for first in range(0, len(told), _TRIGGERS_IN_A_LINE):
        log.info("jobs_decided", triggers=told[first : first + _TRIGGERS_IN_A_LINE])


_INSERT_ENTRIES = """
INSERT INTO journeys_enrollment
    (id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, due_at, attempts,
     entered_at, ended_at, event_id, chain, crowd)
SELECT id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id,
       CASE WHEN state = 'active' THEN now() END, 0, statement_timestamp(),
       CASE WHEN state <> 'active' THEN statement_timestamp() END, event_id, chain, crowd
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[],
            %s::text[], %s::text[], %s::smallint[], %s::boolean[])
     AS entry(id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, event_id,
              chain, crowd)
"""


def _write_entries(entries: Sequence[Entry]) -> None:
    if not entries:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT_ENTRIES,
            [
                [entry.id for entry in entries],
                [entry.job.workspace_id for entry in entries],
                [entry.journey.id for entry in entries],
                [entry.job.customer_id for entry in entries],
                [entry.journey.revision_id for entry in entries],
                [entry.job.id for entry in entries],
                [entry.state.value for entry in entries],
                [entry.exit_reason for entry in entries],
                [entry.journey.first_step for entry in entries],
                [entry.job.event_id for entry in entries],
                [entry.job.chain for entry in entries],
                [entry.job.crowd for entry in entries],
            ],
        )


def _counts(outcome: DecidedJobs) -> Counter[Key]:
    """The decisions by their results, and the enrollments that ended as they began."""
    numbers: Counter[Key] = Counter()
    for job, decision in outcome.decisions:
        if not decision.enrolls:
            numbers[job.workspace_id, job.journey_id, NO_REVISION, "entry", decision.verdict.value, ""] += 1
    for entry in outcome.entries:
        whose = entry.job.workspace_id, entry.journey.id, entry.journey.revision_id
        numbers[*whose, "entry", Verdict.ENROLLED.value, ""] += 1
        if entry.state is not Enrollment.State.ACTIVE:
            end = COMPLETED if entry.state is Enrollment.State.COMPLETED else EXITED
            numbers[*whose, "edge", ENTRY, end] += 1
    return numbers


# A job is looked up and updated by its key, as in waiting_jobs.py; the lock reads its status again.
_WRITE_DECISIONS = """
WITH decided AS MATERIALIZED (
    SELECT decided.*
    FROM unnest(%s::bigint[], %s::text[], %s::text[], %s::jsonb[]) AS decided(id, result, reason, details)
    CROSS JOIN LATERAL (
        SELECT FROM journeys_enrollmentjob job
        WHERE job.id = decided.id AND job.status = 'queued' LIMIT 1 FOR NO KEY UPDATE
    ) AS queued
)
UPDATE journeys_enrollmentjob job
SET status = 'decided', result = decided.result, reason = decided.reason, details = decided.details,
    decided_at = now()
FROM decided WHERE job.id = ANY(ARRAY[decided.id])
"""


def _write_decisions(decisions: Sequence[tuple[WaitingJob, Decision]]) -> None:
    if not decisions:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _WRITE_DECISIONS,
            [
                [job.id for job, _ in decisions],
                [decision.verdict.value for _, decision in decisions],
                [decision.reason for _, decision in decisions],
                [json.dumps(decision.details) if decision.details else None for _, decision in decisions],
            ],
        )
