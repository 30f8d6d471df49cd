"""What becomes of connections when PostgreSQL cuts them, or does not answer any more, and when their thread ends."""

import ctypes
import gc
import os
import socket
import struct
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from threading import Thread
from typing import Any

import psycopg
import pytest
from django.db import DatabaseError, NotSupportedError, OperationalError, close_old_connections, connection
from django.db.backends.base.base import BaseDatabaseWrapper

from engage.database.backend.base import WatchedConnection, _this_thread
from engage.database.backend.unresponsive import unresponsive
from engage.database.outages import is_cut_off, is_held_up
from engage.models import Workspace
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits, pytest.mark.without_pooler]


class Hasty(WatchedConnection):
    patience = 0.2
    ping_timeout = 2


@pytest.fixture(autouse=True)
def _silence_ends() -> Iterator[None]:
    yield
    unresponsive.forget()


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
    monkeypatch.setattr("engage.database.backend.base.DatabaseFeatures.minimum_database_version", (999,))
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
        self.kept: list[socket.socket] = []
        self.taking = Thread(target=self._take, daemon=True)
        self.taking.start()

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
    _end(between.listener)
    between.taking.join()  # it may have taken one that is not kept yet
    for one in between.kept:
        _end(one)


def _end(one: socket.socket) -> None:
    with suppress(OSError):
        one.shutdown(socket.SHUT_RDWR)
    one.close()


@pytest.fixture
def _hasty(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WatchedConnection, "patience", 0.2)


def wrapper_at(*hosts: tuple[str, int], **options: object) -> BaseDatabaseWrapper:
    """What Django would use, were the database at these hosts."""
    other = connection.copy()
    other.settings_dict["HOST"] = ",".join(host for host, _ in hosts)
    other.settings_dict["PORT"] = ",".join(str(port) for _, port in hosts)
    plain = {"sslmode": "disable", "gssencmode": "disable", "connect_timeout": 2}
    other.settings_dict["OPTIONS"] = {**connection.settings_dict["OPTIONS"], **plain, **options}
    return other


def own_host() -> tuple[str, int]:
    with hasty() as known:
        return known.info.host, known.info.port


def ask(other: BaseDatabaseWrapper) -> Any:
    with other.cursor() as cursor:
        cursor.execute("SELECT 1")
        return cursor.fetchone()


@pytest.mark.slow
@pytest.mark.usefixtures("_hasty")
def test_a_statement_to_a_silent_server_fails_and_nobody_else_waits(relay: Relay) -> None:
    other = wrapper_at(("127.0.0.1", relay.port))
    assert ask(other) == (1,)
    relay.silent = True
    with pytest.raises(OperationalError, match="does not answer"):
        ask(other)
    other.close()
    until = time.monotonic() + 1.5
    while (began := time.monotonic()) < until:
        with pytest.raises(OperationalError, match="did not answer a moment ago"):
            other.ensure_connection()
        assert time.monotonic() - began < 0.2
        time.sleep(0.1)
    relay.silent = False
    wait_until(lambda: can_connect(other), seconds=1.5)
    other.close()


@pytest.mark.slow
@pytest.mark.usefixtures("_hasty")
def test_of_several_hosts_one_that_hangs_is_left_for_the_next_and_taken_again_once_it_answers(relay: Relay) -> None:
    """A primary that froze, and a standby that was promoted."""
    other = wrapper_at(("127.0.0.1", relay.port), own_host(), target_session_attrs="read-write")
    assert ask(other) == (1,)
    assert other.connection.info.port == relay.port
    relay.silent = True
    with pytest.raises(OperationalError, match="does not answer"):
        ask(other)
    for _ in range(3):
        other.close()
        began = time.monotonic()
        assert ask(other) == (1,)
        assert time.monotonic() - began < 1  # and not the two seconds that a host is given
    relay.silent = False
    wait_until(lambda: can_connect(other) and other.connection.info.port == relay.port, seconds=5)
    other.close()


@pytest.mark.slow
def test_of_several_hosts_one_that_takes_no_connection_is_waited_for_once(relay: Relay) -> None:
    relay.silent = True
    other = wrapper_at(("127.0.0.1", relay.port), own_host())
    assert ask(other) == (1,)
    other.close()
    began = time.monotonic()
    assert ask(other) == (1,)
    assert time.monotonic() - began < 1
    other.close()


