"""What the audit's call may ask."""

from django.http import QueryDict

from engage.errors import InvalidRequest
from engage.http.paging import read_limit
from engage.http.query_strings import single_value

ENTRIES, MOST_ENTRIES = 100, 1000
_DIGITS = 18
AFTER_INVALID = "after must be a whole number, as an earlier answer had it."


def read_audit_query(query: QueryDict) -> tuple[int, int]:
    """After which position, and how many at most. Raises InvalidRequest."""
    after = single_value(query, "after")
    after = "0" if after is None else after
    if not (after.isascii() and after.isdigit() and len(after) <= _DIGITS):
        raise InvalidRequest(AFTER_INVALID)
    return int(after), read_limit(query, default=ENTRIES, at_most=MOST_ENTRIES)
