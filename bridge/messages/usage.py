"""How a message was used in the last seven days, by button and form, by day and by how many people.

The days' totals are exact, counted in the index of a message's interactions. What they consist of is read from all of
them as long as there are at most READ_AT_MOST; else from about so many, drawn by the random part of their ids, and
scaled to the day's total. So a message with a million clicks a week costs what one with a few ten thousand costs, and
the index's million entries.
"""

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date, datetime, timedelta
from itertools import pairwise
from typing import Any

from bridge.lately import DAYS, since
from bridge.messages.definition import Definition
from bridge.models import Interaction, Message
from engage.database.object_ids import first_id_at
from engage.database.sql import Rows, Statement

READ_AT_MOST = 20_000
_ALL = "g"  # follows every random part
_FINEST = 16**4  # of the shares that can be drawn

DAY_ROWS = Rows("day", {"begin": "text", "until": "text"}, place="place")
_OF_DAY = """
    FROM bridge_interaction one
    WHERE one.message_id = {key} AND one.workspace_id = {workspace_id} AND one.id >= day.begin AND one.id < day.until
"""
_TOTALS = Statement(
    "SELECT counted.number FROM {days} CROSS JOIN LATERAL (SELECT count(*) AS number {of_day}) AS counted "
    "ORDER BY day.place",
    days=DAY_ROWS,
    of_day=_OF_DAY,
)
# An index-only scan draws, and only what is drawn is looked up.
DRAWN = f"""
drawn AS MATERIALIZED (
    SELECT day.place, picked.id FROM {{days}}
    CROSS JOIN LATERAL (SELECT one.id {_OF_DAY} AND substr(one.id, 9, 4) < {{below}}) AS picked
)
"""  # noqa: S608
KNOWN = "drawn CROSS JOIN LATERAL (SELECT * FROM bridge_interaction known WHERE known.id = drawn.id LIMIT 1) AS one"
_SHARES = Statement(
    """
WITH {drawn}
SELECT drawn.place, one.kind, one.action_id, event.name AS event_name, count(*) AS number,
       count(DISTINCT one.customer_id) AS customers
FROM {known}
LEFT JOIN LATERAL (SELECT known.name FROM customers_event known WHERE known.id = one.event_id LIMIT 1) AS event ON true
GROUP BY GROUPING SETS ((drawn.place, one.kind, one.action_id, event.name), ())
""",
    drawn=DRAWN,
    known=KNOWN,
    days=DAY_ROWS,
)


@dataclass(frozen=True, kw_only=True)
class ControlUsage:
    """A button or a form, by its id if it is known: how often it was used on each day, and altogether."""

    name: str
    by_day: Sequence[int]

    @property
    def total(self) -> int:
        return sum(self.by_day)


@dataclass(frozen=True, kw_only=True)
class Usage:
    """The days, what was used on them, and how many people did. `drawn`: the figures of controls are estimates.

    Then `customers` are those of what was read: there were more.
    """

    days: Sequence[date]
    totals: Sequence[int]
    controls: Sequence[ControlUsage]
    customers: int
    drawn: bool

    @property
    def total(self) -> int:
        return sum(self.totals)


@dataclass(frozen=True, kw_only=True)
class Draw:
    """Which interactions of the last seven days are read: those whose random part comes before `below`."""

    days: Sequence[tuple[str, str]]
    below: str

    @property
    def is_of_all(self) -> bool:
        return self.below == _ALL


def usage_of(message: Message, definition: Definition, *, now: datetime) -> Usage:
    """Two statements."""
    totals = totals_of(message, now=now)
    draw = draw_of(totals, now=now, most=READ_AT_MOST)
    read = _SHARES.records(days=draw.days, key=message.key, workspace_id=message.workspace_id, below=draw.below)
    (customers,) = (row["customers"] for row in read if row["place"] is None)
    rows = [row for row in read if row["place"] is not None]
    first = since(now).date()
    return Usage(
        days=[first + timedelta(days=day) for day in range(DAYS)],
        totals=totals,
        controls=_controls(rows, definition, totals),
        customers=customers,
        drawn=not draw.is_of_all,
    )


def totals_of(message: Message, *, now: datetime) -> list[int]:
    """How often the message was used on each of the last seven days."""
    return _TOTALS.column(days=_bounds(now), key=message.key, workspace_id=message.workspace_id)


def draw_of(totals: Sequence[int], *, now: datetime, most: int) -> Draw:
    """All of these, or about `most` of them."""
    there = sum(totals)
    below = _ALL if there <= most else f"{max(1, _FINEST * most // there):04x}"
    return Draw(days=_bounds(now), below=below)


def _bounds(now: datetime) -> list[tuple[str, str]]:
    first = since(now)
    begins = [first_id_at(first + timedelta(days=day)) for day in range(DAYS + 1)]
    return list(pairwise(begins))


def _controls(rows: Iterable[Mapping[str, Any]], definition: Definition, totals: Sequence[int]) -> list[ControlUsage]:
    read: list[Counter[str]] = [Counter() for _ in range(DAYS)]
    for row in rows:
        read[row["place"] - 1][_name(row, definition)] += row["number"]
    names = Counter[str]()
    for day in read:
        names.update(day)
    return [
        ControlUsage(name=name, by_day=[_scaled(day, name, total) for day, total in zip(read, totals, strict=True)])
        for name, _ in names.most_common()
    ]


def _scaled(day: Counter[str], name: str, total: int) -> int:
    read = day.total()
    return round(day[name] * max(total, read) / read) if read else 0


def _name(row: Mapping[str, Any], definition: Definition) -> str:
    """The control's id; if no check has noted it, that of the only one that does this; else what was done."""
    if row["action_id"]:
        return str(row["action_id"])
    kind, event_name = row["kind"], row["event_name"] or ""
    if kind == Interaction.Kind.CAPTURE:
        alike = [form.id for form in definition.forms if (form.submit.event_name if form.submit else "") == event_name]
    else:
        alike = [action.id for action in definition.actions if (action.type, action.event_name) == (kind, event_name)]
    if len(alike) == 1:
        return alike[0]
    return f"{kind} {event_name}".strip()
