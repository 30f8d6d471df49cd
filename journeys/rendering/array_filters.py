"""Filters over arrays, as Liquid means them; the library's keep nulls, take 0 for false, or are slow or unbounded."""

from collections.abc import Callable, Iterable
from typing import Any

from liquid.filter import sequence_filter

from journeys.rendering.number_filters import Number, number_of, result_of
from journeys.rendering.text_filters import require_fitting
from journeys.rendering.values import as_text, identity


@sequence_filter
def join(items: Any, separator: Any = " ") -> str:
    between = as_text(separator)
    texts = [as_text(item) for item in items]
    require_fitting(sum(map(len, texts)) + len(between) * (len(texts) - 1))
    return between.join(texts)


@sequence_filter
def uniq(items: Any, name: Any = None) -> list[Any]:
    """The first of those that are equal, or whose values under this name are: as JSON, so that 1, 1.0 and true differ.

    A missing value equals null.
    """
    first: dict[str, Any] = {}
    for item in items:
        first.setdefault(identity(_value(item, name)), item)
    return list(first.values())


@sequence_filter
def compact(items: Any, name: Any = None) -> list[Any]:
    """Those that are not null, or whose value under this name is neither null nor missing."""
    return [item for item in items if _value(item, name) is not None]


@sequence_filter
def map_(items: Any, name: Any) -> list[Any]:
    """The values under this name; null where it is missing."""
    return [_value(item, str(name)) for item in items]


@sequence_filter
def sort(items: Any, name: Any = None) -> list[Any]:
    """In ascending order, nulls last."""
    return _sorted(items, name, lambda value: value)


@sequence_filter
def sort_natural(items: Any, name: Any = None) -> list[Any]:
    """In the order of their texts without regard to case, nulls last."""
    return _sorted(items, name, lambda value: as_text(value).lower())


def _sorted(items: Iterable[Any], name: Any, key: Callable[[Any], Any]) -> list[Any]:
    pairs = [(_value(item, name), item) for item in items]
    present = sorted((pair for pair in pairs if pair[0] is not None), key=lambda pair: key(pair[0]))
    return [item for _, item in present] + [item for value, item in pairs if value is None]


@sequence_filter
def where(items: Any, name: Any, wanted: Any = None) -> list[Any]:
    """Those whose value under this name equals the wanted one, or, if none is wanted, is neither null nor false."""
    return [item for item in items if _matches(item, name, wanted)]


@sequence_filter
def reject(items: Any, name: Any, wanted: Any = None) -> list[Any]:
    """All but those that `where` takes."""
    return [item for item in items if not _matches(item, name, wanted)]


@sequence_filter
def find(items: Any, name: Any, wanted: Any = None) -> Any:
    """The first that `where` takes; null if there is none."""
    return next((item for item in items if _matches(item, name, wanted)), None)


@sequence_filter
def find_index(items: Any, name: Any, wanted: Any = None) -> int | None:
    """The position of what `find` takes, from 0; null if there is none."""
    return next((position for position, item in enumerate(items) if _matches(item, name, wanted)), None)


@sequence_filter
def has(items: Any, name: Any, wanted: Any = None) -> bool:
    """Whether `where` takes any."""
    return any(_matches(item, name, wanted) for item in items)


@sequence_filter
def sum_(items: Any, name: Any = None) -> int | float:
    """The sum of the items, or of their values under this name; what is no number counts as 0."""
    total: Number = 0
    for item in items:
        total += number_of(_value(item, name))
    return result_of(total)


def _matches(item: Any, name: Any, wanted: Any) -> bool:
    value = _value(item, name)
    if wanted is None:
        return value is not None and value is not False
    return bool(value == wanted) and isinstance(value, bool) == isinstance(wanted, bool)  # 1 is not true


def _value(item: Any, name: Any) -> Any:
    """The item's value under a name, the item itself without one; a text has the names that are parts of it."""
    match item:
        case _ if name is None:
            return item
        case dict():
            return item.get(name)
        case str():
            return name if str(name) in item else None
        case None:
            return None
    raise TypeError("it has no names")
