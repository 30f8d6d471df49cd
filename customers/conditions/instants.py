"""Instants in ISO 8601, by one grammar for Python and PostgreSQL.

`2026-11-20`, `2026-11-20T19:08`, `2026-11-20T19:08:00.123Z`, `2026-11-20T21:08:00+02:00`; and as databases print them,
with a space in place of the T and `+02` as the offset. A date alone is its midnight; without an offset, it is UTC.
Fractions beyond microseconds are truncated.
"""

import re
from datetime import UTC, datetime, tzinfo

# A text that matches is an instant if its date exists: 30 February and the year 0000 must still be refused.
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = "(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?"
_HOURS = "[+-](?:0[0-9]|1[0-4])"
GRAMMAR = f"^{_DATE}(?:(?:T| +){_TIME}(?:Z|{_HOURS}(?::?[0-5][0-9])?)?)?$"
GRAMMAR_WITH_OFFSET = f"^{_DATE}T{_TIME}(?:Z|{_HOURS}:?[0-5][0-9])$"
_GRAMMAR = re.compile(GRAMMAR)
_SPACES = re.compile(" +")


def parse_instant(text: str, zone: tzinfo = UTC) -> datetime | None:
    """The instant, with its offset or else in the zone; None if the text is not one."""
    if not _GRAMMAR.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(_SPACES.sub("T", text))
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=zone)
