"""Patterns that match events: a name, optionally a condition on the event, and whether those of the bridge count.

Anybody can send an app's id, so what matters can be left to what servers and journeys say: `"fromBridge": false`.
"""

from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property, partial
from typing import Any

from customers.conditions import (
    Condition,
    CustomerFacts,
    Facts,
    Root,
    holds,
    in_words,
    parse_condition,
    roots_of,
)
from customers.event_rules import MAX_EVENT_NAME_LENGTH
from engage.json.described import told, within, written
from engage.json.documents import Part
from journeys.steps.conditions import condition_within
from journeys.steps.context import Occurrence, with_event

# What an enrollment knows, put together when a pattern asks: parsed, profiles take ten times the memory of their texts.
Known = Callable[[], Facts]
_NOBODY = CustomerFacts(id="", external_id=None, email=None, phone=None, user_id=None, attributes={})


def nothing_known(now: datetime) -> Known:
    """For patterns that look at the event alone, as those that start journeys do."""
    facts = Facts(customer=_NOBODY, now=now)
    return lambda: facts


@dataclass(frozen=True, kw_only=True)
class EventPattern:
    """Events of this name that meet the condition, if there is one; with `from_bridge` also those that anybody sent."""

    name: str = written(
        "event", partial(Part.text, at_most=MAX_EVENT_NAME_LENGTH), about=told("Event", "event", start="")
    )
    where: Condition | None = within(
        "where", condition_within, default=None, or_null=True, about=told("Only if", "condition", roots=["event"])
    )
    from_bridge: bool = written(
        "fromBridge",
        Part.flag,
        default=True,
        or_null=True,
        about=told("Also from in-app messages and pages", "flag", "Anybody can send those.", default=True),
    )

    @property
    def in_words(self) -> str:
        """The name, and whose events do not count: "'bought' (not from the bridge)"."""
        return repr(self.name) if self.from_bridge else f"{self.name!r} (not from the bridge)"

    @property
    def in_full(self) -> str:
        """As in_words, with the condition."""
        return self.in_words if self.where is None else f"{self.in_words} where {in_words(self.where)}"

    def concerns(self, *, name: str, from_bridge: bool) -> bool:
        """Whether the event has the name, and comes from where it counts."""
        return name == self.name and (self.from_bridge or not from_bridge)

    @cached_property
    def looks_beyond(self) -> bool:
        """Whether it compares the event with what the enrollment knows."""
        return self.where is not None and not roots_of(self.where) <= {Root.EVENT}

    def matches(self, event: Occurrence, *, from_bridge: bool, known: Known) -> bool:
        """Whether the event matches; `from_bridge`: the bridge recorded it.

        Unless the pattern `looks_beyond` the event, nothing needs to be known but when it is. It does not match where
        its condition takes more time than there is.
        """
        if not self.concerns(name=event.name, from_bridge=from_bridge):
            return False
        return self.where is None or holds(self.where, lambda: with_event(known(), event), counting=self.looks_beyond)


def stored_pattern(*, name: str, where: Any, from_bridge: bool) -> EventPattern:
    """The pattern of a stored event name and its stored `where` (None: every event of the name)."""
    condition = None if where is None else parse_condition(where, roots=[Root.EVENT], place="where", stored=True)
    return EventPattern(name=name, where=condition, from_bridge=from_bridge)
