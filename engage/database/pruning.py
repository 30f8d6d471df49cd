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
from dataclasses import dataclass
from datetime import datetime
from typing import Any

import structlog
from django.db import OperationalError, connection, transaction
from django.db.models import Model, QuerySet
from psycopg.errors import DeadlockDetected, LockNotAvailable

from engage.database.object_ids import first_id_at
from engage.database.table import Keeps, KeepsFew, table_of, tables

PAGE = 1_000
_REST = 5  # times as long as the page took
_LOCK_TIMEOUT = "100ms"
log = structlog.get_logger(__name__)


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


def prune(model: type[Model], *, before: datetime, dry_run: bool = False, page: int = PAGE) -> Pruned:
    """Deletes the rows that may go and are older than `before`; with `dry_run` only counts them.

    Must not run inside a transaction.
    """
    keeps = _keeps(model)
    rows, pages_left = 0, 0
    after: tuple[Any, ...] | None = ("", -1)[: len(keeps.key)]  # before all ids
    statement = _statement(model, _COUNT if dry_run else _DELETE, page=page)
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
            log.warning("prune_gave_way", table=model._meta.db_table)
            _, after = _prune_page(_statement(model, _NOTHING, page=page), begin, before)
    return Pruned(rows=rows, pages_left=pages_left)


def _keeps(model: type[Model]) -> Keeps:
    table = table_of(model)
    if table is None or not isinstance(table.keeps, Keeps):
        raise TypeError(f"{model} does not say which rows may go.")
    return table.keeps


def _statement(model: type[Model], statement: str, *, page: int) -> str:
    key = _keeps(model).key
    marks = {
        "key": ", ".join(key),
        "id": key[0],
        "after": ", ".join(f"%(after_{place})s" for place in range(len(key))),
        "backwards": ", ".join(f"{column} DESC" for column in key),
        "table": model._meta.db_table,
        "size": str(page),
        "may_go": may_go(model),
    }
    return statement.format(page=_PAGE.format(**marks), **marks)


def may_go(model: type[Model]) -> str:
    """The condition by which a row may go: by what its own table says, and because no other table needs it."""
    needed = [table.needs[model] for _, table in tables() if model in table.needs]
    return " AND ".join([_keeps(model).may_go, *(f"NOT ({need})" for need in needed)])


def _prune_page(statement: str, after: tuple[Any, ...], before: datetime) -> tuple[int, tuple[Any, ...] | None]:
    """How many rows were deleted, and the last key of the page; None if nothing old is left."""
    edge = first_id_at(before)
    parameters = {"edge": edge, "before": before, **{f"after_{place}": key for place, key in enumerate(after)}}
    with transaction.atomic(), connection.cursor() as cursor:
        cursor.execute(f"SET LOCAL lock_timeout = '{_LOCK_TIMEOUT}'")
        cursor.execute(statement, parameters)
        row = cursor.fetchone()
    return (0, None) if row is None else (row[0], tuple(row[1:]))


def prune_few(model: type[Model], few: KeepsFew, *, at: datetime, dry_run: bool = False, batch: int = PAGE) -> int:
    """Deletes what goes at that time in short transactions, and returns how many rows; a dry run only counts them.

    Safe under traffic and in two processes at once.
    """
    old: QuerySet[Any] = QuerySet(model).filter(few.old(at))
    if dry_run:
        return old.count()
    total = 0
    while deleted := _prune_batch(old.order_by(few.order), batch):
        total += deleted
    return total


def _prune_batch(old: QuerySet[Any], most: int) -> int:
    with transaction.atomic():
        # Two statements: in one, the planner may select the batch again for each record, and delete all of them.
        chosen = list(old.select_for_update(skip_locked=True).values_list("pk", flat=True)[:most])
        deleted, _ = QuerySet(old.model).filter(pk__in=chosen).delete()
    return deleted
