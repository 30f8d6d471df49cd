"""`may_contact`: may this message be sent to this person now? One pure function over frozen values.

It asks for the reach of the address, the person's consent, the windows and the caps, in this order; the first that says
no decides. No is `skip`, or `wait` until a moment at which everything is asked again.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta, tzinfo
from enum import StrEnum
from typing import Literal, NamedTuple

from customers.contact.caps import OWN, Cap
from customers.contact.consent import NOTHING_KNOWN, Consent, State, consent_at
from customers.contact.periods import Period
from customers.contact.windows import Window, next_open_in_all
from engage.json.durations import duration_in_words

Verdict = Literal["send", "wait", "skip"]


class Reach(StrEnum):
    """What is known of an address beside that it is one."""

    HARD_BOUNCE = "hard_bounce"
    SOFT_BOUNCE = "soft_bounce"
    COMPLAINT = "complaint"
    INVALID = "invalid"
    MANUAL = "manual"
    ERASED = "erased"


# Whoever complained still gets what is no advertising: a receipt, a new password.
_BARS_ADVERTISING_ALONE = frozenset({Reach.COMPLAINT})
_IN_WORDS = {
    Reach.HARD_BOUNCE: "The address does not exist, by what the provider said",
    Reach.SOFT_BOUNCE: "Five messages in a row did not arrive at the address",
    Reach.COMPLAINT: "A message to the address was reported as unwanted",
    Reach.INVALID: "The address is none",
    Reach.MANUAL: "The address was suppressed by hand",
    Reach.ERASED: "Whoever had the address was erased",
}


@dataclass(frozen=True, kw_only=True)
class TopicRule:
    """What of a topic decides. `default` is whether those of whom nothing is known are subscribed."""

    key: str
    default: Literal["opted_in", "opted_out"]
    valid_for: Period | None = None


@dataclass(frozen=True, kw_only=True)
class Policy:
    """When and how often a workspace writes. Of the windows for a channel, one has to be open."""

    windows: Mapping[str, Sequence[Window]] = field(default_factory=dict)  # by channel
    caps: Sequence[Cap] = ()


NO_POLICY = Policy()


def with_own_cap(policy: Policy, rings: Collection[str]) -> Policy:
    """The same, and OWN of a person who has chosen it: there is a ring of its key among theirs."""
    return replace(policy, caps=[*policy.caps, OWN]) if OWN.key in rings else policy


@dataclass(frozen=True, kw_only=True)
class Message:
    """What is to be sent. Without a topic it is transactional, or nothing is said of it, and consent is not asked for.

    `window` is the step's own, which has to be open as well. `waiting_since` is when it began to wait.
    """

    channel: str
    topic: TopicRule | None = None
    transactional: bool = False
    window: Window | None = None
    waiting_since: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Person:
    """What is known of somebody, by what the message needs: `rings` by the keys of caps.

    `reach` is that of the address.
    """

    id: str
    zone: tzinfo
    consent: Consent = NOTHING_KNOWN
    reach: frozenset[Reach] = frozenset()
    rings: Mapping[str, Sequence[datetime]] = field(default_factory=dict)


@dataclass(frozen=True, kw_only=True)
class Ruling:
    """What one rule says: `state` in a word, such as `unsubscribed`; `words` is a sentence with its numbers."""

    rule: str
    verdict: Verdict
    state: str
    words: str
    until: datetime | None = None


@dataclass(frozen=True, kw_only=True)
class Decision:
    """What the first rule says that says no, or that nothing does; `rules` has what each says by itself."""

    verdict: Verdict
    rule: str
    words: str
    until: datetime | None
    rules: tuple[Ruling, ...]


_YES = "Nothing speaks against it."


def may_contact(message: Message, person: Person, *, policy: Policy = NO_POLICY, now: datetime) -> Decision:
    """Decides; `now` is aware and in UTC. A transactional message passes consent, windows and most caps."""
    rules = tuple(_rules(message, person, policy, now))
    first = next((one for one in rules if one.verdict != "send"), None)
    if first is None:
        return Decision(verdict="send", rule="", words=_YES, until=None, rules=rules)
    return Decision(verdict=first.verdict, rule=first.rule, words=first.words, until=first.until, rules=rules)


def _rules(message: Message, person: Person, policy: Policy, now: datetime) -> Iterator[Ruling]:
    yield _reach(message, person)
    if message.topic is not None and not message.transactional:
        yield _consent(message.topic, person, now)
    if not message.transactional and (ruling := _window(message, person, policy, now)):
        yield ruling
    topic = message.topic.key if message.topic else None
    for cap in policy.caps:
        if cap.counts(channel=message.channel, topic=topic, transactional=message.transactional):
            yield _cap(cap, message, person, now)


def _reach(message: Message, person: Person) -> Ruling:
    barring = person.reach - (_BARS_ADVERTISING_ALONE if message.transactional else frozenset())
    if not barring:
        return Ruling(rule="reach", verdict="send", state="reachable", words="The address can be reached.")
    worst = min(barring, key=list(Reach).index)
    return Ruling(rule="reach", verdict="skip", state=worst.value, words=f"{_IN_WORDS[worst]}.")


def _consent(topic: TopicRule, person: Person, now: datetime) -> Ruling:
    held = consent_at(person.consent, now, valid_for=topic.valid_for)
    state = held.state.value
    yes = held.state is State.SUBSCRIBED or (held.state is State.UNKNOWN and topic.default == "opted_in")
    since = f" since {_day(held.since, person.zone)}" if held.since else ""
    words = {
        State.UNKNOWN: f"Nothing is known of their will about {topic.key!r}; its default is {topic.default}",
        State.REQUESTED: f"They have asked for {topic.key!r}{since} and not confirmed it yet",
        State.SUBSCRIBED: f"Subscribed to {topic.key!r}{since}",
        State.UNSUBSCRIBED: f"Unsubscribed from {topic.key!r}{since}",
        State.EXPIRED: f"The consent to {topic.key!r} expired{since.replace('since', 'on')}",
    }[held.state]
    return Ruling(rule="consent", verdict="send" if yes else "skip", state=state, words=f"{words}.")


def _window(message: Message, person: Person, policy: Policy, now: datetime) -> Ruling | None:
    general, own = policy.windows.get(message.channel, ()), message.window
    if not general and own is None:
        return None
    groups = [group for group in (general, [own] if own else []) if group]
    moment = next_open_in_all(groups, person.zone, now=now, person_id=person.id)
    if moment == now:
        return Ruling(
            rule="window", verdict="send", state="open", words="It is a time at which they may be written to."
        )
    limits = [one.wait_at_most for group in groups for one in group if one.wait_at_most is not None]
    opens = f"It opens {_moment(moment, person.zone)}" if moment else "It never opens"
    no = _No("window", "closed", f"Outside of the window. {opens}", moment)
    return _waiting(no, message, now, at_most=min(limits, default=None))


def _cap(cap: Cap, message: Message, person: Person, now: datetime) -> Ruling:
    rule, ring = f"cap:{cap.key}", person.rings.get(cap.key, ())
    counted = cap.counted(ring, person.zone, now)
    since = f"{len(counted)} of {cap.at_most} since {_moment(cap.begin(person.zone, now), person.zone)}"
    free = cap.free_at(ring, person.zone, now)
    if free is None:
        return Ruling(rule=rule, verdict="send", state="free", words=f"Below the cap {cap.key!r}: {since}.")
    words = f"Over the cap {cap.key!r}: {since}; free again {_moment(free, person.zone)}"
    if cap.over == "skip":
        return Ruling(rule=rule, verdict="skip", state="capped", words=f"{words}.", until=free)
    return _waiting(_No(rule, "capped", words, free), message, now, at_most=cap.wait_at_most)


class _No(NamedTuple):
    rule: str
    state: str
    words: str
    until: datetime | None


def _waiting(no: _No, message: Message, now: datetime, *, at_most: timedelta | None) -> Ruling:
    """Waits until then, unless that is later than it may wait from its beginning: then it is skipped at once."""
    since, too_late = message.waiting_since or now, ""
    verdict: Verdict = "skip" if no.until is None else "wait"
    if no.until is not None and at_most is not None and no.until > since + at_most:
        verdict, too_late = "skip", f"; it waits {duration_in_words(at_most)} at most"
    return Ruling(rule=no.rule, verdict=verdict, state=no.state, words=f"{no.words}{too_late}.", until=no.until)


def _day(moment: datetime, zone: tzinfo) -> str:
    local = moment.astimezone(zone)
    return f"{local.day} {local:%b %Y}"


def _moment(moment: datetime, zone: tzinfo) -> str:
    return f"{_day(moment, zone)} {moment.astimezone(zone):%H:%M}"
