"""Deciding chunks of jobs, and enrolling the customers who may enter.

1. In one transaction: lock the chunks, then their customers' rows in the order of their ids. Decisions about one
   customer then happen one after the other; the partial unique index alone would let a second entry through once the
   first has completed.
2. Decide the jobs that are still queued (entry_decisions.py).
3. Write exits, enrollments, the goals that they may reach, draws and results, one statement each. The jobs of customers
   who were merged into others at the same moment stay for the next time. In the end, guarded journeys note their
   entries, and may hold themselves.
"""

import json
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from operator import itemgetter
from typing import Any

import structlog
from django.db import transaction

from engage.database.object_ids import new_object_id
from engage.database.sql import Rows, Statement
from engage.process import tracing
from engage.redis.metric_counters import DECISION_WAITS, DECISIONS, metric_counters
from journeys.engine.counts.counting import NO_REVISION, Key, write_counts
from journeys.engine.due import Due
from journeys.engine.enrollments.goals import NewWatch, watch_goals
from journeys.engine.enrollments.transitions import NewEnrollment, enter, exit_enrollments
from journeys.engine.entering.chunks import ClaimedChunk, lock_chunks, remove_chunks
from journeys.engine.entering.draws import keep_draws
from journeys.engine.entering.entrances import let_go
from journeys.engine.entering.entry_decisions import DecidedJobs, Entry, decide_jobs
from journeys.engine.entering.waiting_jobs import WaitingJob, jobs_of_chunks, lock_customers
from journeys.engine.jobs.forgetting import forget_payloads_of_erased
from journeys.engine.jobs.merged import cancel_excluded, follow_merged
from journeys.engine.steering.guards import note_entries
from journeys.models import Enrollment
from journeys.rules.entry_rules import Decision, Verdict

log = structlog.get_logger(__name__)
_LATE_SECONDS = 10.0
# Of a statement that evaluates entry conditions: a chunk for which that is too little is split.
SECONDS_TOGETHER, SECONDS_ALONE = 2.0, 10.0
_MOST_LINES, _TRIGGERS_IN_A_LINE = 5, 50


@dataclass(frozen=True, kw_only=True)
class Settled:
    """The result of one piece of work: how many jobs were decided, and what that made due."""

    decided: int = 0
    due: Due = field(default_factory=Due)


def settle(claimed: Sequence[ClaimedChunk]) -> Settled:
    """Decides the jobs of the chunks and enrolls customers who may enter, in one transaction. Safe to run twice."""
    began = time.time_ns()
    with transaction.atomic():
        chunks = lock_chunks(claimed)
        if not chunks:
            return Settled()
        held = lock_customers(chunks)
        read_at = time.monotonic()
        seconds = SECONDS_TOGETHER if chunks[0].attempts == 1 else SECONDS_ALONE
        outcome = decide_jobs(jobs_of_chunks(chunks), held=held, seconds=seconds)
        if outcome.excluded:
            cancel_excluded(outcome.excluded)
            outcome = decide_jobs(jobs_of_chunks(chunks), held=held, seconds=seconds)
        _follow_merged(outcome)
        exit_enrollments(outcome.exits)
        let_go(outcome.letting_go)
        _write_decisions(outcome.decisions)
        enter(_in_order([_enrollment(entry) for entry in outcome.entries]))
        keep_draws(outcome.draws)
        watch_goals(_watches(outcome))
        write_counts(_counts(outcome))
        gone = {job.trigger_id for job, decision in outcome.decisions if decision.verdict is Verdict.CUSTOMER_DELETED}
        if gone:
            forget_payloads_of_erased(gone)
        remove_chunks([chunk for chunk in chunks if chunk.trigger_id not in outcome.left])
        if guards := {entry.journey.id: entry.journey.guards for entry in outcome.entries if entry.journey.guards}:
            entered = Counter(entry.journey.id for entry in outcome.entries if entry.journey.id in guards)
            note_entries(entered, guards=guards)
    for verdict, number in Counter(decision.verdict for _, decision in outcome.decisions).items():
        metric_counters.count(DECISIONS, verdict.value, by=number)
    _observe_waits(outcome, chunks, since_read=time.monotonic() - read_at)
    _log_decisions(outcome, since_read=time.monotonic() - read_at)
    tracing.record("decide", _works(outcome), since=began)
    walk = any(entry.state is Enrollment.State.ACTIVE for entry in outcome.entries)
    return Settled(decided=len(outcome.decisions), due=Due(walk=walk))


def _follow_merged(outcome: DecidedJobs) -> None:
    """Takes back what was decided about customers who have been merged: a call queued them at the same moment.

    Their jobs become those of whom they were merged into. These are not locked, so the jobs are decided next time.
    """
    gone = {job.customer_id for job, decision in outcome.decisions if decision.verdict is Verdict.CUSTOMER_DELETED}
    if merged := follow_merged(gone, wait=False):
        outcome.left |= {job.trigger_id for job, _ in outcome.decisions if job.customer_id in merged}
        outcome.decisions = [one for one in outcome.decisions if one[0].customer_id not in merged]


def _observe_waits(outcome: DecidedJobs, chunks: Sequence[ClaimedChunk], *, since_read: float) -> None:
    seconds = [max(0.0, job.waited + since_read) for job, _ in outcome.decisions]
    metric_counters.observe_waits(DECISION_WAITS, chunks[0].lane, seconds=seconds)  # all are claimed from one


