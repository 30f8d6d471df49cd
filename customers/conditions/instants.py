"""Instants in ISO 8601, by one grammar for Python and PostgreSQL.

`2026-11-20`, `2026-11-20T19:08`, `2026-11-20T19:08:00.123Z`, `2026-11-20T21:08:00+02:00`. A date alone is its midnight;
without an offset, the time is UTC. Fractions beyond microseconds are truncated.
"""

import re
from datetime import UTC, datetime

# A text that matches is an instant if its date exists: 30 February and the year 0000 must still be refused.
_DATE = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
_TIME = "T(?:[01][0-9]|2[0-3]):[0-5][0-9](?::[0-5][0-9](?:[.][0-9]{1,9})?)?"
_OFFSET = "(?:Z|[+-](?:0[0-9]|1[0-4]):?[0-5][0-9])"
GRAMMAR = f"^{_DATE}(?:{_TIME}{_OFFSET}?)?$"
GRAMMAR_WITH_OFFSET = f"^{_DATE}{_TIME}{_OFFSET}$"
_GRAMMAR = re.compile(GRAMMAR)


def parse_instant(text: str) -> datetime | None:
    """The instant, with its offset; None if the text is not one."""
    if not _GRAMMAR.fullmatch(text):
        return None
    try:
        moment = datetime.fromisoformat(text)
    except ValueError:
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
