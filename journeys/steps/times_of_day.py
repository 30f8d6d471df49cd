"""Times of day in a time zone: "09:00" in "Europe/Berlin"."""

import re
from collections.abc import Collection
from datetime import UTC, datetime, time, timedelta, tzinfo

from engage.notations.zones import zone_of

_FORM = re.compile("([01][0-9]|2[0-3]):[0-5][0-9](:[0-5][0-9])?")
_A_DAY = timedelta(days=1)


class InvalidTime(ValueError):
    """Why a text is not a time of day or time zone; the message continues a sentence that begins with the place."""


def parse_time(text: str) -> time:
    """`HH:MM` or `HH:MM:SS`. Raises InvalidTime."""
    if not _FORM.fullmatch(text):
        raise InvalidTime("must be a time of day such as 09:00 or 18:30:00.")
    return time.fromisoformat(text)


def parse_timezone(name: str) -> tzinfo:
    """A time zone by its name (engage/notations/zones.py). Raises InvalidTime."""
    zone = zone_of(name)
    if zone is None:
        raise InvalidTime("must be an IANA time zone such as Europe/Berlin or UTC.")
    return zone


def next_time(time_of_day: time, zone: tzinfo, *, after: datetime, days: Collection[int] = ()) -> datetime:
    """The first moment (in UTC) strictly after `after` at which the zone's clocks show this time; once a day.

    With `days` (0: Monday), only on these.

    On a day when the clocks skip this time, it is later by as much as they skip. If they go back and show it twice, it
    is the first.
    """
    today = after.astimezone(zone).date()
    day = today - _A_DAY  # a time skipped around midnight falls on the next day
    while True:
        moment = datetime.combine(day, time_of_day, tzinfo=zone).astimezone(UTC)
        if moment > after and (not days or day.weekday() in days):
            return moment
        day += _A_DAY
