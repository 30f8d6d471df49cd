"""Time zones: IANA's names in any case and with blanks, Windows' names as CLDR maps them, and fixed offsets (UTC+2)."""

from collections.abc import Iterator, Mapping
from datetime import datetime, tzinfo
from functools import cache
from typing import Final
from zoneinfo import ZoneInfo, available_timezones

from babel.core import get_global

_NO_PLACES = {"Factory", "localtime", "posixrules"}  # these depend on the machine's settings
# How a spelling is compared, here and in SQL: `translate` to the second text, then in lower case.
FOLDED: Final = ("\u2212 \t\r\n\u00a0_", "-")
_FOLDED = {ord(letter): FOLDED[1] if place == 0 else None for place, letter in enumerate(FOLDED[0])}


def zone_of(text: str) -> tzinfo | None:
    """The time zone that the text names; None if it names none that the machine knows."""
    name = text if text in zone_names() else spellings().get(_folded(text))
    return None if name is None else zone_named(name)


@cache
def zone_named(name: str) -> tzinfo:
    """The zone of this name, which is one of those in `spellings`."""
    return ZoneInfo(name) if name in zone_names() else datetime.strptime(name[3:], "%z").tzinfo or ZoneInfo("UTC")


@cache
def zone_names() -> frozenset[str]:
    """Of all places that the machine knows."""
    return frozenset(available_timezones() - _NO_PLACES)


@cache
def spellings() -> Mapping[str, str]:
    """Each spelling, folded, to the zone's name: IANA's, or such as UTC+02:00."""
    windows = {name: zone for name, zone in get_global("windows_zone_mapping").items() if zone in zone_names()}
    names = {**windows, **{name: name for name in zone_names()}}
    return {**dict(_offsets()), **{_folded(name): zone for name, zone in names.items()}}


def _folded(text: str) -> str:
    return text.translate(_FOLDED).lower()


def _offsets() -> Iterator[tuple[str, str]]:
    for quarters in range(-12 * 4, 14 * 4 + 1):
        hours, minutes = divmod(abs(quarters) * 15, 60)
        sign = "-" if quarters < 0 else "+"
        short = () if minutes else (f"{hours}", f"{hours:02}")
        for form in (*short, f"{hours}:{minutes:02}", f"{hours:02}:{minutes:02}", f"{hours:02}{minutes:02}"):
            for prefix in ("utc", "gmt", ""):
                yield f"{prefix}{sign}{form}", f"UTC{sign}{hours:02}:{minutes:02}"
