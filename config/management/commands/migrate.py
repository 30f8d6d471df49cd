"""`manage.py migrate`, one run at a time: where each new container migrates at its start, several do at once.

It needs a session of its own, for its lock and because a migration may take long: with DATABASE_DIRECT_URL it goes past
a pooler. At its end the database has the settings that each session needs (engage/database/backend/sessions.py).
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

import psycopg
from django.conf import settings
from django.core.management.base import OutputWrapper
from django.core.management.commands import migrate
from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper
from psycopg.errors import InsufficientPrivilege

from engage.database.backend.sessions import missing_settings, settings_missing, statements_for

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
        connection = connections[options["database"]]
        with _session_of_its_own(connection, err=self.stderr), _alone(connection, out=self.stdout):
            super().handle(*args, **options)
            self._give_the_database_its_settings(connection)

    def _give_the_database_its_settings(self, connection: BaseDatabaseWrapper) -> None:
        there = {**connection.get_connection_params(), "options": ""}  # to see what a session has that asks for nothing
        with psycopg.connect(**there, autocommit=True) as fresh:
            missing = missing_settings(fresh.cursor())
            try:
                for statement in statements_for(fresh.info.dbname, missing):
                    fresh.execute(statement)
            except InsufficientPrivilege:
                self.stderr.write(settings_missing(fresh.info.dbname, missing))


@contextmanager
def _session_of_its_own(connection: BaseDatabaseWrapper, *, err: OutputWrapper) -> Iterator[None]:
    """A session without time limits, at DATABASE_DIRECT_URL if there is one."""
    with _directly(connection):
        connection.ensure_connection()
        if connection.connection.behind_pooler:
            err.write(
                "A pooler stands between migrate and PostgreSQL, and its lock may outlast it there: "
                "set DATABASE_DIRECT_URL to PostgreSQL's own address."
            )
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = 0")
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


def _asked(connection: BaseDatabaseWrapper, query: str) -> Any:
    with connection.cursor() as cursor:
        cursor.execute(query, [_LOCK])
        row = cursor.fetchone()
    return row and row[0]
