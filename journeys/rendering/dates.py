"""The filter `date`: an instant in a format, and perhaps in a time zone."""

import re
from contextlib import suppress
from datetime import UTC, datetime, timedelta, tzinfo
from typing import Any

from liquid.filter import with_context

from engage.notations.zones import zone_of
from journeys.rendering.context import Context, scope_of
from journeys.rendering.failures import RenderingFailed
from journeys.rendering.values import as_text

_MAX_FORMAT = 100
_START_OF_TIME = datetime(1970, 1, 1, tzinfo=UTC)
_SECONDS = re.compile(r"[0-9]{1,12}")
_OWN_DIRECTIVE = re.compile("%(?P<digits>[1-9]?)(?P<name>[LN]|(?<=%)(?:[s%]|:z))")


@with_context
def date(value: Any, form: Any = "", zone: Any = None, *, context: Context) -> Any:
    """The instant formatted by `form`, as clocks in `zone` show it, without one in its own offset.

    What has no offset of its own is as the zone's clocks show it, without one in UTC: as in `at` of a delay. "now" and
    "today" are the scope's `now`. Whole numbers are seconds since 1970. Any other value is returned as it is.
    """
    moment = _moment(scope_of(context)["now"] if value in ("now", "today") else value)
    form = as_text(form)
    if moment is None or not form:
        return value
    if len(form) > _MAX_FORMAT:
        raise RenderingFailed(f"a date's format is longer than {_MAX_FORMAT} characters.")
    where = UTC if zone is None else _zone(as_text(zone))
    if moment.tzinfo is None:
        moment = moment.replace(tzinfo=where)
        with suppress(OverflowError):  # what clocks pass over in spring is an hour later
            moment = moment.astimezone(UTC).astimezone(where)
    elif zone is not None:
        moment = moment.astimezone(where)
    return moment.strftime(_OWN_DIRECTIVE.sub(lambda found: _written(moment, found), form))


def _zone(name: str) -> tzinfo:
    zone = zone_of(name)
    if zone is None:
        raise RenderingFailed("the filter date is given what is no time zone.")
    return zone


def _written(moment: datetime, directive: re.Match[str]) -> str:
    """What Python's strftime cannot write, or only in the zone of the machine."""
    match directive["name"]:
        case "s":
            return str(int(moment.timestamp()))
        case "L" | "N" as name:
            digits = int(directive["digits"] or ("3" if name == "L" else "9"))
            return f"{moment.microsecond:06}000"[:digits]
        case ":z":
            return moment.isoformat()[-6:]
    return directive.group()


def _moment(value: Any) -> datetime | None:
    """As it is written; None if it is none."""
    if type(value) is int or (isinstance(value, str) and _SECONDS.fullmatch(value)):
        return _START_OF_TIME + timedelta(seconds=int(value))
    try:
        return datetime.fromisoformat(value)
    except (ValueError, TypeError):
        return None
