"""The rows of a file, one at a time: a file may be larger than the memory."""

import csv
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TextIO

from customers.attribute_rules import MAX_PROFILE_BYTES
from customers.files.columns import REMOVED, Column, columns_of, value_of
from customers.identity.identifiers import identifiers
from customers.identity.roster import CustomerData
from engage.errors import InvalidRequest, Refusal

_FIRST_ROW = 2  # below the header, as spreadsheets number them


class InvalidFile(Refusal):
    """The file is no file of comma-separated values in UTF-8."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file, and how it is read. `renamed`: the title of a column to what it stands for."""

    path: Path
    delimiter: str = ","
    renamed: Mapping[str, str] = field(default_factory=dict)
    events: bool = False
    skips_conflicts: bool = False


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: of whom it is, with their attributes or the properties of an event (`said` has the rest of that).

    `number` is that of a spreadsheet: the header is row 1. `data` is None for a blank row.
    """

    number: int
    data: CustomerData | Refusal | None
    said: Mapping[str, str] = field(default_factory=dict)


def rows_of(source: Source, file: TextIO) -> Iterator[Row]:
    """Raises InvalidHeader at once, and InvalidFile at the row at which the file cannot be read."""
    csv.field_size_limit(4 * MAX_PROFILE_BYTES)
    reader = csv.reader(file, delimiter=source.delimiter, strict=True)
    header = next(_readable(source, reader), [])
    columns = columns_of(header, renamed=source.renamed, events=source.events)
    return (
        _row(source, number, cells, columns) for number, cells in enumerate(_readable(source, reader), start=_FIRST_ROW)
    )


def _readable(source: Source, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    rows = 0
    try:
        for cells in reader:
            rows += 1
            yield cells
    except (csv.Error, UnicodeDecodeError) as error:
        what = "it is not UTF-8" if isinstance(error, UnicodeDecodeError) else error
        raise InvalidFile(f"{source.path.name} cannot be read after {rows:,} rows: {what}.") from None


def _row(source: Source, number: int, cells: Sequence[str], columns: Sequence[Column | None]) -> Row:
    if not any(map(str.strip, cells)):
        return Row(number=number, data=None)
    if len(cells) != len(columns) and any(cells[len(columns) :]):
        return Row(number=number, data=InvalidRequest(f"The row has {len(cells)} cells, the header {len(columns)}."))
    try:
        return _read(source, number, [(column, cell) for column, cell in zip(columns, cells, strict=False) if cell])
    except Refusal as refusal:
        return Row(number=number, data=refusal.as_value())


def _read(source: Source, number: int, said: Sequence[tuple[Column | None, str]]) -> Row:
    named: dict[str, str] = {}
    removed: list[str] = []
    attributes: dict[str, Any] = {}
    of_event: dict[str, str] = {}
    for column, cell in said:
        if column is None:
            continue
        if column.of_event:
            of_event[column.name] = cell
        elif column.field is None:
            attributes[column.name] = value_of(column, cell)
        elif cell == REMOVED and column.field != "id":
            removed.append(column.field)
        else:
            named[column.field] = str(value_of(column, cell) or "")
    customer_id = named.pop("id", None)
    data = CustomerData(
        customer_id=customer_id,
        known_by=identifiers(**named),
        attributes=attributes,
        removed=removed,
        skips_conflicts=source.skips_conflicts,
    )
    return Row(number=number, data=data, said=of_event)