def _log_decisions(outcome: DecidedJobs, *, since_read: float) -> None:
    """A line per trigger; in a burst, lines that name many, because a line each would cost as much as the job.

    What was late says so.
    """
    late = {job.trigger_id: job.waited for job, _ in outcome.decisions if job.waited + since_read > _LATE_SECONDS}
    jobs = Counter((job.trigger_id, job.request_id, job.workspace_id) for job, _ in outcome.decisions)
    enrolled = Counter(entry.job.trigger_id for entry in outcome.entries)
    told = [
        {
            "trigger_id": trigger_id,
            "request_id": request_id,
            "workspace_id": workspace_id,
            "jobs": number,
            "enrolled": enrolled[trigger_id],
            **({"waited": round(late[trigger_id] + since_read, 1)} if trigger_id in late else {}),
        }
        for (trigger_id, request_id, workspace_id), number in jobs.items()
    ]
    if len(told) <= _MOST_LINES:
        for one in told:
            log.info("jobs_decided", **one)
        return
    for first in range(0, len(told), _TRIGGERS_IN_A_LINE):
        log.info("jobs_decided", triggers=told[first : first + _TRIGGERS_IN_A_LINE])


def _works(outcome: DecidedJobs) -> Iterator[tracing.Work]:
    """One for each trigger that is traced, with how many of its jobs had which result."""
    results: dict[str, tuple[WaitingJob, Counter[str]]] = {}
    for job, decision in outcome.decisions:
        if job.traceparent:
            results.setdefault(job.trigger_id, (job, Counter()))[1][decision.verdict.value] += 1
    for job, numbers in results.values():
        names: tracing.Names = {
            "engage.trigger_id": job.trigger_id,
            "engage.request_id": job.request_id,
            "engage.workspace_id": job.workspace_id,
            "engage.journey_id": job.journey_id,
            **{f"engage.jobs.{result}": number for result, number in numbers.items()},
        }
        yield tracing.Work(job.traceparent, names)


def _enrollment(entry: Entry) -> NewEnrollment:
    job, journey = entry.job, entry.journey
    return NewEnrollment(
        id=entry.id,
        workspace_id=job.workspace_id,
        journey_id=journey.id,
        customer_id=job.customer_id,
        revision_id=journey.revision_id,
        job_id=job.id,
        state=entry.state.value,
        exit_reason=entry.exit_reason,
        step_id=journey.first_step,
        event_id=job.event_id,
        chain=job.chain,
        crowd=job.crowd,
        entrance=job.entrance_apart,
    )


def _in_order(entered: list[NewEnrollment]) -> list[NewEnrollment]:
    """In that of their ids, which touches few pages of an index; where somebody enters twice, as it happens."""
    each_once = len({one.customer_id for one in entered}) == len(entered)
    return sorted(entered, key=itemgetter(0)) if each_once else entered


def _watches(outcome: DecidedJobs) -> list[NewWatch]:
    """Of those who entered, and of those who were held out: these have no enrollment, and belong to no revision."""
    watched = [
        (entry.job, entry.journey, entry.journey.revision_id, entry.id)
        for entry in outcome.entries
        if entry.journey.goals
    ]
    held_out = [(job, journey, NO_REVISION, None) for job, journey in outcome.held_out]
    return [
        NewWatch(
            id=new_object_id(),
            workspace_id=job.workspace_id,
            customer_id=job.customer_id,
            journey_id=journey.id,
            revision_id=revision_id,
            enrollment_id=enrollment_id,
            goal=goal.key,
            event_name=goal.name,
            seconds=goal.span.total_seconds(),
        )
        for job, journey, revision_id, enrollment_id in (*watched, *held_out)
        for goal in journey.goals
    ]


def _counts(outcome: DecidedJobs) -> Counter[Key]:
    """The decisions by their results."""
    refused = [] if len(outcome.entries) == len(outcome.decisions) else outcome.decisions
    numbers: Counter[Key] = Counter(
        (job.workspace_id, job.journey_id, NO_REVISION, "entry", decision.verdict.value, "")
        for job, decision in refused
        if not decision.enrolls
    )
    entered = Counter(
        (entry.job.workspace_id, entry.journey.id, entry.journey.revision_id) for entry in outcome.entries
    )
    for key, number in entered.items():
        numbers[*key, "entry", Verdict.ENROLLED.value, ""] = number
    return numbers


# A job is looked up and updated by its key (docs/sql.md); the lock reads its status again.
_WRITE_DECISIONS = Statement(
    """
WITH decided AS MATERIALIZED (
    SELECT decided.* FROM {decisions} CROSS JOIN LATERAL (
        SELECT FROM journeys_enrollmentjob job
        WHERE job.id = decided.id AND job.status = 'queued' LIMIT 1 FOR NO KEY UPDATE
    ) AS queued
)
UPDATE journeys_enrollmentjob job
SET status = 'decided', result = decided.result, reason = decided.reason, details = decided.details,
    decided_at = now()
FROM decided WHERE job.id = ANY(ARRAY[decided.id])
""",
    decisions=Rows("decided", {"id": "bigint", "result": "text", "reason": "text", "details": "jsonb"}),
)


def _write_decisions(decisions: Sequence[tuple[WaitingJob, Decision]]) -> None:
    """Raises if another has cancelled one of the jobs meanwhile: whoever does not lock its chunk or customer can."""
    if not decisions:
        return
    written = _WRITE_DECISIONS.execute(decisions=[_decided(job, decision) for job, decision in decisions])
    if written < len(decisions):
        raise RuntimeError("Jobs were cancelled while they were decided; those that are left are decided again.")


def _decided(job: WaitingJob, decision: Decision) -> tuple[Any, ...]:
    details = json.dumps(decision.details) if decision.details else None
    return job.id, decision.verdict.value, decision.reason, details