@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="a filter of Linux")
def test_a_connection_whose_packets_are_dropped_fails_although_the_server_answers_others(relay: Relay) -> None:
    """As where a NAT forgot it, or an address has moved: nobody says so to either side."""
    other = wrapper_at(("127.0.0.1", relay.port))
    assert ask(other) == (1,)
    drop_all_packets_to(relay.kept[0])
    began = time.monotonic()
    with pytest.raises(OperationalError) as failed:
        ask(other)
    assert time.monotonic() - began < 9
    assert is_cut_off(failed.value)
    other.close()
    assert ask(other) == (1,)
    other.close()


def drop_all_packets_to(taken: socket.socket) -> None:
    """The kernel acknowledges nothing that arrives there from now on."""
    program = ctypes.create_string_buffer(struct.pack("HBBI", 0x06, 0, 0, 0))  # return 0: none of it
    taken.setsockopt(socket.SOL_SOCKET, 26, struct.pack("HP", 1, ctypes.addressof(program)))  # SO_ATTACH_FILTER


def test_behind_a_pooler_that_answers_for_it_a_frozen_server_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WatchedConnection, "patience_with_pooler", 0.5)
    with hasty() as pooled:
        pooled.behind_pooler = True
        with pytest.raises(psycopg.OperationalError, match="does not answer"):
            pooled.execute("SELECT pg_sleep(3)")
        assert pooled.closed


def test_behind_a_pooler_whoever_has_a_moment_to_end_at_may_be_silent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(WatchedConnection, "patience_with_pooler", 0.2)
    with hasty() as pooled:
        pooled.behind_pooler = True
        with pooled.ending_at(time.monotonic() + 5):
            pooled.execute("SELECT pg_sleep(0.6)")
        with pytest.raises(psycopg.OperationalError, match="does not answer"):
            pooled.execute("SELECT pg_sleep(3)")


@pytest.mark.slow
def test_the_locks_of_whoever_is_idle_within_a_transaction_are_released(acme: Workspace) -> None:
    frozen, other = wrapper_at(own_host(), options=""), wrapper_at(own_host(), options="")
    frozen.set_autocommit(False)
    locked = "SELECT FROM engage_workspace FOR UPDATE"
    try:
        frozen.cursor().execute(locked)
        with pytest.raises(OperationalError) as held_up, other.cursor() as cursor:
            cursor.execute(locked)
        assert is_held_up(held_up.value)
        time.sleep(1)
        began = time.monotonic()
        while time.monotonic() - began < 8:
            with suppress(OperationalError), other.cursor() as cursor:
                cursor.execute(locked)
                break
        else:
            pytest.fail("It is still locked.")
        with pytest.raises(DatabaseError) as cut:
            frozen.cursor().execute("SELECT 1")
        assert is_cut_off(cut.value)
    finally:
        frozen.close()
        other.close()


@pytest.mark.slow
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


@pytest.mark.slow
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


@pytest.mark.slow
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
        where = {"host": "127.0.0.1", "port": listener.getsockname()[1], "dbname": "engage"}
        unresponsive.note(where)
        assert unresponsive.includes(where)
    wait_until(lambda: not unresponsive.includes(where), seconds=1.5)


def test_who_asks_seldom_sees_the_end_of_a_silence_as_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engage.database.backend.unresponsive._PROBE_AGAIN_SECONDS", 0.0)  # every question comes late
    told = connection.get_connection_params()
    where = {name: told.get(name) for name in ("host", "port", "dbname", "user")}
    unresponsive.note(where)
    wait_until(lambda: not unresponsive.includes(where), seconds=5)


def test_a_service_may_name_hosts_that_answer_so_it_is_asked_again_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engage.database.backend.unresponsive._LONGEST_OF_A_SERVICE", 0.2)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        where = {"service": "", "host": "127.0.0.1", "port": listener.getsockname()[1]}
        unresponsive.note(where)
        assert unresponsive.includes(where)
        wait_until(lambda: not unresponsive.includes(where), seconds=1.5)


def can_connect(other: BaseDatabaseWrapper) -> bool:
    other.close()
    try:
        other.ensure_connection()
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
