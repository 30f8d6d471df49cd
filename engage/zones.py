"""Time zones by their IANA names."""

from functools import cache
from zoneinfo import ZoneInfo, available_timezones

_NO_PLACES = {"Factory", "localtime", "posixrules"}  # these depend on the machine's settings


def zone_of(name: str) -> ZoneInfo | None:
    """The time zone of this name; None if the machine knows none."""
    return ZoneInfo(name) if name in zone_names() else None


@cache
def zone_names() -> frozenset[str]:
    """All that the machine knows."""
    return frozenset(available_timezones() - _NO_PLACES)
