"""All that is stored of a person, table by table: what an export tells, and what an erasure counts.

Each app adds the tables that it knows, because imports go down only. A row is told as it is stored.
"""

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from tempfile import TemporaryFile
from typing import Any, BinaryIO, NamedTuple, cast

from django.db import connection

from customers.identity.lookup import customer_by_id
from engage.audit.recording import Change, record
from engage.database.snapshot import snapshot
from engage.database.sql import Statement, Template
from engage.database.statement_limit import large_work
from engage.json.instants import iso_utc
from engage.models import AuditEntry

_ROWS_AT_ONCE = 100
_SHORT_ROWS_AT_ONCE = 1000
_SHORT = 1024  # characters, on average
_Row = dict[str, Any]
Records = Iterator[tuple[str, Iterator[_Row]]]


class Kept(NamedTuple):
    """Rows of a table that are about one customer.

    `rows` is the end of a SELECT that has them as `kept`; in it, {workspace_id} and {customer_id} say of whom. `hidden`
    are columns that say nothing of the person, `more` adds some in SQL, and `tidy` changes a row before it is told.
    `erased` is whether they go with the customer's row.
    """

    rows: str
    order: str = "kept.id"
    hidden: tuple[str, ...] = ()
    more: str = ""
    tidy: Callable[[_Row], _Row] | None = None
    erased: bool = True


OWN = "kept.workspace_id = {workspace_id} AND kept.customer_id = {customer_id}"
# By what an export calls them.
PERSONAL: dict[str, Kept] = {
    "customer": Kept(
        hidden=("watched",),
        rows="FROM customers_customer kept WHERE kept.workspace_id = {workspace_id} AND kept.id = {customer_id}",
    ),
    "segments": Kept(
        rows=f"FROM customers_segmentmembership kept JOIN customers_segment segment ON segment.id = kept.segment_id "
        f"WHERE {OWN}",
        more="'segment_key', segment.key, 'segment_name', segment.name",
    ),
    "aliases": Kept(rows=f"FROM customers_alias kept WHERE {OWN}"),
    "events": Kept(rows=f"FROM customers_event kept WHERE {OWN}", order="kept.occurred_at, kept.id"),
}


def rows_of(kept: Kept, *, workspace_id: str, customer_id: str) -> Iterator[_Row]:
    """Each row by its columns, with few of them in memory. Must run inside a transaction."""
    hidden = ", ".join(f"'{name}'" for name in ("workspace_id", *kept.hidden))
    told = f"to_jsonb(kept) - ARRAY[{hidden}] || jsonb_build_object({kept.more})"
    select = Template(f"SELECT ({told})::text {kept.rows} ORDER BY {kept.order}")
    query = select.filled(workspace_id=workspace_id, customer_id=customer_id)
    with connection.chunked_cursor() as cursor:
        cursor.execute(query.sql, query.params)
        number = _ROWS_AT_ONCE
        while page := cursor.fetchmany(number):
            short = sum(len(text) for (text,) in page) < len(page) * _SHORT
            number = _SHORT_ROWS_AT_ONCE if short else _ROWS_AT_ONCE
            for (text,) in page:
                row: _Row = json.loads(text)
                yield kept.tidy(row) if kept.tidy else row


def counts_of(*, workspace_id: str, customer_id: str) -> Mapping[str, int]:
    """How many rows of each kind go with the customer, in one statement."""
    erased = {name: kept for name, kept in PERSONAL.items() if kept.erased}
    counts = Statement("SELECT " + ", ".join(f"(SELECT count(*) {kept.rows})" for kept in erased.values()))
    (numbers,) = counts.rows(workspace_id=workspace_id, customer_id=customer_id)
    return dict(zip(erased, numbers, strict=True))


_MOST_AT_ONCE = 20_000  # rows: some seconds' work, where it is to move or to delete them


def is_large(*, workspace_id: str, customer_id: str) -> bool:
    """Whether more rows are about the customer than a usual call may count, move, delete or read."""
    most = f"LIMIT {_MOST_AT_ONCE + 1}"
    each = [f"(SELECT count(*) FROM (SELECT {kept.rows} {most}) AS first)" for kept in PERSONAL.values()]  # noqa: S608
    (number,) = Statement(f"SELECT {' + '.join(each)}").column(workspace_id=workspace_id, customer_id=customer_id)
    return bool(number > _MOST_AT_ONCE)


def time_for_all_of(*, workspace_id: str, customer_id: str) -> AbstractContextManager[None]:
    """For work on all rows about the customer: that is `large_work` if they are very many. Inside a transaction."""
    large = is_large(workspace_id=workspace_id, customer_id=customer_id)
    return large_work() if large else nullcontext()


def export_customer(*, workspace_id: str, customer_id: str) -> tuple[str, Records]:
    """The customer's id, which is another one if that one was merged, and each kind of record with its rows.

    They are to be read in this order inside the transaction. Raises CustomerNotFound.
    """
    customer = customer_by_id(workspace_id=workspace_id, customer_id=customer_id)
    told = Change(action=AuditEntry.Action.EXPORTED, workspace_id=workspace_id, kind="customer", id=customer.id)
    record(told)
    return customer.id, (
        (name, rows_of(kept, workspace_id=workspace_id, customer_id=customer.id)) for name, kept in PERSONAL.items()
    )


def export_file(*, workspace_id: str, customer_id: str, now: datetime) -> BinaryIO:
    """An export as a file of JSON, with few rows of it in memory. Raises CustomerNotFound and LargeWorkInProgress."""
    file = cast("BinaryIO", TemporaryFile())  # noqa: SIM115 (the answer closes it)
    with snapshot():
        own_id, records = export_customer(workspace_id=workspace_id, customer_id=customer_id)
        with time_for_all_of(workspace_id=workspace_id, customer_id=own_id):
            head = json.dumps({"customerId": own_id, "exportedAt": iso_utc(now)})
            file.write(head.removesuffix("}").encode() + b', "records": {')
            for place, (name, rows) in enumerate(records):
                file.write((", " if place else "").encode() + json.dumps(name).encode() + b": [")
                for number, row in enumerate(rows):
                    file.write((b",\n" if number else b"\n") + json.dumps(row, ensure_ascii=False).encode())
                file.write(b"]\n")
            file.write(b"}}\n")
    file.seek(0)
    return file
