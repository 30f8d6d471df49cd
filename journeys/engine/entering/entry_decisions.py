"""Deciding jobs without writing the decisions: the same code for jobs that wait and for those only supposed.

1. Read the jobs with their customers' past in the journey; entry conditions are one SQL filter per journey that has
   any. If events may end a journey, those that came since its jobs were queued are looked up, too.
2. Decide each job by the entry rules, in order; a job sees the effects of the jobs before it.
3. Say of those whom conditions have refused, if any, which values failed.
"""

from collections.abc import Collection, Container, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, field, replace

from django.utils import timezone

from engage.database.fragment import Fragment
from engage.database.statement_limit import limited_statements
from journeys.engine.enrollments.early_events import Listener, earliest_events
from journeys.engine.enrollments.ids import EnrollmentIds
from journeys.engine.enrollments.knowledge import known_at_entry
from journeys.engine.enrollments.transitions import EnrollmentExit
from journeys.engine.entering.draws import Draw, Draws
from journeys.engine.entering.entrances import Holder, Key, holders_of, key_of
from journeys.engine.entering.entry_conditions import failing_conditions, why_conditions_fail
from journeys.engine.entering.waiting_jobs import EnteredJourney, WaitingJob, entered_journeys, read_jobs
from journeys.models import Enrollment
from journeys.rules.entry_rules import Decision, History, Verdict, decide
from journeys.steps.events import nothing_known
from journeys.steps.exit_rules import ended_by

_REPLACED = "Replaced by a new entry."
_FEW_TESTS = 4  # whatever they are about, a chunk takes some seconds at most: no limit is worth two statements more


@dataclass(kw_only=True)
class Entry:
    """An enrollment about to be written."""

    id: str
    job: WaitingJob
    journey: EnteredJourney
    state: Enrollment.State
    exit_reason: str = ""


@dataclass(kw_only=True)
class _Past:
    """One customer's past in one journey, kept up to date while jobs are decided."""

    active: list[str | Entry]  # several only if entrances have counted apart before
    completed: int
    last_completed: str | None

    def as_history(self) -> History:
        first = self.active[0] if self.active else None
        active = first.id if isinstance(first, Entry) else first
        return History(active=active, completed=self.completed, last_completed=self.last_completed)


@dataclass
class DecidedJobs:
    """The results of decisions, before they are written."""

    decisions: list[tuple[WaitingJob, Decision]] = field(default_factory=list)
    entries: list[Entry] = field(default_factory=list)
    exits: list[EnrollmentExit] = field(default_factory=list)
    left: set[str] = field(default_factory=set)  # triggers whose jobs were not all decided
    letting_go: list[int] = field(default_factory=list)  # jobs whose entrance another one of these takes over
    excluded: list[int] = field(default_factory=list)  # jobs that are to be cancelled before any is decided
    held_out: list[tuple[WaitingJob, EnteredJourney]] = field(default_factory=list)
    draws: list[Draw] = field(default_factory=list)  # those that are new


def _inside(job: WaitingJob) -> list[str]:
    return job.active_enrollment_ids.split() if job.active_enrollment_ids else []


def decide_jobs(
    relation: Fragment,
    *,
    held: Container[str] | None = None,
    ended: Collection[str] = (),
    seconds: float | None = None,
) -> DecidedJobs:
    """Decides the jobs of a relation (see waiting_jobs.py) as of now.

    `held` are the customers who are locked: jobs of others, into whom somebody was merged meanwhile, are left. `ended`
    are enrollments that are supposed to have ended. Where conditions have many tests, a statement may take so many
    `seconds`.

    The number of statements does not grow with that of a journey's jobs.
    """
    read, journeys = _read(relation)
    if ended:
        inside = [" ".join(one for one in _inside(job) if one not in ended) for job in read]
        read = [job._replace(active_enrollment_ids=ids) for job, ids in zip(read, inside, strict=True)]
    left = [] if held is None else [job for job in read if job.customer_exists and job.customer_id not in held]
    jobs = [job for job in read if job not in left] if left else read
    laborious = any(repr(journey.conditions).count("'op'") > _FEW_TESTS for journey in journeys.values())
    with limited_statements(seconds) if seconds and laborious else nullcontext():
        decided = _decided(relation, jobs, journeys)
    decided.left = {job.trigger_id for job in left}
    return decided


def _decided(relation: Fragment, jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney]) -> DecidedJobs:
    failing = failing_conditions(relation=relation, jobs=jobs, journeys=journeys)
    decided = _decide_all(jobs, journeys, failing=failing, leaving=_early_exits(jobs, journeys))
    decided.excluded = [job.id for job in jobs if job.excluded]
    if refused := [job for job, decision in decided.decisions if decision.verdict is Verdict.CONDITIONS_NOT_MET]:
        reasons = why_conditions_fail(relation=relation, jobs=refused, journeys=journeys)
        decided.decisions = [
            (job, decision._replace(details=tuple(reasons[job.id])) if job.id in reasons else decision)
            for job, decision in decided.decisions
        ]
    return decided


def _read(relation: Fragment) -> tuple[list[WaitingJob], dict[str, EnteredJourney]]:
    """The jobs and their journeys: read again if a journey has come to allow more entries than were counted."""
    while True:
        jobs = read_jobs(relation)
        journeys = entered_journeys(job.journey_id for job in jobs)
        if all(journeys[job.journey_id].rules.max_entries <= job.counted_to for job in jobs):
            return jobs, journeys


