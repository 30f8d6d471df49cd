"""Filters over arrays that the library has too slow for the largest of them, or without a bound."""

from typing import Any

from liquid.filter import sequence_filter

from journeys.rendering.text_filters import require_fitting
from journeys.rendering.values import as_text, identity


def join(items: Any, separator: Any = " ") -> str:
    between = as_text(separator)
    texts = [as_text(item) for item in (items if isinstance(items, list | tuple | range) else [items])]
    require_fitting(sum(map(len, texts)) + len(between) * (len(texts) - 1))
    return between.join(texts)


@sequence_filter
def uniq(items: Any, name: Any = None) -> list[Any]:
    """The first of those that are equal, or whose values under this name are: as JSON, so that 1, 1.0 and true differ.

    A missing value equals null.
    """
    first: dict[str, Any] = {}
    for item in items:
        first.setdefault(identity(item if name is None else _member(item, name)), item)
    return list(first.values())


def _member(item: Any, name: Any) -> Any:
    return item.get(name) if isinstance(item, dict) else item[name]
