"""SQL with named values, put together from parts. Nothing here touches a database: sql.py executes it."""

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, get_type_hints

_NAME = re.compile(r"\{([a-z_]+)\}")


@dataclass(frozen=True)
class Fragment:
    """`sql` with a `%s` for each of `params`, in order."""

    sql: str
    params: Sequence[Any] = ()


def compose(template: str, *parts: Fragment) -> Fragment:
    """The template with a part for each `{}`, in order."""
    return Fragment(template.format(*(part.sql for part in parts)), [param for part in parts for param in part.params])


class Rows:
    """A relation made of rows of Python values: `Rows("entry", {"id": "text", "chain": "smallint"})`.

    With `place`, a last column of this name numbers the rows from 1.
    """

    def __init__(self, name: str, columns: Mapping[str, str], *, place: str = "") -> None:
        arrays = ", ".join(f"%s::{kind}[]" for kind in columns.values())
        names = ", ".join([*columns, place] if place else columns)
        self.sql = f"unnest({arrays}){' WITH ORDINALITY' if place else ''} AS {name}({names})"
        self._width = len(columns)

    @classmethod
    def like(cls, name: str, row: type[tuple[Any, ...]]) -> "Rows":
        """Rows of a NamedTuple whose fields are annotated with their types in SQL: `id: Annotated[str, "text"]`."""
        hints = get_type_hints(row, include_extras=True)
        return cls(name, {column: hint.__metadata__[0] for column, hint in hints.items()})

    def columns(self, rows: Iterable[Sequence[Any]]) -> list[list[Any]]:
        """What the relation's arrays are given: each row has a value for each column, in their order."""
        return [list(column) for column in zip(*rows, strict=True)] or [[] for _ in range(self._width)]

    def of(self, rows: Iterable[Sequence[Any]]) -> Fragment:
        """The relation, to be put into a statement."""
        return Fragment(self.sql, self.columns(rows))


class Template:
    """SQL with a `{name}` for each value; a value may be a Fragment, too.

    `parts` are put in at once: text, with values of its own perhaps, and Rows, whose value is the rows.
    """

    def __init__(self, text: str, /, **parts: str | Rows) -> None:
        self._rows = {name: part for name, part in parts.items() if isinstance(part, Rows)}
        for name, part in parts.items():
            if isinstance(part, str):
                text = text.replace(f"{{{name}}}", part)
        pieces = _NAME.split(text)
        self._texts, self._names = pieces[::2], pieces[1::2]
        self._wanted = set(self._names)
        self.sql = self._joined({})

    def filled(self, /, **values: Any) -> Fragment:
        """The SQL with these values: one for each name."""
        if values.keys() != self._wanted:
            raise TypeError(f"values for {sorted(self._wanted)}, not {sorted(values)}")
        params: list[Any] = []
        fragments: dict[str, Fragment] = {}
        for name in self._names:
            value = values[name]
            if name in self._rows:
                params += self._rows[name].columns(value)
            elif isinstance(value, Fragment):
                fragments[name] = value
                params += value.params
            else:
                params.append(value)
        return Fragment(self._joined(fragments) if fragments else self.sql, params)

    @property
    def text(self) -> str:
        """The whole template, with the names of its values."""
        names = ["", *(f"{{{name}}}" for name in self._names)]
        return "".join(f"{name}{text}" for name, text in zip(names, self._texts, strict=True))

    def _joined(self, fragments: Mapping[str, Fragment]) -> str:
        sql = [self._texts[0]]
        for name, text in zip(self._names, self._texts[1:], strict=True):
            part = fragments.get(name) or self._rows.get(name)
            sql += (part.sql if part else "%s", text)
        return "".join(sql)
