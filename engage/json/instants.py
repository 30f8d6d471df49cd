"""How the API writes a point in time."""

from datetime import UTC, date, datetime, timedelta
from typing import Annotated

from engage.json.keywords import Keywords

_FIRST, _LAST = datetime.min.replace(tzinfo=UTC), datetime.max.replace(tzinfo=UTC)

# The type of a point in time in an answer.
Instant = Annotated[str, Keywords(format="date-time", strict={"pattern": r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z$"})]


def in_utc(moment: datetime) -> datetime:
    """The same in UTC. What has no year there, before 1 or after 9999, is the first or the last moment."""
    try:
        return moment.astimezone(UTC)
    except OverflowError:
        return _FIRST if moment.year == 1 else _LAST


def shifted(moment: datetime, by: timedelta) -> datetime:
    """A moment in UTC, shifted: the first or the last, if it would be in no year from 1 to 9999."""
    try:
        return moment + by
    except OverflowError:
        return _FIRST if by < timedelta() else _LAST


def iso_utc(moment: datetime) -> str:
    """ISO 8601 in UTC with milliseconds and a Z: "2026-11-20T19:08:00.123Z"."""
    return moment.astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")


def has_room(day: date) -> bool:
    """Whether offsets and durations around the day, or the point in time, stay within the years 1 to 9999."""
    return 1971 <= day.year <= 8999  # noqa: PLR2004
