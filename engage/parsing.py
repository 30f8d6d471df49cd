"""The JSON parser: what it lets through can be stored in PostgreSQL and read back the same."""

import codecs
import json
import math
import re
from collections.abc import Mapping
from typing import IO, Any, Never

from rest_framework.parsers import BaseParser

from engage.errors import Refusal, UnsupportedMediaType

KIB = 1024
MAX_BODY_BYTES = 1024 * KIB
STORED_DEPTH = 10
_LEAST_INTEGER, _GREATEST_INTEGER = -(2**63), 2**64 - 1
_GREATEST_INTEGER_DIGITS = 20
# Only a body with one of these can hold a NUL or half a surrogate pair: raw ones are no JSON and no UTF-8.
_SUSPECT_ESCAPE = re.compile(rb"\\u(?:0000|[dD][89a-fA-F])")
_UNSTORABLE = re.compile("[\x00\ud800-\udfff]")


class InvalidJson(Refusal):
    """The body is not JSON that the service can keep."""

    code = "invalid_json"


class BodyTooLarge(Refusal):
    status = 413
    error = "Body too large"
    code = "body_too_large"


class StrictJsonParser(BaseParser):
    """Reads at most `view.max_body_bytes`; refuses what is no JSON object or could not be stored."""

    media_type = "application/json"

    def parse(
        self, stream: IO[Any], media_type: str | None = None, parser_context: Mapping[str, Any] | None = None
    ) -> dict[str, Any]:
        context = parser_context or {}
        _require_plain_utf8(context)
        limit = getattr(context.get("view"), "max_body_bytes", MAX_BODY_BYTES)
        raw: bytes = stream.read(limit + 1)
        if len(raw) > limit:
            raise BodyTooLarge(f"The body is larger than {limit // KIB} KiB.")
        return parse_object(raw)


def _require_plain_utf8(context: Mapping[str, Any]) -> None:
    request = context.get("request")
    if request is None:
        return
    encoding = request.META.get("HTTP_CONTENT_ENCODING", "identity").strip().lower()
    if encoding not in {"", "identity"}:
        raise UnsupportedMediaType(f"The body must not be encoded; its Content-Encoding is {encoding[:40]!r}.")
    charset = re.search(r"charset\s*=\s*\"?([^\s;\"]+)", request.content_type or "", re.IGNORECASE)
    if charset and charset.group(1).lower() not in {"utf-8", "utf8"}:
        raise UnsupportedMediaType("The body must be UTF-8.")


def parse_object(raw: bytes, *, subject: str = "The body") -> dict[str, Any]:
    """The JSON object in `raw`, or InvalidJson with the reason; `subject` is what its message calls it."""
    if raw.startswith(codecs.BOM_UTF8):
        raise InvalidJson(f"{subject} starts with a byte-order mark; send plain UTF-8.")
    try:
        value = json.loads(
            raw.decode("utf-8"),
            object_pairs_hook=_object,
            parse_int=_integer,
            parse_float=_number,
            parse_constant=_refuse_constant,
        )
    except UnicodeDecodeError as error:
        raise InvalidJson(f"{subject} is not UTF-8: byte {error.start} does not fit.") from None
    except json.JSONDecodeError as error:
        raise InvalidJson(f"{subject} is not JSON: {error.msg} at line {error.lineno}, column {error.colno}.") from None
    except RecursionError:
        raise InvalidJson(f"{subject} is nested too deeply.") from None
    if not isinstance(value, dict):
        raise InvalidJson(f"{subject} must be a JSON object, but {describe(value)} came.")
    if _SUSPECT_ESCAPE.search(raw):
        _refuse_unstorable(value)
    return value


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    made = dict(pairs)
    if len(made) != len(pairs):
        seen: set[str] = set()
        twice = next(key for key, _ in pairs if key in seen or seen.add(key))  # type: ignore[func-returns-value]
        raise InvalidJson(f"The key {twice[:80]!r} stands twice in one object.")
    return made


def _integer(digits: str) -> int:
    if len(digits) <= _GREATEST_INTEGER_DIGITS and _LEAST_INTEGER <= (value := int(digits)) <= _GREATEST_INTEGER:
        return value
    raise InvalidJson("A number is out of range: integers go from -2^63 to 2^64 - 1.")


def _number(digits: str) -> float:
    value = float(digits)
    if not math.isfinite(value):
        raise InvalidJson("A number is out of range: it must fit a 64-bit float.")
    return value


def _refuse_constant(name: str) -> Never:
    raise InvalidJson(f"{name} is not JSON.")


def _refuse_unstorable(value: dict[str, Any]) -> None:
    pending: list[Any] = [value]
    while pending:
        match pending.pop():
            case str() as text if found := _UNSTORABLE.search(text):
                what = "a NUL character" if found.group() == "\x00" else "half of a surrogate pair"
                raise InvalidJson(f"A string holds {what}, which cannot be stored.")
            case dict() as members:
                pending += members.keys()
                pending += members.values()
            case list() as items:
                pending += items


def depth(value: Any) -> int:
    """How deeply objects and arrays are nested: 0 for a plain value, 1 for `{}`."""
    deepest, pending = 0, [(value, 0)]
    while pending:
        current, above = pending.pop()
        if isinstance(current, dict | list):
            deepest = max(deepest, above + 1)
            items = current.values() if isinstance(current, dict) else current
            pending += [(item, above + 1) for item in items if isinstance(item, dict | list)]
    return deepest


def describe(value: Any) -> str:
    """What a JSON value is, in words: "a string", "null"."""
    match value:
        case None:
            return "null"
        case bool():
            return "a boolean"
        case int() | float():
            return "a number"
        case str():
            return "a string"
        case list():
            return "an array"
        case _:
            return "an object"
