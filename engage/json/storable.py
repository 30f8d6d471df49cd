"""JSON that PostgreSQL can store and return unchanged."""

import codecs
import json
import math
import re
from collections import Counter
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from engage.errors import Refusal
from engage.notations.sizes import KIB

STORED_DEPTH = 10
_DEEPEST = 200  # far beyond what any field takes, and far from what exhausts the stack of recursive code
_LEAST_INTEGER, _GREATEST_INTEGER = -(2**63), 2**64 - 1
_GREATEST_INTEGER_DIGITS = 20
_GREATEST_FLOAT_DIGITS = 310  # including a sign
_MOST_ZEROS = 16 * KIB
_LEAST_WITH_EXPONENT = 1e16  # the smallest float from which Python's repr has an exponent
# A NUL or half a surrogate pair can come only from one of these: raw, they are not valid JSON or UTF-8.
_SUSPECT_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_TEXT = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*+(?:"|\Z)', re.DOTALL)
_CONTAINERS = (dict, list)  # as a union it would be made anew for each value
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")
_SHOWN_LENGTH = 200


class InvalidJson(Refusal):
    """The body is not a valid JSON object, or holds a value that cannot be stored."""

    code = "invalid_json"


def parse_object(
    raw: bytes, *, subject: str = "The body", most_values: int | None = None, mend: bool = False
) -> dict[str, Any]:
    """The JSON object in `raw`. Raises InvalidJson with the place and the reason; `subject` names the whole in it.

    `most_values` bounds how many values it may hold, each item and member counted; None means no bound. `mend`: what
    cannot be stored is refused no more, but replaced in texts, and null in place of a number.
    """
    if raw.startswith(codecs.BOM_UTF8):
        raise InvalidJson(f"{subject} starts with a byte-order mark; send plain UTF-8.")
    if most_values is not None and _holds_more_values(raw, most_values):
        raise InvalidJson(f"{subject} holds more than {most_values:,} values.")
    numbers = _Numbers()
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=numbers.read_integer,
            parse_float=numbers.read_float,
            parse_constant=numbers.read_constant,
        )
    except UnicodeDecodeError as error:
        raise InvalidJson(f"{subject} is not UTF-8: byte {error.start} does not fit.") from None
    except json.JSONDecodeError as error:
        raise InvalidJson(f"{subject} is not JSON: {what_and_where(error)}.") from None
    except RecursionError:
        raise InvalidJson(f"{subject} is nested too deeply.") from None
    if not isinstance(value, dict):
        raise InvalidJson(f"{subject} must be a JSON object, but {describe(value)} came.")
    if raw.count(b"{") + raw.count(b"[") > _DEEPEST and depth(value) > _DEEPEST:
        raise InvalidJson(f"{subject} is nested too deeply.")
    if numbers.zeros > _MOST_ZEROS:
        raise InvalidJson(f"{subject} holds too many very large or very small numbers: written out, they are too long.")
    if numbers.all_fit and not _SUSPECT_ESCAPE.search(raw):
        return value
    return _fitted(value, mend=mend)


def parse_value(raw: bytes, *, mend: bool = False) -> Any:
    """Any JSON value in `raw`. Raises InvalidJson, as `parse_object` does."""
    found = parse_object(b'{"value":' + raw.removeprefix(codecs.BOM_UTF8) + b"}", mend=mend)
    if len(found) != 1:
        raise InvalidJson("The value is followed by another one.")
    return found["value"]


def _holds_more_values(raw: bytes, most: int) -> bool:
    """Whether parsing would make more values than that. Texts are left out only if with them it would be too much."""
    return _separators(raw) > most and _separators(_TEXT.sub(b"", raw)) > most


def _separators(raw: bytes) -> int:
    return raw.count(b",") + raw.count(b"{") + raw.count(b"[")


def what_and_where(error: json.JSONDecodeError) -> str:
    """What is wrong with the JSON, and where. Some of Python's messages already end in "at"."""
    return f"{error.msg.removesuffix(' at')} at line {error.lineno}, column {error.colno}"


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        twice = next(key for key, times in Counter(key for key, _ in pairs).items() if times > 1)
        raise InvalidJson(f"The key {twice[:80]!r} stands twice in one object.")
    return made


@dataclass(frozen=True)
class _Unfit:
    """A placeholder for a number that cannot be stored, until its place in the body is known."""

    reason: str


