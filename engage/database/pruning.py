"""Deletes old rows page by page, under traffic.

1. Pages follow an index whose keys begin with an id, and ids begin with their creation time. So rows that are too young
   are never read, and old rows that must stay for another reason are read once per run.
2. Within a page, the rows that may go are locked and deleted in one short transaction. Rows that another transaction
   has locked are skipped, so two runs at once do no harm.
3. The pruner gives way: PostgreSQL looks for a deadlock when somebody has waited for a second, and may then abort the
   other. So the pruner waits for far less: a page may already have kept the other waiting. The next run finds the rows
   that it could not lock.
4. It rests five times as long as a page took: without that, it fills the disk's queue, and one in a hundred calls
   beside it waits two to five times as long; with three times, half as long again.
"""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import OperationalError, connection, transaction
from psycopg.errors import DeadlockDetected, LockNotAvailable

from engage.database.object_ids import first_id_at

PAGE = 1_000
_REST = 5  # times as long as the page took
_LOCK_TIMEOUT = "100ms"
log = structlog.get_logger(__name__)


@dataclass(frozen=True, kw_only=True)
class Prunable:
    """One kind of row to prune, in words and in SQL.

    `key` lists the columns of a unique index that begins with an id. `may_go` is the condition on `old`, a row of the
    table; in it, `%(before)s` is the time before which rows are too old.
    """

    what: str
    table: str
    key: Sequence[str]
    may_go: str


@dataclass(frozen=True, kw_only=True)
class Pruned:
    """How many rows were deleted (or would be), and how many pages were skipped because of others' locks."""

    rows: int = 0
    pages_left: int = 0


# Rows are fetched by arrays of ids, so that the planner uses the primary key whatever it estimates.
_PAGE = """
page AS MATERIALIZED (
    SELECT id AS row_id, {key} FROM {table} WHERE ({key}) > ({after}) AND {id} < %(edge)s ORDER BY {key} LIMIT {size}
), last AS (
    SELECT {key} FROM page ORDER BY {backwards} LIMIT 1
)
"""
_COUNT = """
WITH {page}, old_ones AS (
    SELECT FROM {table} old WHERE old.id = ANY (ARRAY(SELECT row_id FROM page)) AND {may_go}
)
SELECT (SELECT count(*) FROM old_ones), last.* FROM last
"""
_DELETE = """
WITH {page}, old_ones AS MATERIALIZED (
    SELECT old.id FROM {table} old WHERE old.id = ANY (ARRAY(SELECT row_id FROM page)) AND {may_go}
    FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM {table} WHERE id = ANY (ARRAY(SELECT id FROM old_ones)) RETURNING 1
)
SELECT (SELECT count(*) FROM gone), last.* FROM last
"""
_NOTHING = "WITH {page} SELECT 0, last.* FROM last"


def prune(prunable: Prunable, *, before: datetime, dry_run: bool = False, page: int = PAGE) -> Pruned:
    """Deletes the rows that may go and are older than `before`; with `dry_run` only counts them.

    Must not run inside a transaction.
    """
    rows, pages_left = 0, 0
    after: tuple[Any, ...] | None = ("", -1)[: len(prunable.key)]  # before all ids
    statement = _statement(prunable, _COUNT if dry_run else _DELETE, page=page)
    while after is not None:
        begin, began = after, time.monotonic()
        try:
            gone, after = _prune_page(statement, begin, before)
            rows += gone
            if gone and not dry_run:
                time.sleep(_REST * (time.monotonic() - began))
        except OperationalError as error:
            if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                raise
            pages_left += 1
            log.warning("prune_gave_way", table=prunable.table)
            _, after = _prune_page(_statement(prunable, _NOTHING, page=page), begin, before)
    return Pruned(rows=rows, pages_left=pages_left)


def _statement(prunable: Prunable, statement: str, *, page: int) -> str:
    marks = {
        "key": ", ".join(prunable.key),
        "id": prunable.key[0],
        "after": ", ".join(f"%(after_{place})s" for place in range(len(prunable.key))),
        "backwards": ", ".join(f"{column} DESC" for column in prunable.key),
        "table": prunable.table,
        "size": str(page),
        "may_go": prunable.may_go,
    }
    return statement.format(page=_PAGE.format(**marks), **marks)


def _prune_page(statement: str, after: tuple[Any, ...], before: datetime) -> tuple[int, tuple[Any, ...] | None]:
    """How many rows were deleted, and the last key of the page; None if nothing old is left."""
    edge = first_id_at(before)
    parameters = {"edge": edge, "before": before, **{f"after_{place}": key for place, key in enumerate(after)}}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
    return (0, None) if row is None else (row[0], tuple(row[1:]))
