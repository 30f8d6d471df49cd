"""The rows of a file, one at a time: a file may be larger than the memory."""

import codecs
import csv
import io
import re
import sqlite3
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, BinaryIO, Final, TextIO

from customers.attribute_rules import MAX_PROFILE_BYTES
from customers.files.columns import REMOVED, Column, columns_of, value_of
from customers.identity.doubtful import Addresses, rounded
from customers.identity.identifiers import identifiers
from customers.identity.roster import CustomerData
from engage.errors import InvalidRequest, Refusal
from engage.notations.sizes import KIB

PLAIN: Final = "utf-8-sig"  # UTF-8, with or without a mark at its beginning
_DELIMITERS = ",;\t|"
_BEGINNING = 64 * KIB
# A line that only tells a spreadsheet how the file is to be read; it shows the line below as its first.
_SEPARATOR = re.compile(r'\s*"?sep=(.)"?\s*', re.IGNORECASE)


class InvalidFile(Refusal):
    """The file is no file of comma-separated values in its encoding."""


@dataclass(frozen=True, kw_only=True)
class Source:
    """A file, and how it is read. `renamed`: the title of a column to what it stands for.

    Without a `delimiter` or an `encoding` (a name of Python's) the file's beginning says them. `last_counts`: who is
    told twice, with another address, has the last one. `country` is that of phone numbers without one ("": of none).
    """

    path: Path
    delimiter: str = ""
    encoding: str = ""
    renamed: Mapping[str, str] = field(default_factory=dict)
    events: bool = False
    skips_conflicts: bool = False
    last_counts: bool = False
    country: str = ""


@dataclass(frozen=True, kw_only=True)
class Row:
    """One row: of whom it is, with their attributes or the properties of an event (`said` has the rest of that).

    `number` is that of a spreadsheet: the header is row 1, if nothing stands above it. `data` is None for a blank row.
    """

    number: int
    data: CustomerData | Refusal | None
    said: Mapping[str, str] = field(default_factory=dict)


def recognised(source: Source, raw: BinaryIO) -> Source:
    """The same with its encoding and its delimiter. Reads the beginning, and goes back there."""
    beginning = raw.read(_BEGINNING)
    raw.seek(0)
    marked = beginning.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    encoding = source.encoding or ("utf-16" if marked else PLAIN)
    text = codecs.getincrementaldecoder(encoding)("replace").decode(beginning)
    return replace(source, encoding=encoding, delimiter=source.delimiter or _delimiter(text))


def _delimiter(text: str) -> str:
    """As the file says, or else that which makes the most columns of its header."""
    first, _, _ = text.partition("\n")
    if said := _SEPARATOR.fullmatch(first):
        return said[1]

    def columns(delimiter: str) -> int:
        rows = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
        return len(next((cells for cells in rows if any(map(str.strip, cells))), []))

    return max(_DELIMITERS, key=columns)


def rows_of(source: Source, file: TextIO) -> Iterator[Row]:
    """Raises InvalidHeader at once, and InvalidFile at the row at which the file cannot be read.

    Blank rows may stand above the header.
    """
    csv.field_size_limit(4 * MAX_PROFILE_BYTES)
    reader = csv.reader(_lines(file), delimiter=source.delimiter, strict=True)
    rows = enumerate(_readable(source, reader), start=1)
    header = next((cells for _, cells in rows if any(map(str.strip, cells))), [])
    columns = columns_of(header, renamed=source.renamed, events=source.events)
    addresses = None if source.events or source.last_counts else Addresses(_OnDisk())
    return (_row(source, number, cells, columns, addresses) for number, cells in rows)


def _lines(file: TextIO) -> Iterator[str]:
    for place, line in enumerate(file):
        if place or not _SEPARATOR.fullmatch(line):
            yield line


class _OnDisk:
    """Keeps numbers by numbers, in a file that ends with it: too many of them for the memory."""

    def __init__(self) -> None:
        self._table = sqlite3.connect("")
        self._table.execute("CREATE TABLE told (key INTEGER PRIMARY KEY, value INTEGER)")

    def setdefault(self, key: int, value: int) -> int:
        found = self._table.execute(
            "INSERT INTO told VALUES (?, ?) ON CONFLICT (key) DO UPDATE SET value = value RETURNING value", (key, value)
        )
        return int(found.fetchone()[0])


def _readable(source: Source, reader: Iterator[list[str]]) -> Iterator[list[str]]:
    rows = 0
    try:
        for cells in reader:
            rows += 1
            yield cells
    except UnicodeError:
        kind = "UTF-8; --encoding says what else, such as cp1252" if source.encoding == PLAIN else source.encoding
        raise InvalidFile(f"{source.path.name} cannot be read after {rows:,} rows: it is not {kind}.") from None
    except csv.Error as error:
        raise InvalidFile(f"{source.path.name} cannot be read after {rows:,} rows: {error}.") from None


def _row(
    source: Source, number: int, cells: Sequence[str], columns: Sequence[Column | None], addresses: Addresses | None
) -> Row:
    if not any(map(str.strip, cells)):
        return Row(number=number, data=None)
    try:
        if len(cells) != len(columns):
            raise InvalidRequest(f"The row has {len(cells)} cells, the header {len(columns)}.")
        row = _read(source, number, [(column, cell) for column, cell in zip(columns, cells, strict=True) if cell])
        if addresses and isinstance(row.data, CustomerData) and (before := addresses.contradicted(row.data)):
            raise InvalidRequest(before)
    except Refusal as refusal:
        return Row(number=number, data=refusal.as_value())
    return row


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
    if mistake := rounded(named):
        raise InvalidRequest(mistake)
    customer_id = named.pop("id", None)
    data = CustomerData(
        customer_id=customer_id,
        known_by=identifiers(**named).in_country(source.country),
        attributes=attributes,
        removed=removed,
        skips_conflicts=source.skips_conflicts,
    )
    return Row(number=number, data=data, said=of_event)
