"""Time zones by their IANA names."""

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

_NO_PLACES = {"Factory", "localtime", "posixrules"}  # these depend on the machine's settings


def zone_of(name: str) -> ZoneInfo | None:
    """The time zone of this name; None if the machine knows none."""
    return ZoneInfo(name) if name in _names() else None


@cache
def _names() -> frozenset[str]:
    return frozenset(available_timezones() - _NO_PLACES)
