"""`manage.py migrate`, one run at a time: where each new container migrates at its start, several do at once."""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

from django.core.management.base import OutputWrapper
from django.core.management.commands import migrate
from django.db import Error, connections
from django.db.backends.base.base import BaseDatabaseWrapper

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
