r"""The columns of a file: what the header names, and what a cell says.

`score:number`, `vip:boolean`, `since:date` and `tags:json` are attributes of these types; without one they are texts. A
cell that is empty says nothing, and `\N` takes away.
"""

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

from customers.attribute_rules import check_attribute_names
from customers.conditions.instants import parse_instant
from customers.identifier_rules import SPELLINGS
from engage.errors import InvalidRequest, Refusal
from engage.json.compact import unicode_json
from engage.json.storable import STORED_DEPTH, InvalidJson, depth, parse_value, unstorable

REMOVED: Final = r"\N"
TYPES: Final = ("text", "number", "boolean", "date", "json")
FIELDS: Final = {"customerId": "id", **{name: field for field, name in SPELLINGS.items()}, "externalId": "external_id"}
OF_EVENTS: Final = ("eventName", "occurredAt")
_BOOLEANS = {"true": True, "false": False, "yes": True, "no": False, "1": True, "0": False}
_PLAIN_INTEGER = re.compile(r"-?[1-9][0-9]{0,14}|0")


class InvalidHeader(Refusal):
    """The file's header does not say what its columns are."""


@dataclass(frozen=True, kw_only=True)
class Column:
    """What the cells of one column say: an identifier (`field`), something of an event, or an attribute."""

    name: str
    type: str = "text"
    field: str | None = None
    of_event: bool = False


def columns_of(header: Sequence[str], *, renamed: Mapping[str, str], events: bool = False) -> list[Column | None]:
    """Each column's meaning, None for those without a title. `renamed`: the title in the file to what it stands for.

    Raises InvalidHeader, which names the column.
    """
    if unknown := renamed.keys() - {*header}:
        raise InvalidHeader(f"--map: the file has no column {min(unknown)!r}.")
    columns = [_column(renamed.get(title, title).strip(), events=events) for title in header]
    known = [
        (column.field is None and not column.of_event, column.field or column.name) for column in columns if column
    ]
    if twice := {name for name in known if known.count(name) > 1}:
        raise InvalidHeader(f"Two columns are {min(twice)[1]!r}.")
    if not any(column.field for column in columns if column):
        raise InvalidHeader(f"A column must be one of {', '.join(FIELDS)}; --map says which one is.")
    if events and (False, "eventName") not in known:
        raise InvalidHeader("A column must be eventName.")
    return columns


def _column(title: str, *, events: bool) -> Column | None:
    if not title:
        return None
    if title in FIELDS:
        return Column(name=title, field=FIELDS[title])
    if events and title in OF_EVENTS:
        return Column(name=title, of_event=True)
    name, colon, kind = title.rpartition(":")
    if colon and kind not in TYPES:
        raise InvalidHeader(f"{title!r}: {kind!r} is none of {', '.join(TYPES)}. A name that has a colon needs one.")
    name, kind = (name, kind) if colon else (title, TYPES[0])
    try:
        name = str(parse_value(name.encode())) if name.startswith('"') else name
        check_attribute_names([name])
    except Refusal as refusal:
        raise InvalidHeader(refusal.message) from None
    return Column(name=name, type=kind)


def titled(name: str, kind: str) -> str:
    """The title of an attribute's column; as JSON where spaces at an end would be cut off."""
    needs_json = name != name.strip() or name.startswith('"')
    needs_type = kind != "text" or ":" in name or name in FIELDS or needs_json
    return f"{unicode_json(name) if needs_json else name}:{kind}" if needs_type else name


def value_of(column: Column, cell: str) -> Any:
    """What the cell says, which is not empty; None if it takes away. Raises InvalidRequest, which names the column."""
    if cell == REMOVED:
        return None
    match column.type:
        case "number":
            value = int(cell) if _PLAIN_INTEGER.fullmatch(cell) else _parsed(column, cell.strip())
            wrong = isinstance(value, bool) or not isinstance(value, int | float)
        case "boolean":
            value = _BOOLEANS.get(cell.strip().lower())
            wrong = value is None
        case "date":
            value, wrong = cell.strip(), parse_instant(cell.strip()) is None
        case "json":
            value = _parsed(column, cell)
            wrong = depth(value) >= STORED_DEPTH
        case _:
            value, wrong = cell, unstorable(cell) is not None
    if wrong:
        raise _not_a(column)
    return value


_WANTED = {
    "number": "a number, like 12 or 0.5",
    "boolean": f"one of {', '.join(_BOOLEANS)}",
    "date": "a date or an instant in ISO 8601, like 2026-11-20 or 2026-11-20T19:08:00Z",
    "json": f"JSON, nested at most {STORED_DEPTH - 1} deep",
    "text": "text without a NUL character",
}


def _not_a(column: Column) -> InvalidRequest:
    return InvalidRequest(f"{column.name} must be {_WANTED[column.type]}.")


def _parsed(column: Column, cell: str) -> Any:
    try:
        return parse_value(cell.encode())
    except (InvalidJson, UnicodeEncodeError):
        raise _not_a(column) from None


def kind_of(types: Collection[str]) -> str:
    """The type of a column for values of these JSON types, where a text that a cell cannot say counts as `json`."""
    if len(types) == 1:
        (only,) = types
        return {"string": "text", "number": "number", "boolean": "boolean"}.get(only, "json")
    return "json"
