"""Patterns that match events: a name, and optionally a condition on the event."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

from customers.conditions import Condition, CustomerFacts, Facts, InvalidCondition, Root, evaluate, parse_condition
from customers.event_rules import MAX_EVENT_NAME_LENGTH
from engage.documents import Part

# These conditions cannot refer to the customer.
_NOBODY = CustomerFacts(id="", external_id=None, email=None, phone=None, user_id=None, attributes={})


@dataclass(frozen=True, kw_only=True)
class EventPattern:
    """Events of this name that meet the condition, if there is one."""

    name: str
    where: Condition | None = None

    def matches(self, *, name: str, properties: Mapping[str, Any]) -> bool:
        """Whether the event matches."""
        if name != self.name:
            return False
        return self.where is None or evaluate(
            self.where, Facts(customer=_NOBODY, event_name=name, event_properties=properties)
        )


def stored_pattern(*, name: str, where: Any) -> EventPattern:
    """The pattern of a stored event name and its stored `where` (None: every event of the name)."""
    condition = None if where is None else parse_condition(where, roots=[Root.EVENT], place="where")
    return EventPattern(name=name, where=condition)


def read_pattern(fields: Mapping[str, Part]) -> EventPattern:
    """The pattern in the fields `event` and `where` (absent or null: every event of the name)."""
    where = fields.get("where")
    return EventPattern(
        name=fields["event"].text(at_most=MAX_EVENT_NAME_LENGTH),
        where=None if where is None or where.is_null else read_condition(where, roots={Root.EVENT}),
    )


def read_condition(part: Part, *, roots: Collection[Root]) -> Condition:
    """The condition in this part. Refuses an invalid one with the document's own refusal."""
    try:
        return parse_condition(part.value, roots=roots, place=part.place)
    except InvalidCondition as invalid:
        raise part.refusal(invalid.message) from None
