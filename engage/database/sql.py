"""Statements of our own: SQL with named values that is executed, and its rows as the values that they stand for.

    _CLAIM = Statement("UPDATE … WHERE trigger_id = {trigger_id} … RETURNING id, trigger_id, …")
    _CLAIM.fetch(ClaimedChunk, trigger_id=trigger_id)

docs/sql.md has what such statements have to heed.
"""

from collections.abc import Callable
from functools import cache
from operator import itemgetter
from typing import Any, TypeVar

from django.db import connection

from engage.database.fragment import Fragment, Rows, Template, compose

__all__ = ["Fragment", "Rows", "Statement", "Template", "compose"]

_Kind = TypeVar("_Kind")


class Statement(Template):
    """A template that is executed on the default connection."""

    def execute(self, /, **values: Any) -> int:
        """Returns the number of rows that it wrote or gives."""
        query = self.filled(**values)
        with connection.cursor() as cursor:
            cursor.execute(query.sql, query.params)
            return int(cursor.rowcount)

    def fetch(self, kind: Callable[..., _Kind], /, **values: Any) -> list[_Kind]:
        """Each row as `kind(**row)`, by the names of the statement's columns."""
        query = self.filled(**values)
        with connection.cursor() as cursor:
            cursor.execute(query.sql, query.params)
            make = _maker(kind, _columns(cursor))
            return [make(row) for row in cursor.fetchall()]

    def records(self, /, **values: Any) -> list[dict[str, Any]]:
        """Each row as its columns' values by name."""
        query = self.filled(**values)
        with connection.cursor() as cursor:
            cursor.execute(query.sql, query.params)
            names = _columns(cursor)
            return [dict(zip(names, row, strict=True)) for row in cursor.fetchall()]

    def rows(self, /, **values: Any) -> list[tuple[Any, ...]]:
        """Each row as it comes."""
        query = self.filled(**values)
        with connection.cursor() as cursor:
            cursor.execute(query.sql, query.params)
            return list(cursor.fetchall())

    def column(self, /, **values: Any) -> list[Any]:
        """The first column of each row."""
        return [row[0] for row in self.rows(**values)]


def _columns(cursor: Any) -> tuple[str, ...]:
    """Their names. Where psycopg describes them it makes an object of each, which takes ten times as long."""
    result = cursor.pgresult
    return tuple(result.fname(place).decode() for place in range(result.nfields))


@cache
def _maker(kind: Callable[..., _Kind], names: tuple[str, ...]) -> Callable[[tuple[Any, ...]], _Kind]:
    """What makes one of a row; a named tuple without a dictionary between, which costs ten times as much."""
    fields: tuple[str, ...] = getattr(kind, "_fields", ())
    if len(fields) > 1 and sorted(fields) == sorted(names):
        make: Callable[[tuple[Any, ...]], _Kind] = kind._make  # type: ignore[attr-defined]
        in_order = itemgetter(*map(names.index, fields))
        return make if fields == names else lambda row: make(in_order(row))
    return lambda row: kind(**dict(zip(names, row, strict=True)))
