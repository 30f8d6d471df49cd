"""`manage.py migrate`, one run at a time: where each new container migrates at its start, several do at once.

It needs a session of its own, for its lock and because a migration may take long: with DATABASE_DIRECT_URL it goes past
a pooler. At its end the database has the settings that each session needs (engage/database/backend/sessions.py).

While it waits for a table, all who come after it wait as well. So it waits for _LOCK_TIMEOUT at most, lets them pass,
and tries again: what is applied is noted, and what was begun is undone or can be repeated. What is made CONCURRENTLY
holds nobody up, and may wait as long as it has to.

The first migration of each app stands for all those of 1.0.0. Where only some of these are applied, Django would leave
it out and apply what comes after it to half a schema: so nothing is applied there.
"""

import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import CommandError, OutputWrapper
from django.core.management.commands import migrate
from django.db import Error, OperationalError, connections, transaction
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder
from psycopg.errors import DeadlockDetected, InsufficientPrivilege, LockNotAvailable
from psycopg.sql import SQL, Identifier

from engage.database.backend.sessions import missing_settings, settings_missing, statements_for

_LOCK = int.from_bytes(b"migr")
_AGAIN_SECONDS = 0.2
_LOCK_TIMEOUT = "300ms"  # deciding gives up after half a second, calls after two
_SECONDS_BETWEEN_TRIES = 1.0
_TRYING_SECONDS = 600.0
_HOLDER = """
SELECT pid FROM pg_locks
WHERE locktype = 'advisory' AND granted AND classid = %s AND objid = 0 AND objsubid = 2
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""
# Autovacuum gives way to who has waited for a second (deadlock_timeout), which is more than others can be kept waiting.
_VACUUMED = """
SELECT relname FROM pg_locks JOIN pg_class ON pg_class.oid = relation
WHERE mode = 'ShareUpdateExclusiveLock' AND granted AND pid <> pg_backend_pid()
  AND relkind = 'r' AND relnamespace = 'public'::regnamespace
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
"""


class Command(migrate.Command):
    def handle(self, *args: Any, **options: Any) -> None:
        connection = connections[options["database"]]
        if options["plan"] or options["check_unapplied"]:
            _refuse_an_unreleased_schema(connection)
            super().handle(*args, **options)
            return
        with _session_of_its_own(connection, err=self.stderr), _alone(connection, out=self.stdout):
            _refuse_an_unreleased_schema(connection)
            with connection.execute_wrapper(_patient_where_nobody_waits):
                self._try_until_it_is_done(connection, *args, **options)
            self._give_the_database_its_settings(connection)

    def _try_until_it_is_done(self, connection: BaseDatabaseWrapper, *args: Any, **options: Any) -> None:
        until = time.monotonic() + _TRYING_SECONDS
        while True:
            try:
                super().handle(*args, **options)
            except OperationalError as error:
                if not isinstance(error.__cause__, LockNotAvailable | DeadlockDetected):
                    raise
                if time.monotonic() > until:
                    raise CommandError(f"Others would not let go of a table, so migrate gave up: {error}") from error
            else:
                return
            self.stdout.write("A table is in use. Trying again.")
            self.stdout.flush()
            time.sleep(_SECONDS_BETWEEN_TRIES)
            _send_vacuums_away(connection)

    def _give_the_database_its_settings(self, connection: BaseDatabaseWrapper) -> None:
        there = {**connection.get_connection_params(), "options": ""}  # to see what a session has that asks for nothing
        with psycopg.connect(**there, autocommit=True) as fresh:
            missing = missing_settings(fresh.cursor())
            try:
                for statement in statements_for(fresh.info.dbname, missing):
                    fresh.execute(statement)
            except InsufficientPrivilege:
                self.stderr.write(settings_missing(fresh.info.dbname, missing))


def _refuse_an_unreleased_schema(connection: BaseDatabaseWrapper) -> None:
    loader = MigrationLoader(connection, load=False)
    loader.load_disk()
    applied = MigrationRecorder(connection).applied_migrations()
    replaced = [migration.replaces for migration in loader.disk_migrations.values()]
    begun = [keys for keys in replaced if any(key in applied for key in keys)]
    missing = [f"{app}.{name}" for keys in begun for app, name in keys if (app, name) not in applied]
    if missing:
        raise CommandError(
            f"This database is of a version before 1.0.0: it lacks {missing[0]}{', …' * (len(missing) > 1)}. "
            "Nothing was changed. Migrate it with version 1.0.0 first, then with this one."
        )


@contextmanager
def _session_of_its_own(connection: BaseDatabaseWrapper, *, err: OutputWrapper) -> Iterator[None]:
    """A session that may take as long as it needs, at DATABASE_DIRECT_URL if there is one."""
    with _directly(connection):
        connection.ensure_connection()
        if connection.connection.behind_pooler:
            err.write(
                "A pooler stands between migrate and PostgreSQL, and its lock may outlast it there: "
                "set DATABASE_DIRECT_URL to PostgreSQL's own address."
            )
        with connection.cursor() as cursor:
            cursor.execute(f"SET lock_timeout = '{_LOCK_TIMEOUT}'")
            cursor.execute("SET idle_in_transaction_session_timeout = 0")
        yield
        with connection.cursor() as cursor:
            cursor.execute("RESET lock_timeout")
            cursor.execute("RESET idle_in_transaction_session_timeout")


@contextmanager
def _directly(connection: BaseDatabaseWrapper) -> Iterator[None]:
    direct, usual = settings.DATABASE_DIRECT, dict(connection.settings_dict)
    if direct is None:
        yield
        return
    own_name = {} if usual["NAME"] == settings.DATABASE_NAME else {"NAME": usual["NAME"]}  # a test's
    connection.close()
    connection.settings_dict.update({**direct, **own_name})
    try:
        yield
    finally:
        connection.close()
        connection.settings_dict.update(usual)


@contextmanager
def _alone(connection: BaseDatabaseWrapper, *, out: OutputWrapper) -> Iterator[None]:
    """Holds a lock of this session, which PostgreSQL releases once a killed run's last statement has ended.

    It is polled: to wait within one statement would block a CREATE INDEX CONCURRENTLY of the other run, which waits for
    every transaction that is open.
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


def _patient_where_nobody_waits(
    execute: Callable[..., Any],
    sql: str,
    *others: Any,  # as Django passes them: the last is the context
) -> Any:
    if "CONCURRENTLY" not in sql and "VALIDATE CONSTRAINT" not in sql:
        return execute(sql, *others)
    cursor = others[-1]["connection"].connection.cursor()
    cursor.execute("SET lock_timeout = 0")
    try:
        return execute(sql, *others)
    finally:
        with suppress(psycopg.Error):  # a transaction that failed takes its settings back
            cursor.execute(f"SET lock_timeout = '{_LOCK_TIMEOUT}'")


def _send_vacuums_away(connection: BaseDatabaseWrapper) -> None:
    """Waits for tables that are vacuumed, in a way that keeps neither readers nor writers waiting."""
    with connection.cursor() as cursor:
        cursor.execute(_VACUUMED)
        tables = [name for [name] in cursor.fetchall()]
    for table in tables:
        with suppress(OperationalError), transaction.atomic(using=connection.alias), connection.cursor() as cursor:
            cursor.execute("SET LOCAL lock_timeout = '2s'")
            cursor.execute(SQL("LOCK TABLE {} IN SHARE UPDATE EXCLUSIVE MODE").format(Identifier(table)))


def _asked(connection: BaseDatabaseWrapper, query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query, [_LOCK])
        row = cursor.fetchone()
    return row and row[0]
