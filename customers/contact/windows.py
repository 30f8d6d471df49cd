"""Windows: the times of day, by a person's own clock, in which they may be written to.

Both ends are local. On a day whose clocks skip an end, it is later by as much as they skip; if they show it twice, it
is the first. A window across midnight belongs to the day on which it opens; one that ends when it begins is open all
day.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Protocol

_A_DAY = timedelta(days=1)
_LOOK_DAYS = 400  # a window that does not open within these never opens
# How often one window's opening is compared with another's: those of a month. A walker asks this of each person, and
# what a tenant has written must not keep it.
_MOST_OPENINGS = 60


class Holidays(Protocol):
    def __contains__(self, day: object, /) -> bool: ...


@dataclass(frozen=True, kw_only=True)
class Window:
    """`days` are numbers, 0: Monday; none: all. `spread` parts people over so long after it opens."""

    key: str
    opens: time
    closes: time
    days: frozenset[int] = frozenset()
    holidays: Holidays | None = None
    spread: timedelta = timedelta()
    wait_at_most: timedelta | None = None

    def spans(self, zone: tzinfo, *, since: datetime) -> Iterator[tuple[datetime, datetime]]:
        """When it is open, in UTC, each without its end; those that end after `since`, in their order."""
        day = since.astimezone(zone).date() - _A_DAY
        for _ in range(_LOOK_DAYS):
            if self._opens_on(day):
                begin = _at(day, self.opens, zone)
                end = _at(day if self.closes > self.opens else day + _A_DAY, self.closes, zone)
                if end > since and end > begin:
                    yield begin, end
            day += _A_DAY

    def _opens_on(self, day: date) -> bool:
        return (not self.days or day.weekday() in self.days) and (self.holidays is None or day not in self.holidays)

    def late_by(self, person_id: str) -> timedelta:
        """How long after an opening this person's turn is: always the same, so that a dry run tells the truth."""
        if not self.spread:
            return self.spread
        drawn = int.from_bytes(hashlib.sha256(f"{self.key} {person_id}".encode()).digest()[:4])
        return self.spread * (drawn / 2**32)


def _at(day: date, clock: time, zone: tzinfo) -> datetime:
    return datetime.combine(day, clock, tzinfo=zone).astimezone(UTC)


def next_open(windows: Sequence[Window], zone: tzinfo, *, now: datetime, person_id: str) -> datetime | None:
    """The first moment from now at which one of them is open for this person: now, if one is. None: never."""
    first = [moment for one in windows if (moment := _next_of(one, zone, now, person_id)) is not None]
    return min(first, default=None)


def _next_of(window: Window, zone: tzinfo, now: datetime, person_id: str) -> datetime | None:
    for begin, end in window.spans(zone, since=now):
        if begin <= now:
            return now
        return begin + min(window.late_by(person_id), (end - begin) * 0.9)
    return None


def next_open_in_all(
    groups: Sequence[Sequence[Window]], zone: tzinfo, *, now: datetime, person_id: str
) -> datetime | None:
    """The first moment at which, of each group, one is open; None if there is none in all their next openings."""
    moment = now
    for _ in range(_MOST_OPENINGS):
        each = [next_open(group, zone, now=moment, person_id=person_id) for group in groups if group]
        if any(one is None for one in each):
            return None
        latest = max((one for one in each if one is not None), default=moment)
        if latest == moment:
            return moment
        moment = latest
    return None
