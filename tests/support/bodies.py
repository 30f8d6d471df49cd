"""The typed objects that the bodies of all calls are read into."""

from collections.abc import Iterator
from dataclasses import is_dataclass
from typing import Any, get_args

import config.urls  # noqa: F401 (so that all calls are known)
from engage.calls.call import Call
from engage.json.fields import Items, members


def all_bodies() -> list[type]:
    """Each body, and each object inside one."""
    return list(
        dict.fromkeys(shape for call in Call.all() if call.signature.body for shape in _in(call.signature.body))
    )


def _in(shape: Any) -> Iterator[type]:
    yield shape
    for member in members(shape):
        inner = getattr(member.note(Items), "of", None) or next(iter(get_args(member.hint)), member.hint)
        if is_dataclass(inner):
            yield from _in(inner)
