"""The embedded servers' lives, with real servers in a folder of their own and real processes that use them."""

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import closing, suppress
from pathlib import Path
from typing import Any, Self

import psycopg
import pytest
import redis

from config import ROOT
from config.local import servers
from config.local.locks import FileLock
from config.local.servers import EmbeddedServerError, Server
from tests.support.waiting import wait_until

pytestmark = pytest.mark.mostly_waits

USE = """
import json, sys
from config.local import embedded
print(json.dumps({name: getattr(embedded, name)() for name in sys.argv[1:]}), flush=True)
if sys.stdin.readline():
    embedded.stop_unless_used(within=10)
"""


class User:
    """A process that uses servers until it is told to stop."""

    def __init__(self, *names: str) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", USE, *names], cwd=ROOT, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
        )

    @property
    def urls(self) -> dict[str, str]:
        """Waits until the servers answer."""
        assert self.process.stdout
        return dict(json.loads(self.process.stdout.readline()))

    def end(self, *, stop: bool = False) -> None:
        """Go like any process does, or ask that the servers stop at once."""
        self.process.communicate("stop\n" if stop else "", timeout=20)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.process.kill()
        self.process.communicate()


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """A data folder with a path longer than a socket's may be; making a cluster in it costs more than all tests do."""
    path = tmp_path_factory.mktemp("embedded") / ("a-rather-long-name-" * 6) / "data"
    yield path
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("EMBEDDED_DATA", str(path))
        shutil.rmtree(servers.redis().sockets)


