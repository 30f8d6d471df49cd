"""All that is stored of a person, table by table: what an export tells, and what an erasure counts.

Each table says so itself (`Export` in engage/database/table.py), in whose SQL {workspace_id} and {customer_id} say of
whom. A row is told as it is stored.
"""

import json
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager, nullcontext
from datetime import datetime
from tempfile import TemporaryFile
from typing import Any, BinaryIO, cast

from django.db import connection
from django.db.models import Model

from customers.identity.lookup import customer_by_id
from engage.audit.recording import Change, record
from engage.database.snapshot import snapshot
from engage.database.sql import Statement, Template
from engage.database.statement_limit import large_work
from engage.database.table import Export, tables
from engage.json.instants import iso_utc
from engage.models import AuditEntry

_ROWS_AT_ONCE = 100
_SHORT_ROWS_AT_ONCE = 1000
_SHORT = 1024  # characters, on average
_Row = dict[str, Any]
Records = Iterator[tuple[str, Iterator[_Row]]]


def exported() -> dict[str, tuple[type[Model], Export]]:
    """The tables that have something of a person, by what an export calls them."""
    return {table.export.called: (model, table.export) for model, table in tables() if table.export}


def _rows(model: type[Model], export: Export) -> str:
    """The end of a SELECT that has the rows of the customer."""
    where = export.where or f"{export.of}.workspace_id = {{workspace_id}} AND {export.of}.customer_id = {{customer_id}}"
    return f"FROM {model._meta.db_table} kept {export.joined} WHERE {where}"


def rows_of(model: type[Model], kept: Export, *, workspace_id: str, customer_id: str) -> Iterator[_Row]:
    """Each row by its columns, with few of them in memory. Must run inside a transaction."""
    hidden = ", ".join(f"'{name}'" for name in ("workspace_id", *kept.hidden))
    told = f"to_jsonb(kept) - ARRAY[{hidden}] || jsonb_build_object({kept.more})"
    select = Template(f"SELECT ({told})::text {_rows(model, kept)} ORDER BY {kept.order}")
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
    erased = {name: _rows(model, kept) for name, (model, kept) in exported().items() if kept.erased}
    counts = Statement("SELECT " + ", ".join(f"(SELECT count(*) {rows})" for rows in erased.values()))
    (numbers,) = counts.rows(workspace_id=workspace_id, customer_id=customer_id)
    return dict(zip(erased, numbers, strict=True))


def move_rows(*, workspace_id: str, customer_id: str, into: str) -> Mapping[str, int]:
    """Makes the rows another customer's that need nothing else for a merge, in one statement; how many of each kind."""
    moved = {name: model._meta.db_table for name, (model, kept) in exported().items() if kept.moved}
    whose = "SET customer_id = {into} WHERE workspace_id = {workspace_id} AND customer_id = {customer_id}"
    each = ", ".join(f"t{place} AS (UPDATE {name} {whose} RETURNING 1)" for place, name in enumerate(moved.values()))
    counts = ", ".join(f"(SELECT count(*) FROM t{place})" for place in range(len(moved)))  # noqa: S608
    (numbers,) = Statement(f"WITH {each} SELECT {counts}").rows(
        workspace_id=workspace_id, customer_id=customer_id, into=into
    )
    return dict(zip(moved, numbers, strict=True))


_MOST_AT_ONCE = 20_000  # rows: some seconds' work, where it is to move or to delete them


def is_large(*, workspace_id: str, customer_id: str) -> bool:
    """Whether more rows are about the customer than a usual call may count, move, delete or read."""
    most = f"LIMIT {_MOST_AT_ONCE + 1}"
    each = [f"(SELECT count(*) FROM (SELECT {_rows(*one)} {most}) AS first)" for one in exported().values()]  # noqa: S608
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
        (name, rows_of(*one, workspace_id=workspace_id, customer_id=customer.id)) for name, one in exported().items()
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
