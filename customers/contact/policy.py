"""The contact policy of a workspace, as it is written: which windows and caps there are, and whose clock counts.

{"requireTopic": true, "timezone": {"from": "customer.timezone", "else": "Europe/Berlin"},
 "windows": [{"key": "day", "channels": ["sms"], "days": ["mo"], "from": "09:00", "until": "20:00",
              "holidays": "DE-BE", "spread": "PT20M", "waitAtMost": "P1D"}],
 "caps": [{"key": "week", "channels": ["email"], "topics": ["offers"], "atMost": 3, "per": "P7D",
           "count": "rolling", "over": "skip"}]}
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, time, timedelta, tzinfo
from functools import partial
from importlib import import_module
from typing import Any, Final, get_args

from customers.conditions import CustomerFacts, Facts, Field, Root
from customers.conditions.evaluate import value_of
from customers.conditions.fields import parse_field
from customers.contact.caps import CALENDAR_PERIODS, OWN, Cap, Count, Over
from customers.contact.deciding import NO_POLICY, Policy
from customers.contact.windows import Holidays, Window
from engage.json.documents import Fields, Part, Reading
from engage.json.durations import InvalidDuration, parse_duration
from engage.notations.zones import zone_of

CHANNELS: Final = ("email", "sms", "push", "chat", "in_app")
MOST_WINDOWS = MOST_CAPS = 20
MOST_PER_PERIOD = 100
_LONGEST_PERIOD = timedelta(days=90)
_DAYS: Final = ("mo", "tu", "we", "th", "fr", "sa", "su")
_KEY = re.compile(r"[a-z0-9-]{1,50}")
_CLOCK = re.compile(r"([01]\d|2[0-3]):[0-5]\d")
_REGION = re.compile(r"([A-Z]{2})(?:-([A-Z0-9]{1,3}))?")
LONGEST_TOPIC = 50
# Of a step's own window: those that it needs, and those that it may have.
WINDOW_FIELDS = (("from", "until"), ("days", "holidays", "spread", "waitAtMost"))
_CAP = (("key", "channels", "atMost", "per"), ("topics", "count", "over", "waitAtMost", "transactional"))


@dataclass(frozen=True, kw_only=True)
class Clock:
    """Whose clock counts: that of the zone which the field names, where it names one; else this zone's."""

    otherwise: tzinfo = UTC
    of: Field | None = None

    def zone_for(self, customer: CustomerFacts, facts: Facts) -> tzinfo:
        if self.of is None:
            return self.otherwise
        name = value_of(self.of, facts)
        return (zone_of(name) if isinstance(name, str) else None) or self.otherwise


@dataclass(frozen=True, kw_only=True)
class ContactPolicy:
    """A policy that can be asked. `require_topic`: what is saved from now on has to say what it is about."""

    require_topic: bool = False
    clock: Clock = Clock()
    rules: Policy = NO_POLICY


def read_policy(part: Part, *, topics: Collection[str] | None) -> ContactPolicy:
    """`topics` are the keys that the workspace has; None: whatever is named goes, as of what is stored.

    Refuses with all mistakes, each with its place.
    """
    with Reading() as read:
        parts = part.fields(optional=["requireTopic", "timezone", "windows", "caps"], reading=read)
        require_topic = read(parts["requireTopic"].flag) if "requireTopic" in parts else False
        clock = read(partial(_clock, parts["timezone"])) if "timezone" in parts else Clock()
        windows = read(partial(_windows, parts["windows"])) if "windows" in parts else {}
        caps = read(partial(_caps, parts["caps"], topics=topics)) if "caps" in parts else []
        if "timezone" not in parts and (windows or any(cap.count == "calendar" for cap in caps or ())):
            read.note(part.at(None, "timezone"), "is required by windows, and by caps of the calendar.")
    return ContactPolicy(require_topic=require_topic, clock=clock, rules=Policy(windows=windows, caps=tuple(caps)))


def _clock(part: Part) -> Clock:
    if not isinstance(part.value, dict):
        return Clock(otherwise=_zone(part))
    with Reading() as read:
        parts = part.fields(required=["from", "else"], reading=read)
        of = read(lambda: parse_field(parts["from"], roots={Root.CUSTOMER}))
        otherwise = read(lambda: _zone(parts["else"]))
    return Clock(of=of, otherwise=otherwise)


def _zone(part: Part) -> tzinfo:
    zone = zone_of(part.text(at_most=100))
    if zone is None:
        part.refuse("must be an IANA time zone such as Europe/Berlin or UTC.")
    return zone


def _windows(part: Part) -> Mapping[str, Sequence[Window]]:
    by_channel: dict[str, list[Window]] = defaultdict(list)
    with Reading() as read:
        for channels, window in _each(part, MOST_WINDOWS, read, _window):
            for channel in channels:
                by_channel[channel].append(window)
    return by_channel


def _window(part: Part) -> tuple[Sequence[str], Window]:
    required, optional = WINDOW_FIELDS
    with Reading() as read:
        parts = part.fields(required=["key", "channels", *required], optional=optional, reading=read)
        key = read(lambda: read_key(parts["key"]))
        channels = read(lambda: _channels(parts["channels"]))
        window = read(lambda: read_window(part, parts, key=key or ""))
    return channels, window


