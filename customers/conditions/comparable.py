"""What JSON values are compared as: equal exactly if jsonb considers them equal. Of large ones, it is made once.

A list or an object of a document is known again by its identity: nobody changes what was read.
"""

from collections.abc import Callable, Collection, Hashable, Mapping
from decimal import Decimal
from typing import Any

from engage.process.bounded_cache import BoundedCache
from engage.process.budget import Budget

_WHOLE = 2**53  # from here on, numbers are whole: a float has no digits left behind the point
_FEW = 16  # what holds no more is made again
_made: BoundedCache[tuple[int, bool], tuple[Any, Any]] = BoundedCache(most=100_000)  # values that were looked at


def comparable(value: Any, budget: Budget) -> Hashable:
    """The value with its type, as something that equals, and has the hash of, what is equal to it."""
    if isinstance(value, list | Mapping) and len(value) > _FEW:
        made: Hashable = _once(value, _whole, budget)
        return made
    return _comparable(value, budget)


def items_of(values: list[Any], budget: Budget) -> Collection[Hashable]:
    """The same of each item of a list, to be asked for one."""
    if len(values) > _FEW:
        found: Collection[Hashable] = _once(values, _set_of, budget)
        return found
    return [_comparable(item, budget) for item in values]


def decimal_of(number: float | Decimal) -> Decimal:
    """The number as JSON writes it: 0.1 is a tenth, not the nearest float."""
    return Decimal(repr(number)) if isinstance(number, float) else Decimal(number)


def _once(document: Any, make: Callable[[Any, Budget], Any], budget: Budget) -> Any:
    key = id(document), make is _whole
    found = _made.get(key)
    budget.spend(1 + len(document) // _FEW)  # what is found is still compared
    if found is not None and found[0] is document:
        return found[1]
    before = budget.counted
    made = make(document, budget)
    _made.keep(key, (document, made), size=budget.counted - before)
    return made


def _set_of(values: list[Any], budget: Budget) -> frozenset[Hashable]:
    budget.spend(len(values))
    return frozenset(_comparable(item, budget) for item in values)


def _whole(value: Any, budget: Budget) -> Hashable:
    return _comparable(value, budget)


def _comparable(value: Any, budget: Budget) -> Hashable:
    """A text is itself, and so is a number, but 0.1 is a tenth; no other equals them.

    Nobody can choose values that all have one hash, which would take long to tell apart: those of texts are the
    process's own, and with them those of what begins with one.
    """
    match value:
        case bool() | None:
            return type(value).__name__, value
        case str():
            return value
        case list():
            budget.spend(len(value))
            return ("array", *[_comparable(item, budget) for item in value])
        case Mapping():
            budget.spend(len(value))
            return "object", frozenset([(name, _comparable(item, budget)) for name, item in value.items()])
        case int() if -_WHOLE < value < _WHOLE:
            return value
    number = decimal_of(value)
    return number if abs(number) < _WHOLE else ("number", str(int(number)))
