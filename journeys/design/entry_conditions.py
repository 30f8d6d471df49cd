"""Entry conditions, checked when a journey is saved (evaluated for jobs in entering/entry_conditions.py)."""

from customers.conditions import Root, parse_condition
from journeys.models import Journey

_ROOTS = {
    Journey.TriggerType.API: {Root.CUSTOMER, Root.API},
    Journey.TriggerType.EVENT: {Root.CUSTOMER, Root.API, Root.EVENT},
}


def check_entry_conditions(conditions: object, *, trigger_type: str) -> None:
    """Raises InvalidCondition, which names the place, unless a journey of this type may have these (None: none)."""
    if conditions is not None:
        parse_condition(conditions, roots=_ROOTS[Journey.TriggerType(trigger_type)], place="entryConditions")
