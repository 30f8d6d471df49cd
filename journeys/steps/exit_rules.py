"""`exitOn` of a journey: what ends an enrollment, whichever step it is at.

`[{"event": "bought", "where": {…}}, {"if": {"field": "customer.plan", "op": "eq", "value": "pro"}}]`: an event ends it
as soon as it is recorded (with `"fromBridge": false` unless the bridge recorded it), a condition if it holds before a
step, or as the profile is written while a step still sends (walking/watching.py).
"""

from dataclasses import dataclass
from functools import cached_property

from customers.conditions import Condition, Facts, holds
from engage.errors import Refusal
from engage.json.described import read_object
from engage.json.documents import Part, Reading
from engage.process.budget import third
from journeys.rendering import NAMES, Names
from journeys.steps.conditions import read_condition
from journeys.steps.context import Occurrence
from journeys.steps.events import EventPattern, Known
from journeys.steps.written import Written

MAX_RULES = 20


class InvalidExitRules(Refusal):
    """The exit conditions are invalid; the message names the place: `exitOn[1].where.op is …`."""

    error = "Invalid exit conditions"


@dataclass(frozen=True, kw_only=True)
class ExitRules:
    """What ends an enrollment before its last step."""

    events: tuple[EventPattern, ...] = ()
    conditions: tuple[Condition, ...] = ()

    @cached_property
    def event_names(self) -> tuple[str, ...]:
        """The distinct names of the events that may end it, sorted."""
        return tuple(sorted({pattern.name for pattern in self.events}))

    def matching(self, event: Occurrence, *, from_bridge: bool, known: Known) -> str | None:
        """Why this event ends the enrollment, which knows this; None if it does not."""
        if any(pattern.matches(event, from_bridge=from_bridge, known=known) for pattern in self.events):
            return ended_by(event.name)
        return None

    def holding(self, facts: Facts) -> str | None:
        """Why these facts end the enrollment; None if they do not."""
        with third():  # the rest is for the step
            for number, condition in enumerate(self.conditions, start=1):
                if holds(condition, lambda: facts):
                    return f"Exit condition {number} of {len(self.conditions)} holds."
        return None


def ended_by(event_name: str) -> str:
    """The reason why an enrollment ends, if an event of this name ends it."""
    return f"The event {event_name!r} ends the journey."


def parse_exit_rules(value: object, *, stored: bool = False, names: Names = NAMES) -> ExitRules:
    """Parses the rules; null means none. `stored` ones need not keep to rules that came later.

    `names` has what the journey's steps keep.

    Raises InvalidExitRules, whose message names the place.
    """
    if value is None:
        return ExitRules()
    with Reading() as reading:
        parts = Part(value, "exitOn", InvalidExitRules).items(at_most=MAX_RULES)
        rules = reading.each(parts, lambda rule: _read(rule, stored=stored, names=names))
    return ExitRules(
        events=tuple(rule for rule in rules if isinstance(rule, EventPattern)),
        conditions=tuple(rule for rule in rules if not isinstance(rule, EventPattern)),
    )


def _read(part: Part, *, stored: bool, names: Names) -> EventPattern | Condition:
    members = part.members().keys()
    if "if" in members:
        return read_condition(part.fields(required=["if"])["if"], stored=stored, names=names)
    if "event" not in members:
        part.refuse("must hold event, or if.")
    return read_object(EventPattern, part, Written(part=part, stored=stored, names=names))
