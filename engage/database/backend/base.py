"""Django's PostgreSQL backend, adapted to a server that restarts, cuts connections or stops answering.

1. A connection that was cut while idle is detected before it is used, without asking the server: an idle connection
   has nothing to read, so one that does is checked.
2. A statement may take as long as it needs; but after some seconds of silence the server is asked whether it is there.
   If it does not answer, the statement fails. (It may still be completed once the server comes back.) Behind a pooler,
   which would answer for it, fifteen seconds of silence are enough, unless it has a moment at which it must end: then
   it is cancelled. A connection whose packets get lost fails by itself: see the TCP limits in the settings.
3. A server that was silent is left alone until it answers again (unresponsive.py). Of several hosts the others are
   asked.
4. Rows are looked up by their keys. PostgreSQL caches a session's plans, including those of foreign key checks. A plan
   made while a table had a page of rows scans the whole table for each row looked up, until the table is analyzed: the
   first large call after a quiet start would take quadratic time. So no plan scans a whole table if any index serves.
5. Plans are not compiled (`jit`). Up to version 17, a plan that cannot avoid a forbidden scan counts as extremely
   expensive, and what is expensive is compiled each time: each claim of webhooks took a second instead of 0.2 ms.
6. A connection is closed when its thread ends. The web server ends threads that were idle for a while. Django's
   objects for a connection refer to themselves, so it used to stay open until the garbage collector ran.
7. PostgreSQL refuses a prepared statement for good once the type of a column that it gives has changed. A rollback
   makes psycopg forget what it has prepared. Outside of transactions there is none, so the connection is closed, and
   the statement, which did nothing, is executed again.

What 4 and 5 and time limits need of a session is in sessions.py. It also writes lists faster (arrays.py).
"""

import os
import select
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from threading import Lock, local
from typing import Any, ClassVar
from weakref import ref

import psycopg
from django.db import NotSupportedError
from django.db.backends.postgresql import base, features
from psycopg import IsolationLevel
from psycopg.abc import RV, PQGen

from engage.database.backend.arrays import WholeListDumper
from engage.database.backend.sessions import PREPARE_SESSION
from engage.database.backend.unresponsive import answers, unresponsive
from engage.database.outages import is_stale_plan
from engage.database.statement_limit import statement_limit

_WHERE = ("host", "port", "dbname", "user", "service")


class WatchedConnection(psycopg.Connection[Any]):
    """Gives up a statement if the server has fallen silent."""

    patience: ClassVar = 3.0  # seconds of silence before the server is asked whether it is there
    patience_with_pooler: ClassVar = 15.0  # seconds of silence that a statement may last behind a pooler
    ping_timeout: ClassVar = 2.0  # seconds
    behind_pooler = False
    where: Mapping[str, Any] | None = None  # the one host that it is connected to
    _asking: ClassVar = Lock()
    _ends_at: float | None = None

    @contextmanager
    def ending_at(self, moment: float) -> Iterator[None]:
        """Within it, statements end at this moment of the monotonic clock, and their silence has no other limit.

        The one that is under way, or the next one, raises QueryCanceled then, as after PostgreSQL's own limit.
        """
        self._ends_at = moment
        try:
            yield
        finally:
            self._ends_at = None

    def wait(self, gen: PQGen[RV], interval: float = 0.1, timeout: float | None = None) -> RV:
        if self._is_over(time.monotonic()):
            self._ends_at = None  # what ends the transaction is to be executed
            raise psycopg.errors.QueryCanceled("The time for all statements together is over.")
        return super().wait(self._watched(gen), interval, timeout)

    def _watched(self, gen: PQGen[RV]) -> PQGen[RV]:
        """The same generator, which is resumed every `interval` even if nothing has arrived."""
        heard = asked = time.monotonic()
        try:
            wanted = next(gen)
            while True:
                ready = yield wanted
                now = time.monotonic()
                if ready:
                    heard = asked = now
                elif self._is_over(now):
                    self._ends_at, heard = None, now
                    with suppress(psycopg.Error):  # the server may be away as well
                        self.cancel_safe(timeout=self.ping_timeout)
                elif self.behind_pooler and self._ends_at is None and now - heard > self.patience_with_pooler:
                    self._give_up()
                elif now - asked > self.patience:
                    self._require_an_answer()
                    asked = time.monotonic()
                wanted = gen.send(ready)
        except StopIteration as end:
            result: RV = end.value
            return result

    def _is_over(self, now: float) -> bool:
        return self._ends_at is not None and now > self._ends_at

    def _require_an_answer(self) -> None:
        """Raises OperationalError if the server is silent. One thread pings; those that wait for it use its result."""
        where = self.where or {name: getattr(self.info, name) for name in _WHERE[:4]}
        with self._asking:
            if not unresponsive.includes(where):
                if answers(where, within=self.ping_timeout):
                    return
                unresponsive.note(where)
        self._give_up()

    def _give_up(self) -> None:
        self.pgconn.finish()
        raise psycopg.OperationalError("PostgreSQL does not answer any more.")


