"""Django's PostgreSQL backend, made for a server that restarts, cuts connections, or does not answer any more.

1. A connection that was cut while nobody used it is found out before it is used, without asking the server: an idle
   connection has nothing to say, so one that has is looked at more closely.
2. A statement may take as long as it takes; but after some seconds of silence the server is asked whether it is there.
   If it is not, the statement has failed. (It may be done all the same, once the server comes back.)
3. A server that was silent is left alone until it speaks (silence.py).
4. Rows are looked up by their keys. PostgreSQL keeps the plans of a session, also those by which it checks foreign
   keys. One that was made while a table had a page of rows reads all of it for each row looked up, until the table is
   analyzed: the first large call after a quiet start would take a time that grows with its square. So no plan reads a
   whole table where any index serves.
5. A connection ends with its thread. The web server ends threads that had nothing to do for a while. What Django keeps
   of one refers to itself, and so it stayed, and the connection with it, until the garbage collector came by.

And it writes lists faster (arrays.py).
"""

import os
import select
import time
from threading import Lock, local
from typing import Any, ClassVar
from weakref import ref

import psycopg
from django.db.backends.postgresql import base
from psycopg import IsolationLevel, pq
from psycopg.abc import RV, PQGen
from psycopg.conninfo import make_conninfo

from config.postgresql.arrays import WholeListDumper
from config.postgresql.silence import silence

_WHERE = ("host", "port", "dbname", "user")


class WatchedConnection(psycopg.Connection[Any]):
    """Gives a statement up where the server has fallen silent."""

    patience: ClassVar = 3.0  # seconds of silence before the server is asked whether it is there
    ping_timeout: ClassVar = 2  # seconds
    _asking: ClassVar = Lock()

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        return super().wait(self._watched(gen), interval, timeout)

    def _watched(self, gen: PQGen[RV]) -> PQGen[RV]:
        """The same generator, which is told every `interval` that nothing has come."""
        heard = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                if ready:
                    heard = time.monotonic()
                elif time.monotonic() - heard > self.patience:
                    self._require_an_answer()
                    heard = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as end:
            result: RV = end.value
            return result

    def _require_an_answer(self) -> None:
        """One thread asks; those who wait meanwhile take its word."""
        where = {name: getattr(self.info, name) for name in _WHERE}
        asked = make_conninfo("", **where, connect_timeout=self.ping_timeout)
        with self._asking:
            if not silence.lasts():
                if pq.PGconn.ping(asked.encode()) != pq.Ping.NO_RESPONSE:
                    return
                silence.note(where)
        self.pgconn.finish()
        raise psycopg.OperationalError("PostgreSQL does not answer any more.")


class _Hold:
    """A thread's hold on a connection, which is closed when it is let go."""

    def __init__(self, connection: WatchedConnection) -> None:
        self.connection = ref(connection)
        self._process = os.getpid()

    def __del__(self) -> None:
        connection = self.connection()
        # A forked child has it from its parent, who goes on with it.
        if connection is not None and os.getpid() == self._process:
            connection.close()


class _Thread(local):
    """What a thread holds, and lets go when it ends."""

    def __init__(self) -> None:
        self._holds: list[_Hold] = []

    def hold(self, connection: WatchedConnection) -> None:
        self._holds = [*(held for held in self._holds if held.connection() is not None), _Hold(connection)]


_this_thread = _Thread()


class DatabaseWrapper(base.DatabaseWrapper):
    """Made by Django for `ENGINE = "config.postgresql"`; needs CONN_HEALTH_CHECKS."""

    def get_new_connection(self, conn_params: dict[str, Any]) -> WatchedConnection:
        silence.refuse()
        self.isolation_level = IsolationLevel.READ_COMMITTED
        try:
            connection = WatchedConnection.connect(**conn_params)
        except psycopg.errors.ConnectionTimeout:
            silence.note({name: conn_params.get(name) for name in _WHERE})
            raise
        connection.adapters.register_dumper(list, WholeListDumper)
        _this_thread.hold(connection)
        return connection

    def init_connection_state(self) -> None:
        super().init_connection_state()
        with self.cursor() as cursor:
            cursor.execute("SET enable_seqscan = off")

    def is_usable(self) -> bool:
        if self.connection is None or self.connection.closed:
            return False
        if self.errors_occurred or _has_something_to_say(self.connection):
            return super().is_usable()
        return True


def _has_something_to_say(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))
