"""Compact JSON: how answers are written, and how values are measured."""

import json
from collections.abc import Mapping
from typing import Any

_ASCII = json.JSONEncoder(separators=(",", ":"))
_UNICODE = json.JSONEncoder(ensure_ascii=False, separators=(",", ":"))


def ascii_json(value: Any) -> str:
    """Compact JSON with non-ASCII characters escaped."""
    return _ASCII.encode(value)


def unicode_json(value: Any) -> str:
    """Compact JSON with non-ASCII characters as they are."""
    return _UNICODE.encode(value)


def json_bytes(value: Any) -> int:
    """The size in bytes of the value as compact JSON in UTF-8."""
    return len(unicode_json(value).encode())


def json_bytes_of_members(members: Mapping[str, Any]) -> int:
    """The size in bytes of an object with these members. A value that several of them share is measured once.

    So the time depends on the distinct values, however large the object would be.
    """
    shared = {id(value): value for value in members.values()}
    sizes = {key: json_bytes(value) for key, value in shared.items()}
    inside = sum(json_bytes(name) + sizes[id(value)] + len(":,") for name, value in members.items())
    return max(len("{}"), len("{") + inside)  # the last comma's byte counts for the closing brace


def sorted_json(value: Any) -> str:
    """The value as JSON in which the names of objects are sorted: the same for values that are the same."""
    return json.dumps(value, sort_keys=True)


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal; unlike in Python, true is not 1."""
    return sorted_json(one) == sorted_json(other)