class _Hold:
    """A thread's hold on a connection; the connection is closed when the hold is dropped."""

    def __init__(self, connection: WatchedConnection) -> None:
        self.connection = ref(connection)
        self._process = os.getpid()

    def __del__(self) -> None:
        connection = self.connection()
        # A forked child inherits it from its parent, which still uses it.
        if connection is not None and os.getpid() == self._process:
            connection.close()


class _Thread(local):
    """The connections that a thread holds, and drops when it ends."""

    def __init__(self) -> None:
        self._holds: list[_Hold] = []

    def hold(self, connection: WatchedConnection) -> None:
        self._holds = [*(held for held in self._holds if held.connection() is not None), _Hold(connection)]


_this_thread = _Thread()


class DatabaseFeatures(features.DatabaseFeatures):
    """Needs the version that conditions on attributes need: `pg_input_is_valid` came with it."""

    minimum_database_version = (16,)


class DatabaseWrapper(base.DatabaseWrapper):
    """Created by Django for `ENGINE = "engage.database.backend"`; needs CONN_HEALTH_CHECKS."""

    features_class = DatabaseFeatures

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.execute_wrappers.append(_without_stale_plans)

    def get_new_connection(self, conn_params: dict[str, Any]) -> WatchedConnection:
        self.isolation_level = IsolationLevel.READ_COMMITTED
        connection = _first_to_answer(conn_params)
        connection.adapters.register_dumper(list, WholeListDumper)
        _this_thread.hold(connection)
        return connection

    def init_connection_state(self) -> None:
        super().init_connection_state()
        known = self.connection.info.backend_pid
        with self.cursor() as cursor:
            cursor.execute(PREPARE_SESSION, [known])
            self.connection.behind_pooler = cursor.fetchone()[0] != known
            if statement_limit.seconds and not self.connection.behind_pooler:
                cursor.execute(
                    "SELECT set_config('statement_timeout', %s, false)", [f"{statement_limit.seconds * 1000:.0f}ms"]
                )

    def is_usable(self) -> bool:
        if self.connection is None or self.connection.closed:
            return False
        if self.errors_occurred or _has_something_to_say(self.connection):
            return super().is_usable()
        return True


def _without_stale_plans(
    execute: Callable[..., Any],
    statement: str,
    params: Any,
    many: bool,  # noqa: FBT001
    context: dict[str, Any],
) -> Any:
    """Executes a statement once more, on a new connection, if it was prepared before a column changed its type."""
    try:
        return execute(statement, params, many, context)
    except NotSupportedError as error:
        connection = context["connection"]
        if many or connection.in_atomic_block or not is_stale_plan(error):
            raise
        connection.close()
        context["cursor"].cursor = connection.cursor().cursor
        return execute(statement, params, many, context)


def _has_something_to_say(connection: Any) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def _first_to_answer(conn_params: Mapping[str, Any]) -> WatchedConnection:
    """A connection to the first of the hosts that takes it. Those that are silent are not asked."""
    refused: Exception = psycopg.OperationalError("PostgreSQL did not answer a moment ago.")
    for host in _hosts(conn_params):
        where = {name: host[name] for name in _WHERE if host.get(name)}
        if unresponsive.includes(where):
            continue
        try:
            connection = WatchedConnection.connect(**host)
        except psycopg.errors.ConnectionTimeout as error:
            unresponsive.note(where)
            refused = error
        except psycopg.OperationalError as error:
            refused = error
        else:
            connection.where = where
            return connection
    raise refused


def _hosts(conn_params: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The parameters for each of the hosts that a list of them names, in its order."""
    hosts = str(conn_params.get("host") or "").split(",")
    ports = str(conn_params.get("port") or "").split(",")
    if len(hosts) == 1 or len(ports) not in {1, len(hosts)}:
        return [dict(conn_params)]
    ports = ports * len(hosts) if len(ports) == 1 else ports
    return [{**conn_params, "host": host, "port": port or None} for host, port in zip(hosts, ports, strict=True)]
