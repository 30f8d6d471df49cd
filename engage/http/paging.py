"""Pagination of lists: where a page ended, as an opaque text that callers send back as `after`.

Calls of 1.0.0 called it `cursor` and `nextCursor`: these go on being read and answered beside `after` and `next`.
"""

import base64
import binascii
import json
from collections.abc import Callable, Sequence
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any, Protocol, TypeVar

from engage.errors import InvalidRequest
from engage.json.fields import Parsed
from engage.json.keywords import Keywords
from engage.json.storable import unstorable

Row = TypeVar("Row")
NEXT = "Send it as `after` to get the next page; null on the last page."
NEXT_CURSOR = "The same as `next`."
DEPRECATED = Keywords(deprecated=True)
_GREATEST = 2**53
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class InvalidAfter(InvalidRequest):
    """The place is not one that this call returned."""

    says = "after must be the next of an answer to the same call."


class InvalidCursor(InvalidRequest):
    """The same where it is sent as `cursor`."""

    says = "cursor must be the nextCursor of an answer to the same call."


class BothPlaces(InvalidRequest):
    """A page can begin at one place alone."""

    says = "cursor and after are two spellings of one place: send after alone."


def written_place(*values: str | int) -> str:
    """The place where a page ended."""
    raw = json.dumps(list(values), separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(raw).decode().rstrip("=")


def page_of(found: Sequence[Row], limit: int, place: Callable[[Row], str | int]) -> tuple[Sequence[Row], str | None]:
    """What a page shows of what was found, which is one more than `limit` if there is more; and its `next`."""
    shown = found[:limit]
    return shown, written_place(place(shown[-1])) if len(found) > limit else None


def place_of(*kinds: type, make: Callable[..., Any] | None = None) -> Parsed:
    """How an `after` is read: a value of each kind (str, int), of which `make` makes what the domain takes.

    Raises InvalidAfter. One that is empty is None. Integers are not negative.
    """
    return Parsed(partial(_read, InvalidAfter, kinds, make))


def moment_in(place: int) -> datetime:
    """Of a place that `place_of_moment` has written."""
    return _EPOCH + place * _MICROSECOND


def place_of_moment(moment: datetime) -> int:
    return (moment - _EPOCH) // _MICROSECOND


def cursor_of(*kinds: type, make: Callable[..., Any] | None = None) -> Parsed:
    """The same of a `cursor`. Raises InvalidCursor."""
    return Parsed(partial(_read, InvalidCursor, kinds, make))


def _read(refusal: type[InvalidRequest], kinds: Sequence[type], make: Callable[..., Any] | None, text: str) -> Any:
    if not text:
        return None
    try:
        place = json.loads(base64.b64decode(text + "=" * (-len(text) % 4), altchars=b"-_", validate=True))
    except (binascii.Error, ValueError, RecursionError):
        place = None
    if not isinstance(place, list) or [type(value) for value in place] != list(kinds) or not all(map(_fits, place)):
        raise refusal
    try:
        return place[0] if make is None else make(*place)
    except (ValueError, OverflowError):
        raise refusal from None


def _fits(value: str | int) -> bool:
    return unstorable(value) is None if isinstance(value, str) else 0 <= value <= _GREATEST


class _OfBoth(Protocol):
    @property
    def after(self) -> Any: ...

    @property
    def cursor(self) -> Any: ...


def begin_of(query: _OfBoth) -> Any:
    """Where a page begins of a call that takes both spellings; None: with the first. Raises BothPlaces."""
    if query.after is not None and query.cursor is not None:
        raise BothPlaces
    return query.cursor if query.after is None else query.after
