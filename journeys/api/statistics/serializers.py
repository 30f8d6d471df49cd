"""Parses requests about whole journeys into what the domain takes."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta, tzinfo

from django.http import QueryDict

from customers.conditions.instants import parse_instant
from engage.errors import InvalidRequest
from engage.http.query_strings import one_of, single_value
from journeys.steps.times_of_day import InvalidTime, parse_timezone

INTERVALS = ("none", "hour", "day", "week")
FORMATS = ("json", "mermaid")
MOST_BUCKETS = 400
_GREATEST_REVISION = 2**31 - 1
_HOUR = timedelta(hours=1)


@dataclass(frozen=True, kw_only=True)
class StatsQuery:
    """What is asked for. Begin and end are full hours; `edges` are where the buckets begin, and the last one ends."""

    begin: datetime | None
    end: datetime | None
    interval: str
    revision: int | None
    timezone: str
    edges: Sequence[datetime]


def read_graph_query(query: QueryDict) -> tuple[int | None, bool]:
    """The revision (None: the current one), and whether Mermaid is wanted. Raises InvalidRequest."""
    return _revision(query), one_of(query, "format", FORMATS) == "mermaid"


def read_stats_query(query: QueryDict, *, now: datetime) -> StatsQuery:
    """What is asked for. Raises InvalidRequest."""
    interval, (zone, timezone) = one_of(query, "interval", INTERVALS) or INTERVALS[0], _timezone(query)
    begin, end = _instant(query, "from"), _instant(query, "to")
    begin = begin and _full_hour(begin)
    end = end and _next_full_hour(end)
    if begin and begin >= (end or now):
        raise InvalidRequest("from must be before to, and in the past.")
    if interval == "none":
        edges: Sequence[datetime] = ()
    elif begin is None:
        raise InvalidRequest("from is required with an interval.")
    else:
        edges = _edges(begin, end or _full_hour(now) + _HOUR, interval, zone)
    return StatsQuery(
        begin=begin, end=end, interval=interval, revision=_revision(query), timezone=timezone, edges=edges
    )


def _edges(begin: datetime, end: datetime, interval: str, zone: tzinfo) -> list[datetime]:
    """From begin to end, and between them each full hour, or each midnight (for weeks, of Mondays) of the zone.

    Where the midnight is at no full hour of UTC, the hour in which it falls belongs to the day before.
    """
    edges, moment = [begin], begin
    while (moment := _following(moment, interval, zone)) < end:
        edges.append(moment)
        if len(edges) > MOST_BUCKETS:
            raise InvalidRequest(f"The interval divides the time into more than {MOST_BUCKETS} buckets.")
    return [*edges, end]


def _following(moment: datetime, interval: str, zone: tzinfo) -> datetime:
    """The next edge after this moment."""
    if interval == "hour":
        return moment + _HOUR
    day = moment.astimezone(zone).date()
    while True:
        day += timedelta(days=1 if interval == "day" else 7 - day.weekday())
        midnight = datetime(day.year, day.month, day.day, tzinfo=zone).astimezone(UTC)
        edge = _next_full_hour(midnight)
        if edge > moment:
            return edge


def _full_hour(moment: datetime) -> datetime:
    return moment.astimezone(UTC).replace(minute=0, second=0, microsecond=0)


def _next_full_hour(moment: datetime) -> datetime:
    """The moment itself if it is one."""
    full = _full_hour(moment)
    return full if full == moment else full + _HOUR


def _instant(query: QueryDict, name: str) -> datetime | None:
    text = single_value(query, name)
    if text is None:
        return None
    moment = parse_instant(text)
    if moment is None or not 1971 <= moment.year <= 8999:  # noqa: PLR2004
        raise InvalidRequest(f"{name} must be a time in ISO 8601 such as 2026-11-20T19:00:00Z.")
    return moment


def _timezone(query: QueryDict) -> tuple[tzinfo, str]:
    name = single_value(query, "timezone")
    if name is None:
        return UTC, "UTC"
    try:
        return parse_timezone(name), name
    except InvalidTime as invalid:
        raise InvalidRequest(f"timezone {invalid}") from None


def _revision(query: QueryDict) -> int | None:
    text = single_value(query, "revision")
    if text is None:
        return None
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(_GREATEST_REVISION)) and int(text)):
        raise InvalidRequest("revision must be the number of a revision, from 1.")
    return min(int(text), _GREATEST_REVISION)
