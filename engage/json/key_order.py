"""The order in which the names of objects were written, which PostgreSQL's jsonb does not keep."""

from collections.abc import Iterator, Sequence
from typing import Any

KeyOrder = list[list[str]]


def key_order_of(value: Any) -> KeyOrder:
    """The names of every object in the value, in the order in which the objects stand in it."""
    match value:
        case dict():
            return [list(value), *(names for inner in value.values() for names in key_order_of(inner))]
        case list():
            return [names for inner in value for names in key_order_of(inner)]
    return []


def in_key_order(value: Any, order: Sequence[Sequence[str]]) -> Any:
    """An equal value with the names in this order; the value itself if the order is that of another one."""
    left = iter(order)
    try:
        ordered = _ordered(value, left)
    except (KeyError, StopIteration):
        return value
    return value if next(left, None) is not None else ordered


def _ordered(value: Any, left: Iterator[Sequence[str]]) -> Any:
    match value:
        case dict():
            names = next(left)
            if len(names) != len(value):
                raise KeyError
            return {name: _ordered(value[name], left) for name in names}
        case list():
            return [_ordered(inner, left) for inner in value]
    return value
