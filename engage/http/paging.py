"""Pagination of lists: the page size, and the cursor where the last page ended."""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from django.http import QueryDict

from engage.errors import InvalidRequest
from engage.http.query_strings import single_value

NEXT_CURSOR = "Send it as `cursor` to get the next page; null on the last page."
_GREATEST = 2**53


class InvalidCursor(InvalidRequest):
    """The cursor is not one that this call returned."""

    says = "cursor must be the nextCursor of an answer to the same call."


def read_limit(query: QueryDict, *, default: int, at_most: int) -> int:
    """The `limit` in a query string, or the default. Raises InvalidRequest."""
    text = single_value(query, "limit")
    if text is None:
        return default
    if not (text.isascii() and text.isdigit() and len(text) <= len(str(at_most)) and 1 <= int(text) <= at_most):
        raise InvalidRequest(f"limit must be a whole number from 1 to {at_most}.")
    return int(text)


def written_cursor(place: Sequence[str | int]) -> str:
    """The place where a page ended, as an opaque text that callers send back unchanged."""
    raw = json.dumps(list(place), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def read_cursor(query: QueryDict, *kinds: type) -> list[Any] | None:
    """The place in a query string's `cursor`, one value of each kind (str, int); None if there is no cursor.

    Integers are not negative. Raises InvalidCursor, InvalidRequest.
    """
    return parse_cursor(single_value(query, "cursor"), *kinds)


def parse_cursor(text: str | None, *kinds: type) -> list[Any] | None:
    """The same, of the parameter's text. Raises InvalidCursor."""
    if not text:
        return None
    try:
        place = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        place = None
    if not isinstance(place, list) or [type(value) for value in place] != list(kinds) or not all(map(_fits, place)):
        raise InvalidCursor
    return place


def _fits(value: str | int) -> bool:
    return isinstance(value, str) or 0 <= value <= _GREATEST
