"""Pagination of lists: the cursor where the last page ended."""

import base64
import binascii
import json
from collections.abc import Sequence
from typing import Any

from engage.errors import InvalidRequest
from engage.json.storable import unstorable

NEXT_CURSOR = "Send it as `cursor` to get the next page; null on the last page."
NEXT = "Send it as `after` to get the next page; null on the last page."
_GREATEST = 2**53


class InvalidCursor(InvalidRequest):
    """The cursor is not one that this call returned."""

    says = "cursor must be the nextCursor of an answer to the same call."


class InvalidAfter(InvalidCursor):
    """The same in a call that takes it as `after`, and returns it as `next`."""

    says = "after must be the next of an answer to the same call."


def written_cursor(place: Sequence[str | int]) -> str:
    """The place where a page ended, as an opaque text that callers send back unchanged."""
    raw = json.dumps(list(place), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def parse_cursor(text: str, *kinds: type) -> list[Any] | None:
    """The place in a `cursor`, one value of each kind (str, int); None if it is empty.

    Integers are not negative. Raises InvalidCursor.
    """
    if not text:
        return None
    try:
        place = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        place = None
    if not isinstance(place, list) or [type(value) for value in place] != list(kinds) or not all(map(_fits, place)):
        raise InvalidCursor
    return place


def parse_after(text: str, *kinds: type) -> list[Any] | None:
    """The place in an `after`, as parse_cursor reads one. Raises InvalidAfter."""
    try:
        return parse_cursor(text, *kinds)
    except InvalidCursor:
        raise InvalidAfter from None


def text_after(text: str) -> str | None:
    """The place in an `after` that is one text. Raises InvalidAfter."""
    place = parse_after(text, str)
    return place[0] if place else None


def _fits(value: str | int) -> bool:
    return unstorable(value) is None if isinstance(value, str) else 0 <= value <= _GREATEST
