"""A chunk of jobs is decided, and those who may enter are enrolled.

1. In one transaction: lock the chunks, then their customers' rows in the order of their ids. Decisions about one
   customer happen one after the other; the partial unique index alone would let two through, one after the other
   completes.
2. Read the jobs that still wait, with their customers' past in the journey; entry conditions are one SQL filter per
   journey that has any.
3. Decide each job by the entry rules, in order; a job sees what the jobs before it did.
4. Write exits, enrollments and results, a statement each.
"""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import structlog
from django.db import connection, transaction

from engage.object_ids import new_object_id
from engage.tallies import DECISIONS, tallies
from journeys.chunks import ClaimedChunk, lock_chunks, remove_chunks
from journeys.entry_conditions import jobs_failing_conditions
from journeys.entry_rules import Decision, History, Verdict, decide
from journeys.exits import Exit, exit_enrollments
from journeys.models import Enrollment, Trigger
from journeys.waiting_jobs import EnteredJourney, WaitingJob, entered_journeys, lock_customers, waiting_jobs

log = structlog.get_logger(__name__)
_REPLACED = "Replaced by a new entry."


@dataclass(frozen=True, kw_only=True)
class Settled:
    """What one piece of work came to: how many jobs were decided, and whether somebody may walk on at once."""

    decided: int = 0
    somebody_walks: bool = False


@dataclass(kw_only=True)
class _Entry:
    """An enrollment about to be written."""

    id: str
    job: WaitingJob
    journey: EnteredJourney
    state: Enrollment.State
    exit_reason: str = ""


@dataclass(kw_only=True)
class _Past:
    """One customer's past in one journey, kept up to date while a chunk's jobs are decided."""

    active: str | _Entry | None
    completed: int


@dataclass
class _Outcome:
    """What a chunk's decisions come to, before it is written."""

    decisions: list[tuple[WaitingJob, Decision]] = field(default_factory=list)
    entries: list[_Entry] = field(default_factory=list)
    exits: list[Exit] = field(default_factory=list)


def settle(claimed: Sequence[ClaimedChunk]) -> Settled:
    """Decides the jobs of the chunks and enrolls who may enter, in one transaction. Safe to run twice."""
    with transaction.atomic():
        chunks = lock_chunks(claimed)
        if not chunks:
            return Settled()
        lock_customers(chunks)
        jobs = waiting_jobs(chunks)
        journeys = entered_journeys(job.journey_id for job in jobs)
        outcome = _decide_all(jobs, journeys, failing=jobs_failing_conditions(jobs, journeys))
        exit_enrollments(outcome.exits)
        _write_entries(outcome.entries)
        _write_decisions(outcome.decisions)
        _forget_payloads(outcome.decisions)
        remove_chunks(chunks)
    for verdict, number in Counter(decision.verdict for _, decision in outcome.decisions).items():
        tallies.count(DECISIONS, verdict.value, by=number)
    log.info("jobs_decided", jobs=len(jobs), enrolled=len(outcome.entries), trigger_id=chunks[0].trigger_id)
    return Settled(
        decided=len(jobs), somebody_walks=any(entry.state is Enrollment.State.ACTIVE for entry in outcome.entries)
    )


def _decide_all(jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney], *, failing: set[int]) -> _Outcome:
    outcome = _Outcome()
    pasts: dict[tuple[str, str], _Past] = {}
    for job in jobs:
        past = pasts.setdefault(
            (job.journey_id, job.customer_id), _Past(active=job.active_enrollment_id, completed=job.completed)
        )
        journey = journeys[job.journey_id]
        decision = decide(
            rules=journey.rules,
            history=History(active=past.active is not None, completed=past.completed),
            customer_exists=job.customer_exists,
            conditions_hold=job.id not in failing,
        )
        outcome.decisions.append((job, decision))
        if decision.exits_active:
            _exit(past, outcome)
        if decision.enrolls:
            outcome.entries.append(_enter(job, journey, past))
    return outcome


def _exit(past: _Past, outcome: _Outcome) -> None:
    match past.active:
        case _Entry() as entry:
            entry.state, entry.exit_reason = Enrollment.State.EXITED, _REPLACED
        case str() as enrollment_id:
            outcome.exits.append(Exit(enrollment_id=enrollment_id, reason=_REPLACED))
    past.active = None


def _enter(job: WaitingJob, journey: EnteredJourney, past: _Past) -> _Entry:
    state = Enrollment.State.ACTIVE if journey.first_step else Enrollment.State.COMPLETED
    entry = _Entry(id=new_object_id(), job=job, journey=journey, state=state)
    if state is Enrollment.State.ACTIVE:
        past.active = entry
    else:
        past.completed += 1
    return entry


# Writing: a statement per kind, whatever the number of jobs -----------------------------------------------------------


_INSERT_ENTRIES = """
INSERT INTO journeys_enrollment
    (id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, due_at, attempts,
     entered_at, ended_at, event_id, chain)
SELECT id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id,
       CASE WHEN state = 'active' THEN now() END, 0, now(), CASE WHEN state <> 'active' THEN now() END, event_id, chain
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::bigint[], %s::bigint[], %s::text[], %s::text[],
            %s::text[], %s::text[], %s::smallint[])
     AS entry(id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, event_id,
              chain)
"""


def _write_entries(entries: Sequence[_Entry]) -> None:
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
            ],
        )


def _write_decisions(decisions: Sequence[tuple[WaitingJob, Decision]]) -> None:
    if not decisions:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE journeys_enrollmentjob job "
            "SET status = 'decided', result = decided.result, reason = decided.reason, decided_at = now() "
            "FROM unnest(%s::bigint[], %s::text[], %s::text[]) AS decided(id, result, reason) "
            "WHERE job.id = decided.id AND job.status = 'queued'",
            [
                [job.id for job, _ in decisions],
                [decision.verdict.value for _, decision in decisions],
                [decision.reason for _, decision in decisions],
            ],
        )


def _forget_payloads(decisions: Sequence[tuple[WaitingJob, Decision]]) -> None:
    """Blanks what was sent for an erased customer alone: the erasure cannot see a call that commits just after it."""
    erased = [job.id for job, decision in decisions if decision.verdict is Verdict.CUSTOMER_DELETED]
    if erased:
        alone = Trigger.objects.filter(jobs__id__in=erased, customers=1)
        alone.update(payload={})