class _Numbers:
    """Reads the numbers of one body as PostgreSQL will return them.

    PostgreSQL stores `1e20` in a few bytes and returns it with all its zeros, as an integer. So it is read as an
    integer at once, and has the same length wherever it is measured. Zeros of very large and very small numbers are
    counted.
    """

    def __init__(self) -> None:
        self.all_fit = True
        self.zeros = 0  # in the numbers as PostgreSQL returns them, beyond the first 20 of each

    def read_integer(self, digits: str) -> int | _Unfit:
        if len(digits) <= _GREATEST_INTEGER_DIGITS and _LEAST_INTEGER <= (value := int(digits)) <= _GREATEST_INTEGER:
            return value
        if len(digits) <= _GREATEST_FLOAT_DIGITS and Decimal(digits) == Decimal(repr(float(digits))):
            return int(digits)
        return self._unfit("is a number out of range: integers go from -2^63 to 2^64 - 1")

    def read_float(self, digits: str) -> int | float | _Unfit:
        value = float(digits)
        if not math.isfinite(value):
            return self._unfit("is a number out of range: it must fit a 64-bit float")
        if value:
            self.zeros += max(0, abs(int(math.log10(abs(value)))) - _GREATEST_INTEGER_DIGITS)
        if abs(value) >= _LEAST_WITH_EXPONENT and self.zeros <= _MOST_ZEROS:
            return int(Decimal(repr(value)))
        return value or 0.0  # PostgreSQL's jsonb has no -0.0

    def read_constant(self, name: str) -> _Unfit:
        return self._unfit(f"is {name}, which is not JSON")

    def _unfit(self, reason: str) -> _Unfit:
        self.all_fit = False
        return _Unfit(reason)


def _refuse_unstorable(body: dict[str, Any]) -> None:
    """Raises InvalidJson for a value that cannot be stored, with its place: "formData.age"."""
    pending: list[tuple[str, Any]] = [("", body)]
    while pending:
        place, value = pending.pop()
        match value:
            case _Unfit(reason):
                raise InvalidJson(f"{place} {reason}.")
            case str():
                _require_storable_text(value, called=place)
            case dict():
                for key in value:
                    _require_storable_text(key, called=f"A key of {place or 'the body'}")
                pending += [(_shown(f"{place}.{key}" if place else key), item) for key, item in value.items()]
            case list():
                pending += [(_shown(f"{place}[{position}]"), item) for position, item in enumerate(value)]


def _fitted(body: dict[str, Any], *, mend: bool) -> dict[str, Any]:
    if mend:
        return dict(_mended(body))
    _refuse_unstorable(body)
    return body


def _mended(value: Any) -> Any:
    match value:
        case _Unfit():
            return None
        case str():
            return storable(value)
        case dict():
            return {storable(key): _mended(item) for key, item in value.items()}
        case list():
            return [_mended(item) for item in value]
    return value


def _shown(place: str) -> str:
    """The place, cut short: the whole places of many values below a long key would fill the memory."""
    return place[:_SHOWN_LENGTH]


def _require_storable_text(text: str, *, called: str) -> None:
    if what := _unstorable_in(text):
        raise InvalidJson(f"{called} holds {what}, which cannot be stored.")


def _unstorable_in(text: str) -> str | None:
    found = _UNSTORABLE.search(text)
    if found is None:
        return None
    return "a NUL character" if found.group() == "\x00" else "half of a surrogate pair"


def storable(text: str) -> str:
    """The text, with each character that PostgreSQL cannot store replaced by U+FFFD."""
    return _UNSTORABLE.sub("\ufffd", text)


def unstorable(value: Any) -> str | None:
    """What in a JSON value PostgreSQL cannot store, in words, or None. For values that do not come from a body."""
    pending: list[Any] = [value]
    while pending:
        match pending.pop():
            case str() as text if what := _unstorable_in(text):
                return what
            case float() as number if not math.isfinite(number):
                return "a number that is not finite"
            case dict() as members:
                pending += members.keys()
                pending += members.values()
            case list() as items:
                pending += items
    return None


def depth(value: Any) -> int:
    """How deeply objects and arrays are nested: 0 for a plain value, 1 for `{}`."""
    deepest, level = 0, [value] if isinstance(value, _CONTAINERS) else []
    while level:
        deepest += 1
        insides = (outer.values() if isinstance(outer, dict) else outer for outer in level)
        level = [item for inside in insides for item in inside if isinstance(item, _CONTAINERS)]
    return deepest


def describe(value: Any) -> str:
    """The type of a JSON value in words: "a string", "null"."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float() | _Unfit():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
