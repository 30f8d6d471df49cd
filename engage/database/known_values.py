"""Stored texts of a fixed set, of which a later version may have more: it runs beside this one while it replaces it."""

from enum import Enum
from typing import TypeVar

_Kind = TypeVar("_Kind", bound=Enum)


def known_value(kind: type[_Kind], stored: str) -> _Kind | None:
    """The value as this version knows it; None for one that a later version has stored. What has it is passed over."""
    try:
        return kind(stored)
    except ValueError:
        return None
