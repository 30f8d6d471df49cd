"""JSON without blanks: how answers are written, and how values are measured."""

import json
from collections.abc import Mapping
from typing import Any


def ascii_json(value: Any) -> str:
    """What is beyond ASCII is escaped."""
    return json.dumps(value, separators=(",", ":"))


def unicode_json(value: Any) -> str:
    """What is beyond ASCII stands for itself."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def json_bytes(value: Any) -> int:
    """The size of the value as JSON in UTF-8."""
    return len(unicode_json(value).encode())


def json_bytes_of_members(members: Mapping[str, Any]) -> int:
    """The size of the object that has these members; a value that many of them share is measured once.

    So it takes no longer than to read what they are made of, however large the object would be.
    """
    shared = {id(value): value for value in members.values()}
    sizes = {key: json_bytes(value) for key, value in shared.items()}
    inside = sum(json_bytes(name) + sizes[id(value)] + len(":,") for name, value in members.items())
    return max(len("{}"), len("{") + inside)  # where the last comma would be, it is closed


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, where true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
