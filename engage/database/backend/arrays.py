"""Lists as PostgreSQL arrays, each written in one go.

Statements on many rows pass their columns as arrays of hundreds of elements. psycopg checks for each element whether
it needs quotes: for a chunk of jobs that took a third of a worker's CPU time. Here every string is quoted, unchecked.
"""

from typing import Any

from psycopg.abc import Buffer
from psycopg.types.array import ListDumper

_BETWEEN = "\0"  # occurs in no text that PostgreSQL can store


class WholeListDumper(ListDumper):
    """Writes lists of only `str` or only `int`, also with None among them; leaves all others to psycopg."""

    def dump(self, obj: list[Any]) -> Buffer | None:
        kinds = set(map(type, obj))
        if type(None) in kinds:
            return self._dump_with_nulls(obj, kinds - {type(None)}) or super().dump(obj)
        if kinds == {int}:
            return f"{{{','.join(map(str, obj))}}}".encode()
        if kinds == {str}:
            joined = _BETWEEN.join(obj)
            if joined.count(_BETWEEN) == len(obj) - 1:
                escaped = joined.replace("\\", "\\\\").replace('"', '\\"').replace(_BETWEEN, '","')
                return f'{{"{escaped}"}}'.encode()
        return super().dump(obj)

    def _dump_with_nulls(self, obj: list[Any], kinds: set[type]) -> bytes | None:
        if kinds <= {int}:
            written = ["NULL" if one is None else str(one) for one in obj]
        elif kinds == {str} and _BETWEEN not in "".join(filter(None, obj)):
            written = ["NULL" if one is None else f'"{_escaped(one)}"' for one in obj]
        else:
            return None
        return f"{{{','.join(written)}}}".encode()


def _escaped(text: str) -> str:
    return text.replace("\\", "\\\\").replace('"', '\\"')
