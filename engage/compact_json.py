"""JSON without blanks: how answers are written, and how values are measured."""

import json
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


def same_json(one: Any, other: Any) -> bool:
    """Whether two JSON values are equal, where true is not 1."""
    return json.dumps(one, sort_keys=True) == json.dumps(other, sort_keys=True)
