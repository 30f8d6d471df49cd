"""A PostgreSQL and a Redis of the run's own, that can be stopped, killed and frozen.

They are the programs that a checkout brings along, in a scratch folder and on ports of loopback; where there is another
machine, they listen at its link as well.
"""

import os
import shutil
import signal
import subprocess
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import BinaryIO

import psycopg
import redis

from config.local import servers
from config.local.servers import Server
from tests.chaos.machine import Machine
from tests.support.receiver import free_port
from tests.support.waiting import wait_until

PATIENCE_SECONDS = 60.0
_CONNECTIONS = 70  # what the service has, and some: those that are to use up all need not be many


class OwnServer:
    """A server in the hands of whoever injects faults."""

    def __init__(self, server: Server, *, port: int, options: Sequence[str], answers: Callable[[], bool]) -> None:
        self.port = port
        self._server = server
        self._command = [*server.command, *options]
        self._answers = answers
        self._process: subprocess.Popen[bytes] | None = None

    @property
    def data(self) -> Path:
        return self._server.data

    def start(self) -> None:
        """Starts it, and waits until it answers."""
        with self._server.log.open("ab") as log:
            with _said_to(log):
                self._server.prepare(self._server)
            self._process = subprocess.Popen(self._command, stdout=log, stderr=log, start_new_session=True)
        wait_until(self._answers, what=self._server.name)

    def stop(self, number: signal.Signals) -> None:
        """Sends the signal to its first process, and waits for its end."""
        if self._process is not None:
            self._process.send_signal(number)
            self._process.wait(PATIENCE_SECONDS)

    @contextmanager
    def frozen(self) -> Iterator[None]:
        """All its processes stand still until the end of the block."""
        try:
            self.freeze()
            yield
        finally:
            self.thaw()

    def freeze(self) -> None:
        """All its processes stand still."""
        stopped: list[int] = []
        while fresh := [pid for pid in self._pids() if pid not in stopped]:
            for pid in fresh:
                _signal(pid, signal.SIGSTOP)
            stopped += fresh

    def thaw(self) -> None:
        for pid in self._pids():
            _signal(pid, signal.SIGCONT)

    def wait_until_it_answers(self) -> None:
        wait_until(self._answers, what=self._server.name)

    def kill(self) -> None:
        """All its processes, frozen or not."""
        if self._process is not None and self._process.poll() is None:
            for pid in reversed(self._pids()):
                _signal(pid, signal.SIGKILL)
            self._process.wait(PATIENCE_SECONDS)

    def end(self) -> None:
        """However it stands."""
        self.kill()
        shutil.rmtree(self._server.sockets, ignore_errors=True)

    def _pids(self) -> list[int]:
        return [] if self._process is None else [self._process.pid, *children_of(self._process.pid)]


def own_postgresql(folder: Path, *, machine: Machine | None = None) -> tuple[OwnServer, str]:
    """Not started yet; and its URL."""
    server, port = _in_folder(servers.postgresql, folder), free_port()
    url = f"postgres://{servers.DATABASE}@127.0.0.1:{port}/{servers.DATABASE}"
    settings: dict[str, object] = {
        "listen_addresses": ",".join(addresses_of(machine)), "port": port, "max_connections": _CONNECTIONS,
    }  # fmt: skip
    if machine:
        settings["hba_file"] = _who_may_come(folder, machine)
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return OwnServer(server, port=port, options=options, answers=lambda: _postgresql_answers(url)), url


def own_redis(folder: Path, *, machine: Machine | None = None) -> tuple[OwnServer, str]:
    """Not started yet; and its URL."""
    server, port = _in_folder(servers.redis, folder), free_port()
    url = f"redis://127.0.0.1:{port}/0"
    options = ["--bind", *addresses_of(machine), "--port", str(port)]
    if machine:
        options += ["--protected-mode", "no"]  # it would serve loopback alone
    return OwnServer(server, port=port, options=options, answers=lambda: _redis_answers(url)), url


def addresses_of(machine: Machine | None) -> list[str]:
    """Where servers listen."""
    return ["127.0.0.1", *([machine.here] if machine else [])]


def _who_may_come(folder: Path, machine: Machine) -> Path:
    """PostgreSQL's file of those who need no password."""
    file = folder / "pg_hba.conf"
    rows = ("all all 127.0.0.1/32", f"all all {machine.there}/32", "replication all 127.0.0.1/32")
    file.write_text("".join(f"host {row} trust\n" for row in rows))
    return file


def _in_folder(make: Callable[[], Server], folder: Path) -> Server:
    """What the checkout would start if its data were in this folder."""
    before = os.environ.get("EMBEDDED_DATA")
    os.environ["EMBEDDED_DATA"] = str(folder)
    try:
        return make()
    finally:
        del os.environ["EMBEDDED_DATA"]
        if before is not None:
            os.environ["EMBEDDED_DATA"] = before


def _postgresql_answers(url: str) -> bool:
    try:
        with psycopg.connect(url, connect_timeout=2) as connection:
            connection.execute("SELECT 1")
    except psycopg.OperationalError:
        return False
    return True


def _redis_answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_timeout=2) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def children_of(pid: int) -> list[int]:
    """The process ids of all its children, and of theirs."""
    try:
        own = [int(child) for child in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [every for child in own for every in (child, *children_of(child))]


def ports_of(pid: int) -> set[int]:
    """The local ports of all its connections over TCP."""
    files: set[Path] = set()
    with suppress(OSError):
        for file in Path(f"/proc/{pid}/fd").iterdir():
            with suppress(OSError):
                files.add(file.readlink())
    return {_port(row) for row in _connections() if Path(f"socket:[{row[9]}]") in files}


def with_unread_answers(port: int) -> int:
    """How many connections to the port have something to send that the other side does not take."""
    return sum(_port(row) == port and int(row[4].partition(":")[0], 16) > 0 for row in _connections())


def _connections() -> list[list[str]]:
    return [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]


def _port(row: Sequence[str]) -> int:
    """Our side's."""
    return int(row[1].partition(":")[2], 16)


@contextmanager
def _said_to(log: BinaryIO) -> Iterator[None]:
    """What programs say that are started inside of the block."""
    kept = os.dup(1), os.dup(2)
    try:
        for number in (1, 2):
            os.dup2(log.fileno(), number)
        yield
    finally:
        for number, own in enumerate(kept, start=1):
            os.dup2(own, number)
            os.close(own)


def _signal(pid: int, number: signal.Signals) -> None:
    with suppress(ProcessLookupError):
        os.kill(pid, number)
