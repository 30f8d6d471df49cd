"""`manage.py migrate`: one run at a time, and one that was killed can be followed by another.

A migration that is one transaction is noted as done in that same transaction; Django notes some a moment later. One
that is no transaction is made of operations that can be repeated (engage/repeatable.py).
"""

import time
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from typing import Any

from django.core.management.base import OutputWrapper
from django.core.management.commands import migrate
from django.db import Error, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations import Migration
from django.db.migrations.executor import MigrationExecutor
from django.db.migrations.state import ProjectState

_LOCK = int.from_bytes(b"migr")
_AGAIN_SECONDS = 0.2
_HOLDER = """
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = 0 AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        if options["plan"] or options["check_unapplied"]:
            super().handle(*args, **options)
            return
        with _alone(connections[options["database"]], out=self.stdout):
            super().handle(*args, **options)


class _Executor(MigrationExecutor):
    def apply_migration(self, state: ProjectState, migration: Migration, *rest: Any, **named: Any) -> ProjectState:
        with self._with_its_note(migration):
            return super().apply_migration(state, migration, *rest, **named)

    def unapply_migration(self, state: ProjectState, migration: Migration, *rest: Any, **named: Any) -> ProjectState:
        with self._with_its_note(migration):
            return super().unapply_migration(state, migration, *rest, **named)

    def _with_its_note(self, migration: Migration) -> AbstractContextManager[None]:
        return transaction.atomic(using=self.connection.alias) if migration.atomic else nullcontext()


migrate.MigrationExecutor = _Executor  # type: ignore[attr-defined]  # where Django's command takes it from


@contextmanager
def _alone(connection: BaseDatabaseWrapper, *, out: OutputWrapper) -> Iterator[None]:
    """Holds a lock of this session: PostgreSQL lets go of it when the statement that a killed run left behind is done.

    Who waits asks again and again. To wait within one statement would hold up a CREATE INDEX CONCURRENTLY of the run
    that is waited for, which in turn waits for all that is under way.
    """
    told = False
    while not _asked(connection, "SELECT pg_try_advisory_lock(%s, 0)"):
        if not told and (holder := _asked(connection, _HOLDER)):
            out.write(f"Another migrate is at work (PostgreSQL's process {holder}). Waiting for its end.")
            out.flush()
            told = True
        time.sleep(_AGAIN_SECONDS)
    try:
        yield
    finally:
        with suppress(Error):  # a connection that failed holds nothing any more
            _asked(connection, "SELECT pg_advisory_unlock(%s, 0)")


def _asked(connection: BaseDatabaseWrapper, query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query, [_LOCK])
        row = cursor.fetchone()
    return row and row[0]
