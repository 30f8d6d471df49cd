"""What becomes of connections when PostgreSQL cuts them, or does not answer any more, and when their thread ends."""

import gc
import os
import socket
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.db import NotSupportedError, OperationalError, close_old_connections, connection

from config.postgresql.base import WatchedConnection, _this_thread
from config.postgresql.silence import silence
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


class Hasty(WatchedConnection):
    patience = 0.2
    ping_timeout = 2


@pytest.fixture(autouse=True)
def _silence_ends() -> Iterator[None]:
    yield
    silence.end()


def hasty(**other: object) -> Hasty:
    known = connection.get_connection_params()
    known = {name: known[name] for name in ("dbname", "user", "password", "host", "port") if name in known}
    return Hasty.connect(**(known | other), autocommit=True)


def own_pid() -> int:
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_backend_pid()")
        return int(cursor.fetchone()[0])


def test_a_version_that_lacks_what_conditions_need_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    assert connection.features.minimum_database_version == (16,)
    monkeypatch.setattr("config.postgresql.base.DatabaseFeatures.minimum_database_version", (999,))
    monkeypatch.setattr("django.db.backends.base.base.RAN_DB_VERSION_CHECK", set())
    other = connection.copy()
    with pytest.raises(NotSupportedError, match=r"PostgreSQL 999 or later is required \(found "):
        other.ensure_connection()
    other.close()


@pytest.mark.parametrize("setting", ["enable_seqscan", "jit"])
def test_no_plan_scans_a_table_needlessly_or_is_compiled(setting: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("SELECT current_setting(%s)", [setting])
        assert cursor.fetchone() == ("off",)


def test_a_connection_that_was_cut_while_idle_is_replaced_before_it_is_used() -> None:
    cut = own_pid()
    with hasty() as other:
        other.execute("SELECT pg_terminate_backend(%s, 5000)", [cut])
    close_old_connections()  # as before every request and every task
    assert own_pid() != cut


def test_a_healthy_connection_is_kept_without_a_statement() -> None:
    pid = own_pid()
    with hasty() as other:
        last = "SELECT query_start FROM pg_stat_activity WHERE pid = %s"
        before = other.execute(last, [pid]).fetchone()
        assert connection.is_usable()
        assert other.execute(last, [pid]).fetchone() == before
    assert own_pid() == pid


def test_a_long_statement_is_waited_for_while_the_server_is_there() -> None:
    with hasty() as patient:
        assert patient.execute("SELECT pg_sleep(0.7), 7").fetchone() == ("", 7)


class Relay:
    """Between a connection and PostgreSQL, until it falls silent; then it still takes connections."""

    def __init__(self) -> None:
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        self.silent = False
        self.kept = [self.listener]
        Thread(target=self._take, daemon=True).start()

    def _take(self) -> None:
        while True:
            try:
                near, _ = self.listener.accept()
            except OSError:
                return
            self.kept.append(near)
            if not self.silent:
                far = self._connect()
                self.kept.append(far)
                for one, other in ((near, far), (far, near)):
                    Thread(target=self._carry, args=(one, other), daemon=True).start()

    def _connect(self) -> socket.socket:
        with hasty() as known:
            host, port = known.info.host, known.info.port
        if not host.startswith("/"):
            return socket.create_connection((host, port))
        far = socket.socket(socket.AF_UNIX)
        far.connect(f"{host}/.s.PGSQL.{port}")
        return far

    def _carry(self, one: socket.socket, other: socket.socket) -> None:
        with suppress(OSError):
            while (read := one.recv(65536)) and not self.silent:
                other.sendall(read)


@pytest.fixture
def relay() -> Iterator[Relay]:
    between = Relay()
    yield between
    for one in between.kept:
        with suppress(OSError):
            one.shutdown(socket.SHUT_RDWR)
        one.close()


def test_a_statement_to_a_server_that_fell_silent_fails_and_nobody_else_waits_for_it_until_it_speaks(
    relay: Relay,
) -> None:
    with pytest.raises(psycopg.OperationalError, match="does not answer"), hasty(  # noqa: PT012
        host="127.0.0.1", port=relay.port, sslmode="disable", gssencmode="disable"
    ) as cut:  # fmt: skip
        assert cut.execute("SELECT 1").fetchone() == (1,)
        relay.silent = True
        cut.execute("SELECT 2")
    assert cut.closed
    connection.close()
    until = time.monotonic() + 1.5
    while (began := time.monotonic()) < until:
        with pytest.raises(OperationalError, match="did not answer a moment ago"):
            connection.ensure_connection()
        assert time.monotonic() - began < 0.2
        time.sleep(0.1)
    relay.silent = False
    wait_until(can_connect, seconds=1.5)


def test_threads_that_wait_for_the_same_silence_give_up_together(relay: Relay) -> None:
    def wait_in_vain() -> float:
        began = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match="does not answer"):
            connections.pop().execute("SELECT 2")
        return time.monotonic() - began

    where: dict[str, Any] = {"host": "127.0.0.1", "port": relay.port, "sslmode": "disable", "gssencmode": "disable"}
    connections = [hasty(**where) for _ in range(3)]
    for one in connections:
        one.execute("SELECT 1")
    relay.silent = True
    with ThreadPoolExecutor(3) as pool:
        waited = list(pool.map(lambda _: wait_in_vain(), range(3)))
    assert max(waited) < Hasty.patience + Hasty.ping_timeout + 0.9


