"""Walks the steps of a journey: the one engine for real enrollments, dry runs and rehearsals.

It does no I/O: steps take the time from the context, and what must be written, recorded or sent is returned as values.
An exception from a step's code is not caught here: it concerns one enrollment, which only the caller knows.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from time import monotonic, thread_time

from engage.process.budget import TURN, Budget
from journeys.steps.contacting import ContactingStep
from journeys.steps.context import Occurrence, StepContext
from journeys.steps.definition import ResumableStep, Step, WaitingStep, parse_steps
from journeys.steps.exit_rules import ExitRules, parse_exit_rules
from journeys.steps.in_app import InApp
from journeys.steps.links import LINK_NAMES
from journeys.steps.results import (
    Arrival,
    Ended,
    First,
    GoTo,
    Pause,
    Send,
    StepRecord,
    StepResult,
    Stop,
    TimedOut,
    Walk,
    step_record,
)
from journeys.steps.send import SendStep
from journeys.steps.wait_until import WaitUntil

MAX_STEPS_IN_ONE_GO = 100
SECONDS_IN_ONE_GO = 1.0  # of CPU time
_FOR_A_STEP = TURN * 3 / 4  # what must be left of the budget, so that a step that fails would fail alone, too
_COMPLETED = "The last step is done."


@dataclass(frozen=True, kw_only=True)
class Course:
    """The steps of one revision, by id and in order, and the rules that end an enrollment early."""

    steps: Mapping[str, Step]
    exit_rules: ExitRules = field(default_factory=ExitRules)
    reads_variables: bool = False
    reads_links: bool = False  # of its messages
    connections: frozenset[str] = frozenset()  # by their keys
    reads_answers: bool = False  # what its steps keep of them
    messages: frozenset[str] = frozenset()  # by their keys
    withdraws: bool = False  # what it has delivered, where an enrollment exits
    asks: bool = False  # whether it may write to somebody
    redrawn: frozenset[str] = frozenset()  # splits whose weights were others in an earlier revision

    @property
    def first(self) -> str | None:
        """The id of the step that an enrollment begins with; None if there are no steps."""
        return next(iter(self.steps), None)


def parse_course(steps: object, exit_on: object, redrawn: Iterable[str] = ()) -> Course:
    """Parses the stored steps and exit rules of a revision. Raises InvalidSteps or InvalidExitRules."""
    parsed = parse_steps(steps, stored=True)
    written = repr([steps, exit_on])
    delivering = [step for step in parsed if isinstance(step, InApp)]
    return Course(
        steps={step.id: step for step in parsed},
        exit_rules=parse_exit_rules(exit_on, stored=True),
        reads_variables="vars" in written,  # or a step speaks of them
        reads_links=any(name in written for name in LINK_NAMES),  # as above
        reads_answers="steps" in written or "'delivery'" in written,  # as above
        connections=frozenset(step.connection for step in parsed if isinstance(step, SendStep)),
        messages=frozenset(step.message for step in delivering),
        asks=any(isinstance(step, ContactingStep) for step in parsed),
        withdraws=any(step.withdraw_on_exit for step in delivering),
        redrawn=frozenset(redrawn),
    )


def walk_on(course: Course, context: StepContext, *, step_id: str, arrival: Arrival, begun: Step | None = None) -> Walk:
    """Walks from this step until a stop, for at most MAX_STEPS_IN_ONE_GO steps or SECONDS_IN_ONE_GO.

    What they have written may take a turn's budget. No step begins once a quarter of it is spent.

    `begun` is the step as it was when it began, if that was in an earlier revision.

    Checks the exit conditions before each step that has not begun. Updates `context.customer` with what the steps
    write. Raises ValueError if the arrival does not fit the step.
    """
    with Budget(TURN) as budget:
        return _walk_on(course, context, budget, step_id=step_id, arrival=arrival, begun=begun)


def _walk_on(
    course: Course, context: StepContext, budget: Budget, *, step_id: str, arrival: Arrival, begun: Step | None
) -> Walk:
    step_records: list[StepRecord] = []
    # Processor time is never more than what the clock shows, and takes ten times as long to ask for.
    until, not_before = thread_time() + SECONDS_IN_ONE_GO, monotonic() + SECONDS_IN_ONE_GO
    step = course.steps[step_id]
    step = step.as_begun(begun) if isinstance(step, WaitUntil) and isinstance(begun, WaitUntil) else step
    while True:
        result = _take(course, context, step, arrival)
        if not isinstance(result, StepResult):
            return Walk(step_records=tuple(step_records), stop=result)
        step_records.append(result.step_record)
        then = _exit_by_its_event(course, context, result) or result.then
        if not isinstance(then, GoTo):
            may_exit = isinstance(then, Send) and bool(course.exit_rules.conditions)
            return Walk(step_records=tuple(step_records), stop=then, may_exit=may_exit)
        if then.step_id is None:
            return Walk(step_records=tuple(step_records), stop=Ended(step_id=step_id, exited=False, reason=_COMPLETED))
        step_id, step, arrival = then.step_id, course.steps[then.step_id], First()
        enough = len(step_records) >= MAX_STEPS_IN_ONE_GO or (monotonic() > not_before and thread_time() > until)
        enough = enough or (budget.spent > 0 and budget.left < _FOR_A_STEP)
        if _pauses(before=step, after=result.step_record, enough=enough):
            return Walk(step_records=tuple(step_records), stop=Pause(step_id=step_id))


def _pauses(*, before: Step, after: StepRecord, enough: bool) -> bool:
    """Whether the walk is taken up again by another one before this step.

    A wait ends the walk anyway, so there is no pause before it, unless an early event has just ended another wait: then
    the next walk has to know what came after that event. So an enrollment that stands before a wait, and not at its
    first step, has come there by the event that it heard last.
    """
    return after.heard is not None if before.awaited else enough


def _take(course: Course, context: StepContext, step: Step, arrival: Arrival) -> StepResult | Stop:
    """The step's result; Ended if an exit condition holds before it begins, or another stop if it goes on waiting."""
    if isinstance(arrival, First):
        reason = course.exit_rules.conditions and course.exit_rules.holding(context.facts())
        if reason:
            return Ended(step_id=step.id, exited=True, reason=reason)
        begun = step.begin(context)
        if context.waits_from and isinstance(step, WaitingStep):
            context.waits_from = None  # the next one counts from when it begins
        return begun
    if isinstance(arrival, TimedOut) and isinstance(step, ContactingStep):  # everything is asked again
        reason = course.exit_rules.conditions and course.exit_rules.holding(context.facts())
        if reason:
            end = Ended(step_id=step.id, exited=True, reason=reason)
            return StepResult(step_record(step, "skipped", reason, resumed=True), end)
    if isinstance(step, ResumableStep):
        return step.resume(context, arrival)
    raise ValueError(f"A step of type {step.type} is over when it has begun: nothing can resume it.")


def _exit_by_its_event(course: Course, context: StepContext, result: StepResult) -> Stop | None:
    """The end, if the step tracked an event that ends its own enrollment."""
    tracked = result.step_record.tracked
    if tracked is None or not tracked.reacts:
        return None
    event = Occurrence(name=tracked.name, properties=tracked.properties)
    reason = course.exit_rules.matching(event, from_bridge=False, known=context.facts)
    return Ended(step_id=result.step_record.step_id, exited=True, reason=reason) if reason else None
