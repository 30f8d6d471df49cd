"""When an event happened, as its caller says."""

import re
from datetime import datetime, timedelta

from customers.conditions.instants import GRAMMAR_WITH_OFFSET, parse_instant
from engage.errors import InvalidRequest

IN_THE_FUTURE = "occurredAt is more than 5 minutes in the future."
# How far the clocks of two machines may differ.
_CLOCK_DIFFERENCE = timedelta(minutes=5)
_WITH_OFFSET = re.compile(GRAMMAR_WITH_OFFSET)


def event_time(text: str, *, now: datetime, oldest: timedelta, oldest_in_words: str) -> datetime:
    """The instant that a body's `occurredAt` names. Raises InvalidRequest if it is none, too old, or to come."""
    moment = parse_instant(text) if _WITH_OFFSET.fullmatch(text) else None
    if moment is None:
        raise InvalidRequest("occurredAt must be an instant in ISO 8601 with an offset, like 2026-11-20T19:08:00Z.")
    if moment > now + _CLOCK_DIFFERENCE:
        raise InvalidRequest(IN_THE_FUTURE)
    if moment < now - oldest:
        raise InvalidRequest(f"occurredAt is more than {oldest_in_words} ago.")
    return moment


def reported_event_time(text: str, *, now: datetime) -> datetime:
    """The same for what a server reports, within ten years."""
    return event_time(text, now=now, oldest=timedelta(days=3653), oldest_in_words="ten years")