@pytest.fixture
def folder(data: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """The data folder, in which nothing runs before the test nor after it."""
    monkeypatch.setenv("EMBEDDED_DATA", str(data))
    monkeypatch.setenv("EMBEDDED_GRACE", "0.5")
    yield data
    for server in (servers.postgresql(), servers.redis()):
        with closing(FileLock.at(server.users)) as users:
            users.note("0")
        wait_until(lambda server=server: not is_locked(server.tended), what=f"the end of {server.name}")  # type: ignore[misc]


def is_locked(path: Path) -> bool:
    with closing(FileLock.at(path)) as lock:
        return not lock.try_exclusive()


def eventually(condition: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + 10
    while not condition() and time.monotonic() < deadline:
        time.sleep(0.05)
    return condition()


def beside(server: Server) -> int:
    """The process that stops the server."""
    command = f"config.local.embedded\0{server.name}\0".encode()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if command in (process / "cmdline").read_bytes() and is_in(server.data.parent, process):
                return int(process.name)
    raise AssertionError


def is_in(folder: Path, process: Path) -> bool:
    return f"EMBEDDED_DATA={folder}\0".encode() in (process / "environ").read_bytes()


def process_of(server: Server) -> int:
    """The server's first process."""
    tending = beside(server)
    return int(Path(f"/proc/{tending}/task/{tending}/children").read_text())


def test_both_serve_over_sockets_alone_and_keep_what_they_were_given(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """After a kill and after an orderly end; and PostgreSQL's log of a slow statement says nothing of people."""
    monkeypatch.setenv("EMBEDDED_GRACE", "60")  # who asks that they stop need not wait for it
    with User("database_url", "redis_url") as user:
        urls = user.urls
        with psycopg.connect(urls["database_url"], autocommit=True) as database, redis_at(urls) as queue:
            settings = {
                name: database.execute("SELECT current_setting(%s)", [name]).fetchone()
                for name in ("listen_addresses", "fsync", "timezone", "server_encoding")
            }
            letters = database.execute("SELECT lower('É'), 'a' < 'B'").fetchone()
            durable = [queue.config_get(name)[name] for name in ("port", "appendonly", "maxmemory-policy")]
            database.execute("CREATE TABLE kept AS SELECT 'a row' AS text")
            queue.set("kept", "a key")
            database.execute("SET log_min_duration_statement = 0")
            database.execute("SELECT %s::text AS slow", ["ada@example.com"])
        os.kill(process_of(servers.postgresql()), signal.SIGKILL)
        with User("database_url") as next_user:
            assert next_user.urls["database_url"] == urls["database_url"]
            assert kept_row(urls) == ("a row",)
        killed = servers.postgresql().log.read_text()
        user.end(stop=True)
    assert settings == {"listen_addresses": ("",), "fsync": ("on",), "timezone": ("UTC",), "server_encoding": ("UTF8",)}
    assert letters == ("é", False)
    assert durable == ["0", "yes", "noeviction"]
    assert "AS slow" in killed
    assert "ada@example.com" not in killed
    assert servers.postgresql().log.stat().st_mode & 0o077 == 0
    assert not is_locked(servers.postgresql().running)
    assert not is_locked(servers.redis().running)

    with User("database_url", "redis_url") as user:
        assert user.urls == urls
        assert kept_row(urls) == ("a row",)
        with redis_at(urls) as queue:
            assert queue.get("kept") == b"a key"
        after = servers.postgresql().log.read_text().removeprefix(killed)
    assert "not properly shut down" not in after


def kept_row(urls: dict[str, str]) -> Any:
    with psycopg.connect(urls["database_url"]) as database:
        return database.execute("SELECT text FROM kept").fetchone()


def redis_at(urls: dict[str, str]) -> redis.Redis:
    return redis.Redis.from_url(urls["redis_url"])


def test_processes_that_start_at_the_same_instant_share_one_server(folder: Path) -> None:
    users = [User("redis_url") for _ in range(6)]
    seen = set()
    for user in users:
        with redis_at(user.urls) as queue:
            seen.add(queue.info("server")["run_id"])
    assert len(seen) == 1
    for user in users:
        user.end()


def test_processes_that_come_and_go_never_miss_a_server(folder: Path) -> None:
    """Each stops the server unless another uses it, so starts meet stops at every stage."""
    came_and_went = """
for _ in range(8):
    import redis; from config.local import embedded
    with redis.Redis.from_url(embedded.redis_url()) as queue: queue.incr("visits")
    embedded.stop_unless_used(within=10)
"""
    visitors = [subprocess.Popen([sys.executable, "-c", came_and_went], cwd=ROOT) for _ in range(3)]
    assert [visitor.wait(timeout=30) for visitor in visitors] == [0, 0, 0]
    with User("redis_url") as user, redis_at(user.urls) as queue:
        assert queue.get("visits") == b"24"


def test_a_server_outlives_its_last_user_by_a_little(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDED_GRACE", "1.5")
    server = servers.redis()
    with User("redis_url") as user:
        assert user.urls
        time.sleep(1.5)  # it is not the time since the start that counts
        ended = time.monotonic()
        user.end()
    assert eventually(lambda: not is_locked(server.running))
    assert time.monotonic() - ended > 0.8


def test_who_comes_a_little_after_the_last_finds_the_same_server(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDED_GRACE", "60")
    seen = set()
    for later in (0.0, 0.5):  # by then it has been seen that nobody uses it
        time.sleep(later)
        with User("redis_url") as user:
            with redis_at(user.urls) as queue:
                seen.add(queue.info("server")["run_id"])
            user.end()
    assert len(seen) == 1


def test_a_killed_user_counts_no_longer(folder: Path) -> None:
    with User("redis_url") as user, User("redis_url") as other:
        assert user.urls == other.urls
        user.process.kill()
        time.sleep(1.5)
        assert is_locked(servers.redis().running)
        other.process.kill()
        assert eventually(lambda: not is_locked(servers.redis().running))


@pytest.mark.parametrize("make", [servers.postgresql, servers.redis], ids=["postgresql", "redis"])
def test_a_server_does_not_outlive_the_process_that_stops_it(folder: Path, make: Callable[[], Server]) -> None:
    server = make()
    name = "database_url" if server.name == "postgresql" else "redis_url"
    with User(name) as user:
        urls, before = user.urls, server.log.read_text()
        os.kill(beside(server), signal.SIGKILL)
        assert eventually(lambda: not is_locked(server.running))
        with User(name) as other:
            assert other.urls == urls
    assert "not properly shut down" not in server.log.read_text().removeprefix(before)


def test_whoever_is_interrupted_the_moment_a_server_starts_can_stop_it(folder: Path) -> None:
    """As by a Ctrl-C: what it has started may still be on its way."""
    interrupted = """
import subprocess
from config.local import embedded

class Interrupted(subprocess.Popen):
    def __init__(self, *args, **options):
        super().__init__(*args, **options)
        subprocess.Popen = usual
        raise KeyboardInterrupt

usual, subprocess.Popen = subprocess.Popen, Interrupted
try:
    embedded.redis_url()
except KeyboardInterrupt:
    embedded.stop_unless_used(within=10)
"""
    answer = subprocess.run([sys.executable, "-c", interrupted], check=False, cwd=ROOT, capture_output=True)
    assert (answer.returncode, answer.stderr) == (0, b"")
    assert not is_locked(servers.redis().tended)
    assert not is_locked(servers.redis().running)


def test_data_taken_away_from_under_it_are_no_obstacle(folder: Path) -> None:
    with User("database_url") as user:
        urls = user.urls
        process = Path("/proc", str(process_of(servers.postgresql())))
        with closing(psycopg.connect(urls["database_url"])):  # nobody waits for who is connected
            folder.rename(folder.with_name("gone"))
            assert eventually(lambda: not process.exists())
    (folder / "postgresql.new" / "half-made").mkdir(parents=True)
    with User("database_url") as user:
        assert user.urls == urls


@pytest.mark.parametrize("lost", ["sockets", "data"])
def test_a_server_whose_files_were_deleted_makes_way_for_the_next(folder: Path, lost: str) -> None:
    server = servers.redis()
    with User("redis_url") as user:
        urls = user.urls
        process = Path("/proc", str(process_of(server)))
        shutil.rmtree(server.sockets if lost == "sockets" else server.data)
        assert eventually(lambda: not process.exists())
        with User("redis_url") as other:
            assert other.urls == urls


def test_a_server_that_cannot_start_says_why(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "postgresql").mkdir()
    monkeypatch.setenv("EMBEDDED_DATA", str(tmp_path))
    sockets = servers.postgresql().sockets
    command = [sys.executable, "-c", USE, "database_url"]
    answer = subprocess.run(command, check=False, cwd=ROOT, capture_output=True, text=True)
    assert answer.returncode == 1
    assert "EmbeddedServerError: postgresql did not start" in answer.stderr
    assert "postgresql.conf" in answer.stderr
    shutil.rmtree(sockets)
    monkeypatch.setenv("EMBEDDED_DATA", str(folder))


def test_a_socket_folder_that_others_can_enter_is_refused(folder: Path) -> None:
    sockets = servers.redis().sockets
    for mode in (0o755, 0o710, 0o701):
        sockets.chmod(mode)
        with pytest.raises(EmbeddedServerError, match="not a private folder"):
            servers.redis()
    sockets.chmod(0o700)


@pytest.mark.skipif(os.geteuid() != 0, reason="only root runs PostgreSQL as somebody else")
def test_root_need_not_open_a_private_folder_for_postgresql(tmp_path: Path) -> None:
    private = tmp_path / "private"
    private.mkdir(mode=0o700)
    program = private / "program"
    program.write_text("#!/bin/sh\nid -u\ntest -x $0 && touch $0.seen\n")
    program.chmod(0o700)
    answer = subprocess.run([*servers.ordinary_user(), program], check=True, capture_output=True, text=True)
    assert answer.stdout != "0\n"
    assert (private / "program.seen").exists()


def test_a_grace_may_be_none_and_is_ten_seconds_unless_said(monkeypatch: pytest.MonkeyPatch) -> None:
    for said, seconds in (("0", 0.0), ("0.5", 0.5), ("", 10.0)):
        monkeypatch.setenv("EMBEDDED_GRACE", said)
        assert servers.grace() == seconds
    for said in ("soon", "-1", "inf", "nan"):
        monkeypatch.setenv("EMBEDDED_GRACE", said)
        with pytest.raises(EmbeddedServerError, match=f"EMBEDDED_GRACE must be a number of seconds .* not '{said}'"):
            servers.grace()


def test_only_versions_that_the_wheel_has_are_started(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("EMBEDDED_POSTGRESQL", "15")
    with pytest.raises(EmbeddedServerError, match="EMBEDDED_POSTGRESQL must be 16 or 18, not '15'"):
        servers.postgresql()


def test_two_data_folders_have_two_socket_folders(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    first = servers.redis().sockets
    with monkeypatch.context() as beside:
        beside.setenv("EMBEDDED_DATA", f"{folder}2")
        second = servers.redis().sockets
    second.rmdir()
    assert first != second
