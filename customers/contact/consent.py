"""Consent: a ledger of acts that is only added to, and the state that follows from it.

The state is that of the latest act by when it occurred. An act without a time, as in an import, counts as before all
others; of acts at the same moment an opt-out wins. So an opt-in that occurred before an opt-out never wins, whenever it
arrives. Somebody who asks to be subscribed, though they are, stays subscribed.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import datetime, timedelta
from enum import StrEnum
from typing import NamedTuple

from customers.contact.periods import Period


class State(StrEnum):
    """Of one person, for one topic by one channel."""

    UNKNOWN = "unknown"  # no act; what the topic says of such people holds
    REQUESTED = "requested"  # a confirmation is awaited
    SUBSCRIBED = "subscribed"
    UNSUBSCRIBED = "unsubscribed"
    EXPIRED = "expired"  # it was given for a time that is over


# What an act may say; the others follow.
GIVEN = (State.SUBSCRIBED, State.UNSUBSCRIBED, State.REQUESTED)
_STRICTEST = (State.UNSUBSCRIBED, State.REQUESTED, State.SUBSCRIBED)


class Act(NamedTuple):
    """`at` is when it occurred, None if nobody knows; an opt-out may be for a time: `until`."""

    state: State
    at: datetime | None
    until: datetime | None = None


@dataclass(frozen=True)
class Consent:
    """What holds: `since` is when the act that decided it occurred; `until` when an opt-out for a time ends."""

    state: State = State.UNKNOWN
    since: datetime | None = None
    until: datetime | None = None


NOTHING_KNOWN = Consent()
TO_CONFIRM = timedelta(days=30)


def _order(act: Act) -> tuple[bool, float, int]:
    at = act.at.timestamp() if act.at else 0.0
    return act.at is not None, at, -_STRICTEST.index(act.state)


def consent_after(acts: Iterable[Act]) -> Consent:
    """What follows from all acts about one topic and channel, in whatever order they arrived."""
    held = NOTHING_KNOWN
    for act in sorted(acts, key=_order):
        held = _after(held, act)
    return held


def _after(held: Consent, act: Act) -> Consent:
    if act.state is State.REQUESTED and held.state is State.SUBSCRIBED:
        return held
    return Consent(state=act.state, since=act.at, until=act.until)


def consent_at(held: Consent, now: datetime, *, valid_for: Period | None = None) -> Consent:
    """The same as it is by now: a pause may be over, and a consent that was given for a time may have expired.

    A wish that was not confirmed in time is forgotten; the ledger keeps it.
    """
    if held.state is State.REQUESTED and held.since and held.since + TO_CONFIRM <= now:
        return NOTHING_KNOWN
    if held.state is State.UNSUBSCRIBED and held.until is not None and held.until <= now:
        return Consent(state=State.SUBSCRIBED, since=held.until)
    if held.state is State.SUBSCRIBED and valid_for and held.since and valid_for.after(held.since) <= now:
        return Consent(state=State.EXPIRED, since=valid_for.after(held.since))
    return held


def stricter(one: Consent, other: Consent) -> Consent:
    """What is stored of a person of whom two were known. Any act counts more than none."""
    if State.UNKNOWN in (one.state, other.state):
        return other if one.state is State.UNKNOWN else one
    return min(one, other, key=lambda held: _STRICTEST.index(held.state))
