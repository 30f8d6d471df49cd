"""A part of a list: so many rows in the order of a column, of those that meet a condition.

Whoever is there from the first part to the last is in exactly one of them, whatever is written meanwhile. However few
meet the condition, a part looks at MOST_LOOKED_AT rows at most: it may then have none, and others follow all the same.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Fragment, Statement

MOST_LOOKED_AT = 10_000
Row = TypeVar("Row")


@dataclass(frozen=True, kw_only=True)
class Part(Generic[Row]):
    """`last` is the place where it ended; None if nothing follows."""

    rows: Sequence[Row]
    last: Any


# The rows are in an order before they are tried, so that the index is followed only as far as is needed.
_LISTED = Statement(
    "SELECT {key} FROM {table}, {in_index_order} WHERE {of} ORDER BY {order} LIMIT {limit}",
    in_index_order=IN_INDEX_ORDER,
)
_MEETING = Statement(
    """
SELECT {key} FROM (
    SELECT {table}.* FROM {table}, {in_index_order} WHERE {of} ORDER BY {order} LIMIT {most}
) AS {row} WHERE {meets} ORDER BY {order} LIMIT {limit}
""",
    in_index_order=IN_INDEX_ORDER,
)
_LOOKED_TO = Statement(
    "SELECT {key} FROM {table}, {in_index_order} WHERE {of} ORDER BY {order} OFFSET {most} - 1 LIMIT 1",
    in_index_order=IN_INDEX_ORDER,
)


def part_of(
    *,
    table: str,
    of: Fragment,
    limit: int,
    meets: Fragment | None = None,
    row: str = "looked",
    key: str = "id",
    order: str = "",
) -> Part[Any]:
    """The keys of at most `limit` rows of the table.

    `of` says which rows are looked at, by an index in the order of `key` (or `order`, which is SQL), beginning after
    the place where the last part ended; `meets` which of them are wanted, of a `row`.
    """
    names = {name: Fragment(text) for name, text in {"table": table, "key": key, "order": order or key}.items()}
    # Written out: a plan that is kept expects a tenth of all rows where it knows no limit.
    most, one_more = Fragment(str(MOST_LOOKED_AT)), Fragment(str(limit + 1))
    if meets is None:
        found = _LISTED.column(**names, of=of, limit=one_more)
    else:
        found = _MEETING.column(**names, row=Fragment(row), of=of, meets=meets, most=most, limit=one_more)
    if len(found) > limit:
        return Part(rows=found[:limit], last=found[limit - 1])
    reached = [] if meets is None else _LOOKED_TO.column(**names, of=of, most=most)
    return Part(rows=found, last=reached[0] if reached else None)
