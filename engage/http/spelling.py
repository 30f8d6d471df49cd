"""How answers spell what the domain knows: names in camel case, and times in ISO 8601."""

from datetime import datetime
from functools import cache
from typing import Any, TypeVar, cast

from engage.json.fields import snake_case
from engage.json.instants import iso_utc

Shape = TypeVar("Shape")


def spelled(shape: type[Shape], source: object, **given: Any) -> Shape:
    """The answer of this shape (a TypedDict): what is given, and else the source's attribute of the same name."""
    told = {
        name: given[name] if name in given else _written(getattr(source, attribute))
        for name, attribute in _attributes(cast("Any", shape))
    }
    return cast("Shape", told)


@cache
def _attributes(shape: Any) -> list[tuple[str, str]]:
    return [(name, snake_case(name)) for name in shape.__annotations__]


def _written(value: Any) -> Any:
    return iso_utc(value) if isinstance(value, datetime) else value