def test_a_server_that_answers_no_connection_is_waited_for_once() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        where = {"host": "127.0.0.1", "port": listener.getsockname()[1], "sslmode": "disable", "connect_timeout": 2}
        there = connection.get_connection_params() | where
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            connection.get_new_connection(there)
        began = time.monotonic()
        with pytest.raises(psycopg.OperationalError, match="did not answer a moment ago"):
            connection.get_new_connection(there)
        assert time.monotonic() - began < 0.2


def test_a_silent_server_that_a_service_names_is_waited_for_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        services = tmp_path / "services"
        services.write_text(f"[silent]\nhost=127.0.0.1\nport={listener.getsockname()[1]}\nsslmode=disable\n")
        monkeypatch.setenv("PGSERVICEFILE", str(services))
        there = {"service": "silent", "connect_timeout": 2}
        with pytest.raises(psycopg.errors.ConnectionTimeout):
            connection.get_new_connection(there)
        with pytest.raises(psycopg.OperationalError, match="did not answer a moment ago"):
            connection.get_new_connection(there)


def test_a_silent_server_that_is_gone_is_not_silent_any_more() -> None:
    with socket.create_server(("127.0.0.1", 0)) as listener:
        silence.note({"host": "127.0.0.1", "port": listener.getsockname()[1], "dbname": "engage"})
        with pytest.raises(psycopg.OperationalError, match="did not answer a moment ago"):
            silence.refuse()
    wait_until(can_connect, seconds=1.5)


def test_who_asks_seldom_sees_the_end_of_a_silence_as_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.postgresql.silence._KNOCK_AGAIN_SECONDS", 0.0)  # every question comes late
    told = connection.get_connection_params()
    silence.note({name: told.get(name) for name in ("host", "port", "dbname", "user")})
    wait_until(lambda: not silence.lasts(), seconds=5)
    silence.refuse()


def can_connect() -> bool:
    connection.close()
    try:
        connection.ensure_connection()
    except OperationalError:
        return False
    return True


@pytest.fixture
def _no_garbage_collector() -> Iterator[None]:
    gc.disable()
    yield
    gc.enable()


def is_connected(pid: int) -> bool:
    with connection.cursor() as cursor:
        cursor.execute("SELECT FROM pg_stat_activity WHERE pid = %s", [pid])
        return cursor.fetchone() is not None


@pytest.mark.usefixtures("_no_garbage_collector")
def test_a_connection_ends_with_its_thread() -> None:
    own, pids = own_pid(), list[int]()
    for _ in range(3):
        thread = Thread(target=lambda: pids.append(own_pid()))
        thread.start()
        thread.join()
    wait_until(lambda: not any(is_connected(pid) for pid in pids), seconds=5)
    assert len({own, *pids}) == 4
    assert own_pid() == own


def test_a_forked_process_leaves_its_parents_connection_alone() -> None:
    pid = own_pid()
    child = os.fork()
    if not child:
        with suppress(BaseException):
            inherited, connection.connection = connection.connection, None
            connection.connect()
            del _this_thread._holds[:]  # lets go of the inherited one, which is still there
            os._exit(0 if inherited is not None else 1)
        os._exit(1)
    assert os.waitpid(child, 0)[1] == 0
    assert own_pid() == pid
