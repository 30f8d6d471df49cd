"""Walks one customer through a journey on a virtual clock, with the real engine. Nothing is written or sent."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from datetime import datetime
from time import thread_time

from engage.process.budget import CALL, TURN, Budget
from journeys.steps.context import StepContext
from journeys.steps.course import Course, walk_on
from journeys.steps.results import Arrival, AwaitChange, AwaitEvent, Ended, First, StepRecord, Stop, Wait

MAX_STEP_RECORDS = 200
MAX_SECONDS = 2.0  # of CPU time


@dataclass(frozen=True, kw_only=True)
class TimedRecord:
    """What would happen in a step, and when."""

    at: datetime
    step_record: StepRecord


@dataclass(frozen=True, kw_only=True)
class Rehearsal:
    """The step records in order, how it `ended` (None if it was stopped or has no steps), and `ending` in words."""

    steps: tuple[TimedRecord, ...]
    ended: Ended | None
    ending: str


def rehearse(
    course: Course, context: StepContext, *, step_id: str | None = None, at_most: int = MAX_STEP_RECORDS
) -> Rehearsal:
    """Walks from this step, by default the first, to the end: at most `at_most` step records, or MAX_SECONDS.

    Nor does it go on where what is left of a call's budget is less than that of a turn.

    Every wait lasts until it is due. It is assumed that no awaited event arrives, that nobody writes the profile and
    that every webhook succeeds, and the details of those steps say so. The context is not changed.
    """
    start = step_id or course.first
    if start is None:
        return Rehearsal(steps=(), ended=None, ending="The journey has no steps: it completes at once.")
    steps: list[TimedRecord] = []
    until = thread_time() + MAX_SECONDS
    with Budget(CALL) as budget:
        for found in _walk(course, replace(context), start):
            if isinstance(found, Ended):
                return Rehearsal(steps=tuple(steps), ended=found, ending=found.reason)
            if len(steps) == at_most or thread_time() > until:
                break
            steps.append(found)
            if budget.left < TURN:
                break
    return Rehearsal(steps=tuple(steps), ended=None, ending=f"Stopped after {len(steps)} steps.")


def _walk(course: Course, context: StepContext, step_id: str) -> Iterator[TimedRecord | Ended]:
    """Yields the step records with their times, endlessly if the journey never ends, then how it ended."""
    arrival: Arrival = First()
    stop: Stop | None = None
    while True:
        try:
            walk = walk_on(course, context, step_id=step_id, arrival=arrival)
        except Exception as error:  # noqa: BLE001 - any exception from a step is reported as the end
            yield _given_up(step_id, error)
            return
        for step_record in walk.step_records:
            unheard = isinstance(stop, AwaitEvent | AwaitChange) and step_record.resumed
            yield TimedRecord(at=context.now, step_record=_marked(step_record) if unheard else step_record)
        if isinstance(walk.stop, Ended):
            yield walk.stop
            return
        stop = walk.stop
        step_id, arrival = stop.step_id, stop.assumed
        if context.contact and not walk.step_records[-1].resumed:
            context.contact.waiting_since = context.now
        if isinstance(stop, Wait | AwaitEvent | AwaitChange):
            context.now = stop.due_at
        context.waits_until = stop.until if isinstance(stop, AwaitChange) else None


def _given_up(step_id: str, error: Exception) -> Ended:
    """How a step whose own code raises would end: a worker retries it, then ends the enrollment."""
    reason = f"The step {step_id!r} cannot be walked, and would be given up: {type(error).__name__}: {error}"
    return Ended(step_id=step_id, exited=True, reason=reason)


def _marked(step_record: StepRecord) -> StepRecord:
    return step_record._replace(detail=f"{step_record.detail.removesuffix('.')} (assumed).")
