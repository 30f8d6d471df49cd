"""The conditions of a journey itself: of those who enter, and of the events that start it."""

from customers.conditions import Root, parse_condition
from journeys.models import Journey

_ENTRY_ROOTS: dict[str, set[Root]] = {
    Journey.TriggerType.API: {Root.CUSTOMER, Root.API, Root.ENTRANCE},
    Journey.TriggerType.EVENT: {Root.CUSTOMER, Root.API, Root.EVENT, Root.ENTRANCE},
}


def check_event_where(journey: Journey, *, stored: bool = False) -> None:
    """Raises InvalidCondition, which names the place, unless it may start with events that meet its `where`."""
    if journey.event_where is not None:
        parse_condition(journey.event_where, roots={Root.EVENT}, place="where", stored=stored)


def check_entry_conditions(conditions: object, *, trigger_type: str, stored: bool = False) -> None:
    """Raises InvalidCondition, which names the place, unless a journey of this type may have these (None: none)."""
    if conditions is not None:
        roots = _ENTRY_ROOTS.get(trigger_type, {Root.CUSTOMER})  # an unknown type is a mistake of its own
        parse_condition(conditions, roots=roots, place="entryConditions", stored=stored)
