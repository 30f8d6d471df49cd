"""How values are written into a text, how large they may grow on the way, and how much work they make."""

import json
import math
from collections.abc import Iterable
from typing import Any

from engage.notations.sizes import KIB
from journeys.rendering.failures import RenderingFailed

MAX_SIZE = 256 * KIB
MAX_ITEMS = 1000
_GREATEST_BITS = 1024
_CHARACTERS_PER_UNIT = 512
_MANY = (list, dict, tuple, range)  # as a union it would be made anew for each value
_UNITS_OF_MANY = 8  # counting what they hold would itself be work


def as_text(value: object) -> str:
    """The value as text: a string unchanged, nothing for null, a range as `1..5`, anything else as compact JSON."""
    match value:
        case str():
            return value
        case None:
            return ""
        case bool():
            return "true" if value else "false"
        case int() | float():
            return str(bounded(value))
        case list() | tuple() | dict():
            return as_json(value)
        case range():
            return f"{value.start}..{value.stop - 1}"
    return str(value)


def _odd(value: object) -> str | None:
    """The text of what JSON cannot represent, such as the loop's own variables; None if it is empty."""
    return str(value) or None


as_json = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_odd).encode
identity = json.JSONEncoder(sort_keys=True, default=_odd).encode  # the same text for the same JSON, as for no other


def bounded(value: Any) -> Any:
    """Returns the value. Raises RenderingFailed if it is too large."""
    match value:
        case str():
            if len(value) > MAX_SIZE:
                raise RenderingFailed(f"a value grows larger than {MAX_SIZE // KIB} KiB.")
        case float():
            if not math.isfinite(value):
                raise RenderingFailed("a number grows out of range.")
        case int():
            if value.bit_length() > _GREATEST_BITS:
                raise RenderingFailed("a number grows out of range.")
        case list() | tuple():
            if len(value) > MAX_ITEMS:
                raise RenderingFailed(f"an array grows longer than {MAX_ITEMS} items.")
            _require_light(value)
    return value


def _require_light(items: Iterable[Any]) -> None:
    """An array may hold the same large value many times: small in memory, but huge when written."""
    weight, pending = 0, [items]
    while pending:
        for item in pending.pop():
            weight += len(item) if isinstance(item, str) else 1
            if isinstance(item, dict):
                pending += item.keys(), item.values()
            elif isinstance(item, list | tuple):
                pending.append(item)
        if weight > MAX_SIZE:
            raise RenderingFailed(f"an array grows larger than {MAX_SIZE // KIB} KiB.")


def leaves(value: Any, *, at_most: int) -> int:
    """How many items an array holds, including those of nested arrays; stops counting just after `at_most`."""
    count, pending = 0, [value]
    while pending and count <= at_most:
        for item in pending.pop():
            if isinstance(item, list | tuple):
                pending.append(item)
            count += 1
            if count > at_most:
                break
    return count


def units_of(value: object) -> int:
    """How much work (`Rendering.work`) it may be to do anything with this value."""
    if isinstance(value, str):
        return 1 + len(value) // _CHARACTERS_PER_UNIT
    return _UNITS_OF_MANY if isinstance(value, _MANY) else 1