def read_window(part: Part, parts: Fields, *, key: str) -> Window:
    """A window from the fields of an object, which a step's own has as well, without key and channels."""
    with Reading() as read:
        opens = read(lambda: _clock_time(parts["from"]))
        closes = read(lambda: _clock_time(parts["until"]))
        days = read(lambda: _days(parts["days"])) if "days" in parts else frozenset[int]()
        holidays = read(lambda: _holidays(parts["holidays"])) if "holidays" in parts else None
        spread = read(lambda: _duration(parts["spread"], at_most=timedelta(days=1))) if "spread" in parts else None
        wait = read(lambda: _duration(parts["waitAtMost"])) if "waitAtMost" in parts else None
    return Window(
        key=key,
        opens=opens,
        closes=closes,
        days=days,
        holidays=holidays,
        spread=spread or timedelta(),
        wait_at_most=wait,
    )


def _caps(part: Part, *, topics: Collection[str] | None) -> Sequence[Cap]:
    with Reading() as read:
        return _each(part, MOST_CAPS, read, partial(_cap, topics=topics))


def _cap(part: Part, *, topics: Collection[str] | None) -> Cap:
    required, optional = _CAP
    with Reading() as read:
        parts = part.fields(required=required, optional=optional, reading=read)
        key = read(lambda: read_key(parts["key"]))
        if key == OWN.key:
            read.note(parts["key"], f"must not be {key!r}, which is what people choose themselves.")
        channels = read(lambda: _channels(parts["channels"]))
        named = read(lambda: _topics(parts["topics"], topics)) if "topics" in parts else None
        at_most = read(lambda: _from_one(parts["atMost"], MOST_PER_PERIOD))
        per = read(lambda: _duration(parts["per"], at_most=_LONGEST_PERIOD))
        count: Count = read(lambda: _one_of(parts["count"], get_args(Count))) if "count" in parts else "rolling"
        over: Over = read(lambda: _one_of(parts["over"], get_args(Over))) if "over" in parts else "skip"
        wait = read(lambda: _duration(parts["waitAtMost"])) if "waitAtMost" in parts else None
        transactional = read(parts["transactional"].flag) if "transactional" in parts else False
        if "per" in parts and count == "calendar" and per not in {None, *CALENDAR_PERIODS}:
            read.note(parts["per"], "must be P1D or P7D where the calendar counts.")
        if over == "skip" and wait is not None:
            read.note(parts["waitAtMost"], "goes with over: wait.")
    return Cap(
        key=key,
        channels=frozenset(channels),
        topics=named,
        at_most=at_most,
        per=per,
        count=count,
        over=over,
        wait_at_most=wait,
        transactional=transactional,
    )


def _each(part: Part, at_most: int, read: Reading, reader: Any) -> list[Any]:
    """The items, of which no two have one key."""
    seen: set[object] = set()
    for item in part.items(at_most=at_most):
        key = item.value.get("key") if isinstance(item.value, dict) else None
        if isinstance(key, str) and key in seen:
            read.note(item.at(key, "key"), f"is {key[:50]!r} twice.")
        seen.add(key if isinstance(key, str) else None)
    return [one for one in read.each(part.items(), reader) if one is not None]


def read_key(part: Part) -> str:
    """A key in the spelling of topics: lower case, digits and hyphens."""
    key = part.text()
    if not _KEY.fullmatch(key):
        part.refuse("may have up to 50 of a-z, 0-9 and -.")
    return key


def _channels(part: Part) -> Sequence[str]:
    channels = [item.choice(CHANNELS) for item in part.items()]
    if not channels:
        part.refuse("must name at least one channel.")
    return list(dict.fromkeys(channels))


def _topics(part: Part, known: Collection[str] | None) -> frozenset[str]:
    named = [item.text() for item in part.items()]
    if not named:
        part.refuse("must name at least one topic, or be left out for all.")
    for place, topic in enumerate(named):
        if known is not None and topic not in known:
            part.items()[place].refuse(f"is {topic[:50]!r}, which is no topic of this workspace.")
    return frozenset(named)


def _one_of(part: Part, choices: Collection[str]) -> Any:
    return part.choice(choices)


def _from_one(part: Part, most: int) -> int:
    return part.whole(most=most)


def _duration(part: Part, *, at_most: timedelta = timedelta(days=90)) -> timedelta:
    try:
        duration = parse_duration(part.text())
    except InvalidDuration as invalid:
        part.refuse(str(invalid))
    if not timedelta() < duration <= at_most:
        part.refuse(f"must be longer than nothing, and at most P{at_most.days}D.")
    return duration


def _clock_time(part: Part) -> time:
    text = part.text()
    if not _CLOCK.fullmatch(text):
        part.refuse("must be a time of day such as 09:00.")
    return time.fromisoformat(text)


def _days(part: Part) -> frozenset[int]:
    days = [_DAYS.index(item.choice(_DAYS)) for item in part.items()]
    if not days:
        part.refuse("must name at least one day, or be left out for all.")
    return frozenset(days)


def _holidays(part: Part) -> Holidays:
    """Of a country, or a part of one: `DE-BE`. The names are those of the library `holidays`, which is an extra."""
    match = _REGION.fullmatch(part.text())
    if match is None:
        part.refuse("must be a country, or a part of one, such as DE or DE-BE.")
    try:
        known = import_module("holidays")
    except ImportError:
        part.refuse("needs the extra `holidays`, which is not installed here.")
    try:
        found: Holidays = known.country_holidays(match[1], subdiv=match[2])
    except NotImplementedError:
        part.refuse(f"is {part.text()!r}, whose holidays are not known.")
    return found
