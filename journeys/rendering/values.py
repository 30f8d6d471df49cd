"""How values are written into a text, and how large they may grow on the way."""

import json
import math
from typing import Any

from engage.sizes import KIB
from journeys.rendering.failures import RenderingFailed

MAX_SIZE = 256 * KIB
MAX_ITEMS = 1000
_GREATEST_BITS = 1024


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
            return json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False, default=_odd)
        case range():
            return f"{value.start}..{value.stop - 1}"
    return str(value)


def _odd(value: object) -> str | None:
    """The text of what JSON cannot represent, such as the loop's own variables; None if it is empty."""
    return str(value) or None


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


def _require_light(items: Any) -> None:
    """An array may hold the same large value many times: small in memory, but huge when written."""
    weight, pending = 0, list(items)
    while pending:
        item = pending.pop()
        weight += len(item) if isinstance(item, str) else 1
        if isinstance(item, dict):
            pending += item.keys()
            pending += item.values()
        elif isinstance(item, list | tuple):
            pending += item
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
