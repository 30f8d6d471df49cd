"""What is wrong with a value: the same words for the same mistake, whether a body, a query string or a file has it.

Each goes on from the value's place, `limit must be a whole number from 1 to 200.`, and is "" where nothing is wrong.
"""

from collections.abc import Collection
from typing import Any

from engage.json.storable import describe

REQUIRED = "is required."
BLANK = "must not be blank."
_SHOWN = 100  # characters


def not_a(expected: str, value: Any) -> str:
    """Of the wrong type; `expected` is the right one, such as "a string"."""
    return f"must be {expected}, but {describe(value)} came."


def not_text(value: Any, *, at_most: int | None = None) -> str:
    if not isinstance(value, str):
        return not_a("a string", value)
    return too_long(len(value), at_most) if at_most is not None and len(value) > at_most else ""


def too_long(length: int, at_most: int) -> str:
    return f"must be at most {at_most} characters long, not {length}."


def not_flag(value: Any) -> str:
    return "" if isinstance(value, bool) else not_a("true or false", value)


def not_number(value: Any) -> str:
    return "" if isinstance(value, int | float) and not isinstance(value, bool) else not_a("a number", value)


def not_whole(value: Any, *, most: int, least: int = 1) -> str:
    fits = isinstance(value, int) and not isinstance(value, bool) and least <= value <= most
    return "" if fits else f"must be a whole number from {least} to {most}."


def none_of(choices: Collection[str], value: str) -> str:
    """Not one of the choices."""
    return "" if value in choices else f"must be one of {', '.join(choices)}, not {value[:_SHOWN]!r}."


def not_items(value: Any, *, at_most: int | None = None) -> str:
    if not isinstance(value, list):
        return not_a("an array", value)
    too_many = at_most is not None and len(value) > at_most
    return f"holds {len(value)} items; its maximum is {at_most}." if too_many else ""


def unknown(known: Collection[str]) -> str:
    """A name that may not stand there."""
    names = ", ".join(known)
    return f"is not known; what may stand here is {names}." if names else "is not known; nothing may stand here."