def _decide_all(
    jobs: Sequence[WaitingJob],
    journeys: Mapping[str, EnteredJourney],
    *,
    failing: Container[int],
    leaving: Mapping[int, str],
) -> DecidedJobs:
    decided = DecidedJobs()
    pasts: dict[tuple[str, str, str | None], _Past] = {}
    entrances, draws, ids = _Entrances(jobs), Draws(jobs, journeys), EnrollmentIds()
    for job in jobs:
        past = pasts.setdefault(
            (job.journey_id, job.customer_id, job.entrance_apart),
            _Past(active=[*_inside(job)], completed=job.completed, last_completed=job.last_completed_id),
        )
        journey = journeys[job.journey_id]
        is_of_before = job.serial is not None and job.serial < journey.counts_from
        decision = decide(
            rules=replace(journey.rules, journey_active=False) if is_of_before else journey.rules,
            history=past.as_history(),
            customer_exists=job.customer_exists,
            conditions_hold=job.id not in failing,
            entrance_held_by=entrances.held_by_another(job),
            expired=job.expired,
            held_out=journey.hold_out is not None and draws.hold_out(job, journey.hold_out),
        )
        entrances.note(job, decision)
        if journey.hold_out is not None:
            draws.note(job, decision)
        decided.decisions.append((job, decision))
        if decision.exits_active:
            _exit(past, decided)
        if decision.enrolls:
            decided.entries.append(_enter(ids, job, journey, past, leaves=leaving.get(job.id)))
        elif decision.verdict is Verdict.HELD_OUT:
            decided.held_out.append((job, journey))
    decided.letting_go, decided.draws = entrances.letting_go, draws.fresh
    return decided


class _Entrances:
    """Who holds the jobs' entrances, kept up to date while they are decided."""

    def __init__(self, jobs: Sequence[WaitingJob]) -> None:
        self._holders = holders_of(jobs)
        self._refused: dict[Key, int] = {}
        self.letting_go: list[int] = []

    def held_by_another(self, job: WaitingJob) -> str | None:
        key = key_of(job)
        holder = self._holders.get(key) if key else None
        if holder is None or (job.holds and holder.id == job.id):  # ids of supposed jobs are no rows'
            return None
        return holder.name

    def note(self, job: WaitingJob, decision: Decision) -> None:
        key = key_of(job)
        if key is None or decision.verdict is Verdict.DUPLICATE_ENTRANCE:
            return
        if decision.enrolls:
            self._holders[key] = Holder(job.id, job.name or "")
            if key in self._refused:
                self.letting_go.append(self._refused.pop(key))
        elif (holder := self._holders.get(key)) and job.holds and holder.id == job.id:
            del self._holders[key]
            self._refused[key] = job.id


def _exit(past: _Past, decided: DecidedJobs) -> None:
    for one in past.active:
        if isinstance(one, Entry):
            one.state, one.exit_reason = Enrollment.State.EXITED, _REPLACED
        else:
            decided.exits.append(EnrollmentExit(enrollment_id=one, reason=_REPLACED))
    past.active = []


def _enter(ids: EnrollmentIds, job: WaitingJob, journey: EnteredJourney, past: _Past, *, leaves: str | None) -> Entry:
    """`leaves` is why the customer leaves at once; None if they stay."""
    id_ = ids.of(trigger_id=job.trigger_id, ordinal=job.ordinal, due_ms=job.due_ms, waited=job.waited)
    entry = Entry(id=id_, job=job, journey=journey, state=Enrollment.State.ACTIVE)
    if leaves is not None:
        entry.state, entry.exit_reason = Enrollment.State.EXITED, leaves
    elif journey.first_step:
        past.active = [entry]
    else:
        entry.state = Enrollment.State.COMPLETED
        past.completed += 1
        past.last_completed = entry.id
    return entry


def _early_exits(jobs: Sequence[WaitingJob], journeys: Mapping[str, EnteredJourney]) -> dict[int, str]:
    """Why the jobs' enrollments would end as they begin, by the jobs' ids; most jobs have no such reason.

    An event that ends the journey counts from the moment the job was queued, so nobody who left meanwhile gets a step
    of it. A job that an event queued counts the events that were recorded after that one, also those of the same call.

    One statement if one of the journeys may be ended by events, otherwise none; two more if such an event is compared
    with what the enrollments know.
    """
    now = timezone.now()
    asking = {job.id: job for job in jobs if job.serial is not None and journeys[job.journey_id].exit_patterns}
    beyond = {
        job.id: (job.customer_id, job.trigger_id, job.entrance)
        for job in asking.values()
        if any(pattern.looks_beyond for pattern in journeys[job.journey_id].exit_patterns)
    }
    known = known_at_entry(beyond, now=now) if beyond else {}
    listeners = {
        job.id: Listener(
            customer_id=job.customer_id,
            after=job.serial,
            patterns=journeys[job.journey_id].exit_patterns,
            known=known.get(job.id) or nothing_known(now),
        )
        for job in asking.values()
        if job.serial is not None
    }
    return {job_id: ended_by(event.name) for job_id, event in earliest_events(listeners).items()}
