"""Instants in ISO 8601, by one grammar for Python and PostgreSQL.

`2026-11-20`, `2026-11-20T19:08`, `2026-11-20T19:08:00.123Z`, `2026-11-20T21:08:00+02:00`. A date alone is its midnight;
without an offset it is UTC. Fractions beyond microseconds are cut off.
"""

import re
from datetime import UTC, datetime, timedelta, timezone

# What the pattern lets through is an instant if its date is one: both sides still refuse 30 February and the year 0000.
PATTERN = (
    "^([0-9]{4})-([0-9]{2})-([0-9]{2})"
    "(T([01][0-9]|2[0-3]):([0-5][0-9])(:([0-5][0-9])([.]([0-9]{1,9}))?)?"
    "(Z|([+-])(0[0-9]|1[0-4]):?([0-5][0-9]))?)?$"
)
_PATTERN = re.compile(PATTERN)


def parse_instant(text: str) -> datetime | None:
    """The instant, with its offset; None where the text is none."""
    found = _PATTERN.fullmatch(text)
    if found is None:
        return None
    year, month, day, _, hour, minute, _, second, _, fraction, _, sign, hours, minutes = found.groups()
    offset = timedelta(hours=int(hours or 0), minutes=int(minutes or 0))
    try:
        return datetime(
            int(year),
            int(month),
            int(day),
            int(hour or 0),
            int(minute or 0),
            int(second or 0),
            int((fraction or "").ljust(6, "0")[:6]),
            tzinfo=timezone(-offset if sign == "-" else offset) if offset else UTC,
        )
    except ValueError:
        return None
