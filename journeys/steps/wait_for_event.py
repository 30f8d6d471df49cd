"""`wait_for_event`: waits for an event of the customer, for at most `timeout`.

`{"id": "bought", "type": "wait_for_event", "event": "order", "where": {…}, "timeout": "P3D", "onEvent": "thanks",
"onTimeout": "remind"}`; `onEvent` and `onTimeout` default to the step's `next`. With `"fromBridge": false`, events that
the bridge records do not count.

Events count from the moment that it begins. If it is the first step, they count from the moment that the job was
queued; if it directly follows a wait that an event ended, from that event on. So it may be over as it begins.

With `"delivery": "offer"`, it waits for an event `in_app.…` of what the step `offer`, which it directly follows, has
delivered: both are done in one transaction, so there is no gap.
"""

from dataclasses import dataclass, replace
from datetime import timedelta
from typing import ClassVar, Self

from customers.conditions import AllOf, parse_condition
from customers.conditions.fields import ENROLLED
from customers.event_rules import RESERVED_PREFIX
from engage.json.described import all_of, taken_from, told, written
from engage.json.documents import Fields
from engage.json.durations import duration_in_words
from journeys.steps.context import StepContext
from journeys.steps.durations import read_timeout
from journeys.steps.events import EventPattern
from journeys.steps.kinds import Kind, Way, target, way
from journeys.steps.results import (
    AlreadyHappened,
    AwaitEvent,
    GoTo,
    Heard,
    Resumption,
    StepResult,
    TimedOut,
    going_on,
    in_words,
    step_record,
)
from journeys.steps.written import WrittenStep


def _read_delivery(step: WrittenStep, parts: Fields) -> str | None:
    part = parts.get("delivery")
    if part is None or part.is_null:
        return None
    if not str(parts["event"].value).startswith(RESERVED_PREFIX):
        part.refuse(f"may stand only where the event's name begins with {RESERVED_PREFIX}.")
    return step.target(part)


def _of_delivery(pattern: EventPattern, step_id: str) -> EventPattern:
    """The pattern, for events of what this step has delivered alone."""
    test = {"field": "event.deliveryId", "op": "eq", "to": f"steps.{step_id}.deliveryId"}
    own = parse_condition(test, roots=ENROLLED, place="delivery", stored=True)
    return replace(pattern, where=own if pattern.where is None else AllOf((own, pattern.where)))


@dataclass(frozen=True, kw_only=True)
class WaitForEvent(Kind):
    """Goes on to `on_event` at the first event that matches the pattern, or to `on_timeout` if none comes in time."""

    type: ClassVar = "wait_for_event"
    title: ClassVar = "Wait for an event"
    icon: ClassVar = "notifications"
    does: ClassVar = (
        "Waits for an event of the customer. Only event and timeout are needed; where is a condition over the event. "
        "fromBridge false: events from in-app messages, which anybody can send, do not count. delivery names the "
        "in_app step before it: only what becomes of its own message counts."
    )
    examples: ClassVar = (
        {"id": "clicked", "event": "in_app.acted", "delivery": "offer", "timeout": "P3D"},
        {
            "id": "listen",
            "event": "bought",
            "where": {"field": "event.properties.price", "op": "gt", "value": 10},
            "fromBridge": False,
            "timeout": "P3D",
            "onEvent": "thank",
            "onTimeout": "halves",
        },
    )
    paces_loops: ClassVar = True

    pattern: EventPattern = all_of(EventPattern)
    delivery: str | None = taken_from(
        _read_delivery,
        optional=["delivery"],
        default=None,
        about=[
            {"name": "delivery", **told("Of the message of", "in_app_step", "Only what becomes of it counts.")},
        ],
    )
    timeout: timedelta = written("timeout", read_timeout, about=told("At most", "duration", start="P3D"))
    on_event: str | None = target("onEvent", "When it came")
    on_timeout: str | None = target("onTimeout", "When it did not")

    @property
    def label(self) -> str:
        return f"Wait for {self.pattern.in_full}, at most {duration_in_words(self.timeout)}"

    @property
    def awaited(self) -> EventPattern:
        return self.pattern

    def ways(self) -> list[Way]:
        return [way(self.on_event, "the event came"), way(self.on_timeout, "it did not come in time")]

    def begin(self, context: StepContext) -> StepResult:
        early, context.early = context.early, None
        if early is not None:
            context.event, context.chain = early.occurrence(), early.chain
            heard = AlreadyHappened(event_id=early.id, chain=early.chain)
            return self._go_on(self.on_event, "The event had come already", heard=heard)
        due_at = context.since + self.timeout
        return StepResult(
            step_record=step_record(
                self, "waiting", f"Waits for the event {self.pattern.in_words} until {in_words(due_at)}."
            ),
            then=AwaitEvent(step_id=self.id, event_name=self.pattern.name, due_at=due_at),
        )

    def resume(self, context: StepContext, arrival: Resumption) -> StepResult:
        match arrival:
            case Heard():
                return self._go_on(self.on_event, "The event came")
            case TimedOut():
                return self._go_on(self.on_timeout, "The event did not come in time")
        raise ValueError("A wait for an event is over with the event or with its time.")

    def _go_on(self, step_id: str | None, why: str, *, heard: AlreadyHappened | None = None) -> StepResult:
        """With `heard` it never waited: this is its beginning and its end."""
        record = step_record(self, "done", f"{why}: {going_on(step_id)}.", resumed=heard is None, heard=heard)
        return StepResult(step_record=record, then=GoTo(step_id=step_id))

    @classmethod
    def parse(cls, step: WrittenStep) -> Self:
        parsed = super().parse(step)
        if parsed.delivery is None:
            return parsed
        return replace(parsed, pattern=_of_delivery(parsed.pattern, parsed.delivery))
