"""`wait_until`: waits until a condition holds, for at most `timeout`.

`{"id": "verified", "type": "wait_until", "if": {"field": "customer.phone", "op": "exists"}, "timeout": "P3D",
"onTrue": "text", "onTimeout": "mail"}`; `onTrue` and `onTimeout` default to the step's `next`.

The condition is looked at when the step begins and by each write of the customer's profile (walking/watching.py). Once
it held, the wait is over, whatever becomes of it before the customer goes on. Where it compares with the clock, the
moments at which that may come out otherwise are due times. One that takes too long to be evaluated does not hold.
"""

from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import ClassVar

from customers.conditions import Condition, Facts, findings_of, holds, in_words, values_that_decide
from customers.conditions.changes import next_change
from engage.json.described import told, within, written
from engage.json.durations import duration_in_words
from journeys.steps.conditions import condition_within
from journeys.steps.context import StepContext
from journeys.steps.durations import read_timeout
from journeys.steps.kinds import Kind, Way, target, way
from journeys.steps.results import AwaitChange, GoTo, Heard, Resumption, StepResult, TimedOut, going_on, step_record
from journeys.steps.results import in_words as moment_in_words


@dataclass(frozen=True, kw_only=True)
class WaitUntil(Kind):
    """Goes on to `on_true` once the condition holds, or to `on_timeout` if it does not in time."""

    type: ClassVar = "wait_until"
    title: ClassVar = "Wait until it holds"
    icon: ClassVar = "hourglass_empty"
    does: ClassVar = (
        "Waits until a condition holds: at once, by a write of the profile, or because time goes by. "
        "Only if and timeout are needed."
    )
    examples: ClassVar = (
        {
            "id": "verified",
            "if": {"field": "customer.verifiedAt", "op": "after", "value": {"now": "-P30D"}},
            "timeout": "P3D",
            "onTrue": "thank",
            "onTimeout": "halves",
        },
    )

    condition: Condition = within("if", condition_within, about=told("Until", "condition", start={}))
    timeout: timedelta = written("timeout", read_timeout, about=told("At most", "duration", start="P3D"))
    on_true: str | None = target("onTrue", "When it holds")
    on_timeout: str | None = target("onTimeout", "When it did not")

    @property
    def label(self) -> str:
        return f"Wait until {in_words(self.condition)}, at most {duration_in_words(self.timeout)}"

    @property
    def at_once(self) -> tuple[str, ...]:
        return () if self.on_true is None else (self.on_true,)

    def ways(self) -> list[Way]:
        return [way(self.on_true, "it holds"), way(self.on_timeout, "it did not hold in time")]

    def begin(self, context: StepContext) -> StepResult:
        facts = context.facts()
        if self.holds(facts):
            because = tuple(values_that_decide([self.condition], findings_of(facts)))
            return self._go_on(self.on_true, "The condition holds already", because=because)
        until = context.since + self.timeout
        detail = f"Waits for its condition until {moment_in_words(until)}."
        return StepResult(step_record=step_record(self, "waiting", detail), then=self._wait(facts, until))

    def resume(self, context: StepContext, arrival: Resumption) -> StepResult | AwaitChange:
        match arrival:
            case Heard():
                return self._go_on(self.on_true, "The condition came to hold")
            case TimedOut():
                facts, until = context.facts(), context.waits_until or context.now
                if self.holds(facts):
                    return self._go_on(self.on_true, "The condition came to hold")
                if until <= context.now:
                    return self._go_on(self.on_timeout, "The condition did not hold in time")
                return self._wait(facts, until)
        raise ValueError("A wait for a condition is over with that or with its time.")

    def holds(self, facts: Facts) -> bool:
        """Whether its condition does; not this time, if that takes more time than there is."""
        return holds(self.condition, lambda: facts)

    def due_at(self, facts: Facts, until: datetime) -> datetime:
        """When it is to be looked at again if nobody writes, while the condition does not hold."""
        return min(next_change(self.condition, facts) or until, until)

    def as_begun(self, begun: "WaitUntil") -> "WaitUntil":
        """It with the condition for which it waits since it began, in an earlier revision."""
        return replace(self, condition=begun.condition)

    def _wait(self, facts: Facts, until: datetime) -> AwaitChange:
        return AwaitChange(step_id=self.id, due_at=self.due_at(facts, until), until=until)

    def _go_on(self, step_id: str | None, why: str, *, because: tuple[str, ...] | None = None) -> StepResult:
        """With `because` it never waited: this is its beginning and its end."""
        detail = f"{why}: {going_on(step_id)}."
        record = step_record(self, "done", detail, resumed=because is None, because=because or ())
        return StepResult(step_record=record, then=GoTo(step_id=step_id))
