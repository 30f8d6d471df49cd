"""What a migration locks, reads and changes, seen in PostgreSQL after each of its statements.

Their text would not tell it all: a foreign key locks the table that it names, and a new field with a check reads all
rows.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from dataclasses import dataclass, field
from typing import Any

from django.db import connection, transaction

# Tables that grow with what customers do, and are written all the while.
HOT = frozenset(
    {
        "bridge_interaction", "customers_alias", "customers_customer", "customers_event", "customers_segmentmembership",
        "customers_tombstone", "engage_auditentry", "engage_feedbatch", "engage_idempotencyrecord", "journeys_chunk",
        "journeys_count", "journeys_countdelta", "journeys_enrollment", "journeys_enrollmentjob", "journeys_resending",
        "journeys_steprun", "journeys_trigger", "journeys_triggerprogress", "journeys_unknownexternalid",
        "journeys_webhookattempt", "journeys_webhookdelivery",
    }
)  # fmt: skip
_WRITES = "RowExclusiveLock"
_STOPS_WRITERS = frozenset({"ShareLock", "ShareRowExclusiveLock"})
_STOPS_ALL = frozenset({"ExclusiveLock", "AccessExclusiveLock"})

_LOCKS = """
SELECT min(virtualtransaction), array_agg(ARRAY[relname::text, mode]) FILTER (WHERE relname IS NOT NULL)
FROM pg_locks
LEFT JOIN pg_class ON pg_class.oid = relation AND relkind = 'r' AND relnamespace = 'public'::regnamespace
WHERE pid = pg_backend_pid() AND granted
"""
_READS = """
SELECT relname::text, pg_stat_get_xact_numscans(pg_class.oid) + coalesce(
    (SELECT sum(pg_stat_get_xact_numscans(indexrelid)) FROM pg_index WHERE indrelid = pg_class.oid), 0)
FROM pg_class WHERE relname = ANY(%s) AND relkind = 'r' AND relnamespace = 'public'::regnamespace
"""
_FILES = "SELECT relname::text, relfilenode FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
_COLUMNS = """
SELECT relname::text, attname::text, format_type(atttypid, atttypmod), attnotnull, atthasdef OR attidentity <> ''
FROM pg_attribute JOIN pg_class ON pg_class.oid = attrelid
WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace AND attnum > 0 AND NOT attisdropped
"""


@dataclass
class _Transaction:
    """Of one migration; the tables are those that were there before."""

    writes: set[str] = field(default_factory=set)
    stops: set[str] = field(default_factory=set)
    reads: set[str] = field(default_factory=set)

    def objections(self) -> Iterator[str]:
        if len(self.stops) > 1:
            yield f"locks {_listed(self.stops)} in one transaction, where it may lock one table"
        if self.stops and self.reads:
            yield f"reads {_listed(self.reads)} while it locks {_listed(self.stops)}"
        if self.writes:
            yield f"writes {_listed(self.writes)} in its one transaction"


class Watch:
    """Of the migrations that are executed `with watching()`."""

    def __init__(self, *, is_one_transaction: bool) -> None:
        self._is_one_transaction = is_one_transaction
        self._files, self._columns = _files(), _columns()
        self._transactions: dict[str, _Transaction] = {}

    def __call__(self, execute: Callable[..., Any], sql: str, params: Any, many: bool, context: Any) -> Any:
        if "CONCURRENTLY" in sql:  # stops nobody, and is no transaction
            return execute(sql, params, many, context)
        with nullcontext() if connection.in_atomic_block else transaction.atomic():
            before = _reads()
            result = execute(sql, params, many, context)
            self._note(before)
        return result

    def _note(self, before: dict[str, int]) -> None:
        [(name, locks)] = _rows(_LOCKS)
        noted = self._transactions.setdefault(name, _Transaction())
        for table, mode in locks or []:
            if table not in self._files:
                continue
            if mode in _STOPS_ALL or (mode in _STOPS_WRITERS and table in HOT):
                noted.stops.add(table)
            if mode == _WRITES and table in HOT and self._is_one_transaction:
                noted.writes.add(table)
        noted.reads |= {table for table, scans in _reads().items() if scans > before.get(table, scans)}

    def objections(self) -> list[str]:
        return [
            *(objection for noted in self._transactions.values() for objection in noted.objections()),
            *(f"rewrites {table}" for table, file in sorted(_files().items()) if self._is_rewritten(table, file)),
            *_changes_of_columns(self._columns, _columns()),
        ]

    def _is_rewritten(self, table: str, file: int) -> bool:
        return table in HOT and self._files.get(table, file) != file


@contextmanager
def watching(*, is_one_transaction: bool = True) -> Iterator[Watch]:
    """Has `objections` in the end to what calls and workers of the version before would not bear."""
    watch = Watch(is_one_transaction=is_one_transaction)
    with connection.execute_wrapper(watch):
        yield watch


Columns = dict[str, dict[str, tuple[str, bool, bool]]]


def _changes_of_columns(before: Columns, after: Columns) -> Iterator[str]:
    """What the version before would miss, or trip over: it names all columns that it knows, and no others."""
    for table, known in before.items():
        now = after.get(table, {})
        for name in known.keys() - now.keys():
            yield f"takes {table}.{name} away"
        for name, (kind, is_required, has_default) in now.items():
            was = known.get(name)
            if was and was[0] != kind:
                yield f"makes {table}.{name} {kind}, which was {was[0]}"
            if is_required and not has_default and not (was and was[1:] == (True, False)):
                yield f"wants {table}.{name} of who does not know it"


def _rows(query: str, *parameters: Any) -> list[tuple[Any, ...]]:
    """Unseen by the watch."""
    rows: list[tuple[Any, ...]] = connection.connection.execute(query, parameters or None).fetchall()
    return rows


def _reads() -> dict[str, int]:
    return {table: int(scans) for table, scans in _rows(_READS, list(HOT))}


def _files() -> dict[str, int]:
    return dict(_rows(_FILES))


def _columns() -> Columns:
    columns: Columns = {}
    for table, name, *what in _rows(_COLUMNS):
        columns.setdefault(table, {})[name] = (what[0], what[1], what[2])
    return columns


def _listed(tables: set[str]) -> str:
    return " and ".join(sorted(tables))
