"""Servers that do not respond: no caller waits for one until it answers again.

The first caller to find a server unresponsive sends a probe: it begins to connect, and does not wait. Callers that want
a connection then check whether the probe was answered. So an outage costs a process one wait, not one per request, and
ends for it when the server first answers. Each host is remembered by itself, so that the others of a list are asked
meanwhile.
"""

import select
import time
from collections.abc import Mapping
from threading import Lock
from typing import Any

from psycopg import pq
from psycopg.conninfo import make_conninfo

_PROBE_AGAIN_SECONDS = 1.0  # the server may have lost the earlier one
_LONGEST_OF_A_SERVICE = 3.0  # which may name several hosts: libpq would ask the first of them alone


class Unresponsive:
    """Shared by all connections of a process."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._probes: dict[bytes, _Probe] = {}
        self._since: dict[bytes, float] = {}

    def note(self, where: Mapping[str, Any]) -> None:
        """Records that the server there (`host`, `port`, `dbname`, `user`, `service`) did not answer in time."""
        there = _conninfo(where)
        with self._lock:
            self._since[there] = time.monotonic()
            self._probe(there)

    def forget(self) -> None:
        """As if all servers had answered; for tests."""
        with self._lock:
            for there in list(self._probes):
                self._end(there)

    def includes(self, where: Mapping[str, Any]) -> bool:
        """Whether the server there is unresponsive, as far as is known; never waits."""
        if not self._probes:
            return False
        there = _conninfo(where)
        with self._lock:
            probe = self._probes.get(there)
            if probe is None:
                return False
            forgotten = "service" in where and time.monotonic() - self._since[there] > _LONGEST_OF_A_SERVICE
            if forgotten or probe.was_answered():
                self._end(there)
                return False
            if probe.age > _PROBE_AGAIN_SECONDS:
                self._probe(there)
            return True

    def _probe(self, there: bytes) -> None:
        if earlier := self._probes.pop(there, None):
            earlier.leave()
        self._probes[there] = _Probe(there)

    def _end(self, there: bytes) -> None:
        self._probes.pop(there).leave()
        del self._since[there]


def answers(where: Mapping[str, Any], *, within: float) -> bool:
    """Whether the server there says anything within these seconds. Other threads go on, as they would not in a ping."""
    probe = _Probe(_conninfo(where))
    try:
        return probe.was_answered(within=within) and not probe.was_refused
    finally:
        probe.leave()


def _conninfo(where: Mapping[str, Any]) -> bytes:
    return make_conninfo("", **{name: value for name, value in where.items() if value}).encode()


class _Probe:
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

    def was_answered(self, *, within: float = 0.0) -> bool:
        """Whether the server has answered or refused."""
        until = time.monotonic() + within
        while not self.was_refused:
            to_be_written = self._wants == pq.PollingStatus.WRITING
            poll = select.poll()
            poll.register(self._connection.socket, select.POLLOUT if to_be_written else select.POLLIN)
            if not poll.poll(max(0.0, until - time.monotonic()) * 1000):
                return False
            if not to_be_written:
                return True
            self._wants = pq.PollingStatus(self._connection.connect_poll())
            self._said_at = time.monotonic()
        return True

    @property
    def was_refused(self) -> bool:
        """Whether nobody listens there."""
        return self._connection.status == pq.ConnStatus.BAD

    def leave(self) -> None:
        self._connection.finish()


unresponsive = Unresponsive()
