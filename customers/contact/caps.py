"""Caps: how often somebody may be written to. Of each person, the last times are kept, as many as the cap allows."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, time, timedelta, tzinfo
from typing import Literal

_A_DAY, _A_WEEK = timedelta(days=1), timedelta(days=7)
Count = Literal["rolling", "calendar"]
Over = Literal["skip", "wait"]
# What a calendar's period may be: days and weeks begin at midnight, weeks on Monday.
CALENDAR_PERIODS = (_A_DAY, _A_WEEK)


@dataclass(frozen=True, kw_only=True)
class Cap:
    """At most so many messages `per` period; of none of the `topics` if they are named, those of other topics pass."""

    key: str
    channels: frozenset[str]
    at_most: int
    per: timedelta
    topics: frozenset[str] | None = None
    count: Count = "rolling"
    over: Over = "skip"
    wait_at_most: timedelta | None = None
    transactional: bool = False

    def counts(self, *, channel: str, topic: str | None, transactional: bool) -> bool:
        """Whether a message is counted, and may be too many."""
        if channel not in self.channels or (transactional and not self.transactional):
            return False
        return self.topics is None or topic in self.topics

    def begin(self, zone: tzinfo, now: datetime) -> datetime:
        """Since when messages count."""
        if self.count == "rolling":
            return now - self.per
        return self._calendar(zone, now)[0]

    def counted(self, ring: Sequence[datetime], zone: tzinfo, now: datetime) -> list[datetime]:
        """Of the times that are kept, those that count now, in their order."""
        begin = self.begin(zone, now)
        return sorted(at for at in ring if at > begin or (at == begin and self.count == "calendar"))

    def free_at(self, ring: Sequence[datetime], zone: tzinfo, now: datetime) -> datetime | None:
        """When there is a place: None if there is one now."""
        counted = self.counted(ring, zone, now)
        if len(counted) < self.at_most:
            return None
        if self.count == "rolling":
            return counted[-self.at_most] + self.per
        return self._calendar(zone, now)[1]

    def _calendar(self, zone: tzinfo, now: datetime) -> tuple[datetime, datetime]:
        day = now.astimezone(zone).date()
        if self.per == _A_WEEK:
            day -= day.weekday() * _A_DAY
        begin, end = (datetime.combine(one, time(), tzinfo=zone).astimezone(UTC) for one in (day, day + self.per))
        return begin, end


# What somebody may choose themselves, beside the caps of the policy: at most one message a week, whatever its topic. It
# holds of whoever has a ring of this key, which is empty at first.
OWN = Cap(key="own", channels=frozenset({"email", "sms", "push", "chat"}), at_most=1, per=_A_WEEK)


def ring_with(ring: Sequence[datetime], at: datetime, *, at_most: int) -> list[datetime]:
    """The last times, with this one."""
    return sorted([*ring, at])[-at_most:]
