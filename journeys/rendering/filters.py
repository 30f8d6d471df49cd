"""The filters of templates: those of Liquid, with inputs and results of bounded size, and without a clock."""

from collections.abc import Callable
from functools import partial
from typing import Any

from liquid import Environment
from liquid.builtin.filters import array, misc, string

from journeys.rendering import array_filters, number_filters, text_filters
from journeys.rendering.context import Context
from journeys.rendering.dates import date
from journeys.rendering.failures import RenderingFailed
from journeys.rendering.markup import without_markup
from journeys.rendering.missing import Missing
from journeys.rendering.values import MAX_ITEMS, as_json, as_text, bounded, leaves, units_of

Filter = Callable[..., Any]
_LIBRARY = Environment()


def _filter(name: str, apply: Filter, *, left: Callable[[Any], Any], right: Callable[[Any], Any]) -> Filter:
    """Wraps a filter: prepares its value and arguments, and bounds and counts its result.

    Whatever the library raises, the rendering has failed: its exceptions quote values, and are of any class.
    """
    with_context = hasattr(apply, "with_context")
    if hasattr(apply, "with_environment"):
        apply = partial(apply, environment=_LIBRARY)

    def filtered(context: Context, value: Any, *arguments: Any, **options: Any) -> Any:
        if with_context:
            options["context"] = context
        try:
            result = bounded(apply(left(value), *map(right, arguments), **options))
        except (RenderingFailed, RecursionError):
            raise
        except Exception:  # noqa: BLE001 - see above
            raise RenderingFailed(f"the filter {name} cannot work with what it was given.") from None
        context.work(units_of(result))
        return result

    return filtered


def _text(value: Any) -> str:
    text: str = bounded(as_text(value))
    return text


def _number_or_text(value: Any) -> Any:
    return value if type(value) in {int, float} else _text(value)


def _used(value: Any) -> Any:
    """The value; None if it is missing, which is noted."""
    if not isinstance(value, Missing):
        return value
    value.note()
    return None


def _array(value: Any) -> Any:
    value = _used(value)
    if isinstance(value, list | tuple | range) and leaves(value, at_most=MAX_ITEMS) > MAX_ITEMS:
        raise RenderingFailed(f"an array holds more than {MAX_ITEMS} items.")
    return [] if value is None else value


def _plain(value: Any) -> Any:
    """An argument that is compared or looked up once per item, so it must not be large."""
    if isinstance(value, list | tuple | dict | range):
        raise TypeError
    return _used(value)


def _text_or_array(value: Any) -> Any:
    return _array(value) if isinstance(value, list | tuple | range) else _text(value)


_OVER_TEXT: dict[str, Filter] = {
    **{name: getattr(string, name) for name in (
        "append", "base64_decode", "base64_encode", "base64_url_safe_decode", "base64_url_safe_encode", "capitalize",
        "downcase", "lstrip", "newline_to_br", "prepend", "remove", "remove_first", "replace_first", "rstrip", "squish",
        "strip", "strip_newlines", "upcase",
    )},
    **{name: getattr(text_filters, name) for name in (
        "escape", "escape_once", "escapejs", "remove_last", "replace", "replace_last", "split", "truncate",
        "truncatewords", "url_decode", "url_encode",
    )},
    "strip_html": without_markup,
}  # fmt: skip
_OVER_ARRAYS: dict[str, Filter] = {
    **{name: getattr(array, name) for name in ("first", "last", "reverse")},
    **{name: getattr(array_filters, name) for name in (
        "compact", "find", "find_index", "has", "join", "reject", "sort", "sort_natural", "uniq", "where",
    )},
    "map": array_filters.map_,
    "sum": array_filters.sum_,
}  # fmt: skip
_OVER_NUMBERS: dict[str, Filter] = {
    **{name: getattr(number_filters, name) for name in (
        "at_least", "at_most", "ceil", "divided_by", "floor", "minus", "modulo", "plus", "times",
    )},
    "abs": number_filters.abs_,
    "round": number_filters.round_,
}  # fmt: skip


def _as_it_is(value: Any) -> Any:
    return value


FILTERS: dict[str, Filter] = {
    **{name: _filter(name, apply, left=_text, right=_number_or_text) for name, apply in _OVER_TEXT.items()},
    **{name: _filter(name, apply, left=_array, right=_plain) for name, apply in _OVER_ARRAYS.items()},
    "concat": _filter("concat", array.concat, left=_array, right=_array),
    **{name: _filter(name, apply, left=_used, right=_plain) for name, apply in _OVER_NUMBERS.items()},
    "slice": _filter("slice", text_filters.slice_, left=_text_or_array, right=_plain),
    "date": _filter("date", date, left=_used, right=_plain),
    "json": _filter("json", as_json, left=_used, right=_as_it_is),
    "money": _filter("money", number_filters.money, left=_used, right=_plain),
    "sha256": _filter("sha256", text_filters.sha256, left=_used, right=_as_it_is),
    "default": _filter("default", misc.default, left=_as_it_is, right=_as_it_is),
    "raw": _filter("raw", _as_it_is, left=_as_it_is, right=_plain),
    "size": _filter("size", misc.size, left=_as_it_is, right=_as_it_is),
}
