"""The buckets of a series of counts: from one full hour to another, divided by hours, days or weeks of a time zone."""

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta, tzinfo
from enum import StrEnum

from engage.errors import InvalidRequest

MOST_BUCKETS = 400
_HOUR = timedelta(hours=1)


class Interval(StrEnum):
    NONE = "none"
    HOUR = "hour"
    DAY = "day"
    WEEK = "week"


def bucket_edges(
    begin: datetime | None, end: datetime | None, interval: Interval, zone: tzinfo, *, now: datetime
) -> Sequence[datetime]:
    """Where the buckets begin, and the last one ends: from begin to end (None: now), which are full hours.

    Between them each full hour, or each midnight (for weeks, of Mondays) of the zone. Where the midnight is at no full
    hour of UTC, the hour in which it falls belongs to the day before. Raises InvalidRequest.
    """
    if begin and begin >= (end or now):
        raise InvalidRequest("from must be before to, and in the past.")
    if interval is Interval.NONE:
        return ()
    if begin is None:
        raise InvalidRequest("from is required with an interval.")
    end = end or full_hour(now) + _HOUR
    edges, moment = [begin], begin
    while (moment := _following(moment, interval, zone)) < end:
        edges.append(moment)
        if len(edges) > MOST_BUCKETS:
            raise InvalidRequest(f"The interval divides the time into more than {MOST_BUCKETS} buckets.")
    return [*edges, end]


def _following(moment: datetime, interval: Interval, zone: tzinfo) -> datetime:
    """The next edge after this moment."""
    if interval is Interval.HOUR:
        return moment + _HOUR
    day = moment.astimezone(zone).date()
    while True:
        day += timedelta(days=1 if interval is Interval.DAY else 7 - day.weekday())
        midnight = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
        edge = next_full_hour(midnight)
        if edge > moment:
            return edge


def full_hour(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def next_full_hour(moment: datetime) -> datetime:
    """The moment itself if it is one."""
    full = full_hour(moment)
    return full if full == moment else full + _HOUR
