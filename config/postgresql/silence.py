"""A server that fell silent: no caller waits for it until it answers again.

The first caller to find it silent knocks: it begins to connect, and does not wait. Callers that want a connection then
check whether the knock was answered. So an outage costs a process one wait, not one per request, and ends for it when
the server first answers.
"""

import select
import time
from collections.abc import Mapping
from threading import Lock
from typing import Any

import psycopg
from psycopg import pq
from psycopg.conninfo import make_conninfo

_KNOCK_AGAIN_SECONDS = 1.0  # the server may have lost the earlier one


class Silence:
    """Shared by all connections of a process, which have one server."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._where = b""
        self._knock: _Knock | None = None

    def note(self, where: Mapping[str, Any]) -> None:
        """Records that the server there (`host`, `port`, `dbname`, `user`, `service`) did not answer in time."""
        with self._lock:
            self._where = make_conninfo("", **{name: value for name, value in where.items() if value}).encode()
            self._knock_again()

    def end(self) -> None:
        """As if the server had answered; for tests."""
        with self._lock:
            self._end()

    def lasts(self) -> bool:
        """Whether the server is silent, as far as is known; never waits."""
        with self._lock:
            if self._knock is None:
                return False
            if self._knock.was_answered():
                self._end()
                return False
            if self._knock.age > _KNOCK_AGAIN_SECONDS:
                self._knock_again()
            return True

    def refuse(self) -> None:
        """Raises OperationalError while the server is silent."""
        if self.lasts():
            raise psycopg.OperationalError("PostgreSQL did not answer a moment ago.")

    def _knock_again(self) -> None:
        self._end()
        self._knock = _Knock(self._where)

    def _end(self) -> None:
        if self._knock:
            self._knock.leave()
        self._knock = None


class _Knock:
    """A connection attempt that is never used: only the server's first response matters."""

    def __init__(self, where: bytes) -> None:
        self._connection = pq.PGconn.connect_start(where)
        self._wants = pq.PollingStatus.WRITING
        self._said_at = time.monotonic()
        self.was_answered()  # sends at once what can be sent: the next check may come much later

    @property
    def age(self) -> float:
        """Seconds since something was last sent to the server."""
        return time.monotonic() - self._said_at

    def was_answered(self) -> bool:
        """Whether the server has answered or refused."""
        while self._connection.status != pq.ConnStatus.BAD:
            to_be_written = self._wants == pq.PollingStatus.WRITING
            poll = select.poll()
            poll.register(self._connection.socket, select.POLLOUT if to_be_written else select.POLLIN)
            if not poll.poll(0):
                return False
            if not to_be_written:
                return True
            self._wants = pq.PollingStatus(self._connection.connect_poll())
            self._said_at = time.monotonic()
        return True

    def leave(self) -> None:
        self._connection.finish()


silence = Silence()
