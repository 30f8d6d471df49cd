"""When a condition may change by itself, because time goes by."""

from datetime import UTC, datetime, timedelta

from customers.conditions.evaluate import Facts, instant_of, value_of
from customers.conditions.operands import FromNow
from customers.conditions.tree import Condition, tests_of

_JUST_AFTER = timedelta(microseconds=1)  # what comes before or after a moment does so from then on


def next_change(condition: Condition, facts: Facts) -> datetime | None:
    """The next moment (in UTC) after these facts' at which a test against the clock may come out otherwise."""
    moments: list[datetime] = []
    for test in tests_of(condition):
        instant = instant_of(value_of(test.field, facts)) if isinstance(test.operand, FromNow) else None
        if instant is not None:
            try:
                moments.append(instant.astimezone(UTC) - test.operand.offset + _JUST_AFTER)
            except OverflowError:  # before the year 1, or after 9999
                continue
    return min((moment for moment in moments if moment > facts.now), default=None)
