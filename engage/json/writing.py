"""Writes typed objects as JSON: names in camel case, times in ISO 8601, and choices as their texts."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import is_dataclass
from datetime import datetime
from functools import cache
from types import UnionType
from typing import Any, Union, cast, get_args, get_origin

from engage.json.fields import is_choice, members, unwrapped, without_none
from engage.json.instants import iso_utc

Writer = Callable[[Any], Any]


def written(value: Any) -> dict[str, Any]:
    """The typed object (an instance of a dataclass) as a JSON object."""
    made: dict[str, Any] = _object_writer(cast("Any", type(value)))(value)
    return made


@cache
def _object_writer(shape: type) -> Writer:
    plain = [(m.spelling, m.name, _value_writer(m.hint), m.is_left_out) for m in members(shape)]

    def write(value: Any) -> dict[str, Any]:
        told = {}
        for spelling, name, write_value, is_left_out in plain:
            found = getattr(value, name)
            if found is not None:
                told[spelling] = write_value(found) if write_value else found
            elif not is_left_out:
                told[spelling] = None
        return told

    return write


def _value_writer(hint: Any) -> Writer | None:
    """How a value of this type is written, if not as it is; a value of None never comes here."""
    hint, _ = unwrapped(without_none(unwrapped(hint)[0])[0])
    origin, arguments = get_origin(hint), get_args(hint)
    if is_dataclass(hint):
        return written  # also of a shape that refers to itself
    if origin in {Union, UnionType}:  # of shapes; a TypedDict is written already
        return lambda value: written(value) if is_dataclass(value) else value
    if hint is datetime:
        return iso_utc
    if is_choice(hint):
        return lambda value: str(getattr(value, "value", value))
    if origin in {list, tuple, Sequence} and (inner := _value_writer(arguments[0])):
        return lambda value: [inner(item) for item in value]
    if origin in {tuple, Sequence}:
        return list
    if origin in {dict, Mapping} and (of_value := _value_writer(arguments[1])):
        return lambda value: {name: of_value(item) for name, item in value.items()}
    return None
