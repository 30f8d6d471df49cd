"""Writes a workspace's customers to a file that, imported again, changes nothing.

So it has what servers have said of them: what only in-app messages have claimed would be confirmed by that. Customers
of whom there is nothing else are left out, and counted. The columns are known before the rows are written: both are
read in one transaction that sees one moment.
"""

import csv
from collections.abc import Callable, Iterator
from typing import Any, TextIO

from customers.files.columns import REMOVED, kind_of, titled
from customers.identifier_rules import SPELLINGS
from customers.models import Customer
from engage.database.snapshot import snapshot
from engage.database.sql import Statement
from engage.json.compact import unicode_json

_PAGE = 2_000
# A text that a cell cannot say needs another type than text.
_KINDS = Statement("""
SELECT said.name, array_agg(DISTINCT CASE
    WHEN jsonb_typeof(said.value) = 'string' AND said.value #>> '{}' IN ('', {removed}) THEN 'json'
    ELSE jsonb_typeof(said.value)
END)
FROM customers_customer CROSS JOIN LATERAL jsonb_each(attributes) AS said (name, value)
WHERE workspace_id = {workspace_id} AND said.name <> ALL(claimed_attributes) AND said.value <> 'null'
GROUP BY said.name ORDER BY said.name
""")
_FORMULA = ("=", "+", "-", "@", "\t", "\r")


def export_customers(
    *, workspace_id: str, out: TextIO, for_spreadsheets: bool = False, tell: Callable[[int], None] = lambda _: None
) -> tuple[int, int]:
    """Writes the customers: how many, and how many were left out. `tell` is told how many are read.

    `for_spreadsheets`: what a spreadsheet would take for a formula begins with an apostrophe, so the file is not exact.
    """
    rows = csv.writer(out)
    shown = _defused if for_spreadsheets else str
    written = left_out = 0
    with snapshot():
        kinds = {name: kind_of(types) for name, types in _KINDS.rows(workspace_id=workspace_id, removed=REMOVED)}
        rows.writerow([*SPELLINGS.values(), *(shown(titled(name, kind)) for name, kind in kinds.items())])
        for customer in _customers(workspace_id):
            known = [_known(customer, field) for field in SPELLINGS]
            if not any(known):
                left_out += 1
                continue
            values = [_text(_said(customer, name), kind) for name, kind in kinds.items()]
            rows.writerow([shown(text) for text in (*known, *values)])
            written += 1
            if not written % _PAGE:
                tell(written + left_out)
    return written, left_out


def _customers(workspace_id: str) -> Iterator[Customer]:
    """In the order of their ids, a page at a time."""
    those, after = Customer.objects.filter(workspace_id=workspace_id).order_by("id"), ""
    while page := list(those.filter(id__gt=after)[:_PAGE]):
        yield from page
        after = page[-1].id


def _known(customer: Customer, field: str) -> str:
    return "" if field in customer.claimed_identifiers else getattr(customer, field) or ""


def _said(customer: Customer, name: str) -> Any:
    return None if name in customer.claimed_attributes else customer.attributes.get(name)


def _text(value: Any, kind: str) -> str:
    if value is None:
        return ""
    return str(value) if kind == "text" else unicode_json(value)


def _defused(text: str) -> str:
    return f"'{text}" if text.startswith(_FORMULA) and not _is_number(text) else text


def _is_number(text: str) -> bool:
    return text.removeprefix("-").replace(".", "", 1).isdecimal() and text.isascii()
