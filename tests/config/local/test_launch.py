"""`make run` from the outside: a real start in a folder of its own, and what is refused before it."""

import os
import re
import shutil
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import ExitStack, suppress
from pathlib import Path

import pytest

from config import ROOT
from config.local import servers
from config.local.first_screen import Address
from config.local.launch import LaunchError, _address, _free_port_above, _refuse_a_busy_port
from tests.support.receiver import free_port

pytestmark = pytest.mark.mostly_waits

COMMAND = [sys.executable, "-m", "config.local.launch"]
PATIENCE_SECONDS = 60.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the launcher keeps its data, with nothing in its environment that tells it of other servers."""
    monkeypatch.setenv("EMBEDDED_DATA", str(tmp_path))
    for name in ("DATABASE_URL", "REDIS_URL", "ENVIRONMENT", "HOST", "PORT"):
        monkeypatch.delenv(name, raising=False)
    sockets = servers.redis().sockets
    yield tmp_path
    shutil.rmtree(sockets)


@pytest.mark.mostly_waits(long=True)
def test_a_first_start_works_says_what_to_try_and_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PORT", str(free_port()))
    output = folder / "output"
    with output.open("wb") as log:
        launcher = subprocess.Popen(COMMAND, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
    try:
        screen = text_once_there(output, launcher, until="Ctrl-C stops everything")
        answers = pasted(screen.partition("To paste into another terminal:\n")[2].partition("  Ctrl-C stops")[0])
        received = text_once_there(output, launcher, until="/thanks")
        beside = refused({})
    finally:
        os.killpg(launcher.pid, signal.SIGINT)  # as a terminal does
        code = launcher.wait(30)
    assert re.search(r"accepted after \d+ ms, decided by a worker after \d+ ms: enrolled\.", screen)
    assert re.findall(r'"success":(\w+)', answers) == ["true"] * 6
    for path in (r"/hello\?who=grace", "/thanks"):  # the click came while the tour listened
        assert re.search(rf"^receiver +\| {path} \S+ signature valid", received, re.MULTILINE)
    assert beside.startswith(
        f"make run is running already, at http://127.0.0.1:{os.environ['PORT']}, with the data in "
    )
    assert code == 0
    assert "Traceback" not in output.read_text()
    assert left_over(folder) == []


@pytest.mark.parametrize("sent", [signal.SIGTERM, signal.SIGHUP])
@pytest.mark.usefixtures("database_that_never_answers")
def test_whoever_stops_it_while_it_starts_finds_nothing_left(folder: Path, sent: signal.Signals) -> None:
    launcher = starting(folder, COMMAND)
    launcher.send_signal(sent)
    assert launcher.wait(30) == 0, (folder / "output").read_text()
    assert "Traceback" not in (folder / "output").read_text()
    assert left_over(folder) == []


@pytest.mark.usefixtures("database_that_never_answers")
def test_it_outlives_its_terminal_where_nohup_wants_that(folder: Path) -> None:
    launcher = starting(folder, ["nohup", *COMMAND])
    launcher.send_signal(signal.SIGHUP)
    text_once_there(folder / "output", launcher, until="Preparing the database")
    launcher.send_signal(signal.SIGTERM)
    assert launcher.wait(30) == 0


@pytest.fixture
def database_that_never_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setenv("DATABASE_URL", f"postgres://engage@127.0.0.1:{mute.getsockname()[1]}/engage")
        monkeypatch.setenv("ENVIRONMENT", "development")
        monkeypatch.setenv("PORT", str(free_port()))
        yield


def starting(folder: Path, command: list[str]) -> "subprocess.Popen[bytes]":
    """It has begun to start its servers."""
    with (folder / "output").open("wb") as log:
        launcher = subprocess.Popen(command, cwd=ROOT, stdout=log, stderr=log, start_new_session=True)
    text_once_there(folder / "output", launcher, until="Starting Redis")
    return launcher


def text_once_there(path: Path, launcher: "subprocess.Popen[bytes]", *, until: str) -> str:
    deadline = time.monotonic() + PATIENCE_SECONDS
    while until not in path.read_text():
        assert launcher.poll() is None, path.read_text()
        assert time.monotonic() < deadline, path.read_text()
        time.sleep(0.1)
    return path.read_text()


def pasted(lines: str) -> str:
    """What a terminal shows into which they are pasted in one go."""
    return subprocess.run(["bash"], input=lines, check=True, capture_output=True, text=True).stdout


def left_over(folder: Path) -> list[str]:
    """Processes that know the folder from their environment or their command."""
    found = []
    for process in Path("/proc").glob("[0-9]*"):
        try:
            known = (process / "environ").read_bytes() + (process / "cmdline").read_bytes()
            state = (process / "stat").read_text().rpartition(")")[2].split()[0]
        except OSError:
            continue
        if str(folder).encode() in known and state != "Z" and int(process.name) != os.getpid():
            found.append((process / "cmdline").read_text().replace("\0", " "))
    return found


def refused(environment: dict[str, str]) -> str:
    answer = subprocess.run(
        COMMAND, check=False, cwd=ROOT, env={**os.environ, **environment}, capture_output=True, text=True
    )
    assert answer.returncode == 1
    assert answer.stderr == ""
    return answer.stdout.strip()


def test_a_busy_port_is_refused_before_anything_starts(folder: Path) -> None:
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        message = refused({"PORT": str(port)})
        assert message.startswith(f"127.0.0.1:{port} is not free (")
        advice = re.search(r"Choose another: PORT=(\d+) make run$", message)
        assert advice
        assert int(advice[1]) > port
        socket.create_server(("127.0.0.1", int(advice[1]))).close()
    assert list(folder.iterdir()) == []


def test_a_port_that_was_served_a_moment_ago_is_free() -> None:
    """The connections that the server ended linger for a minute."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            server.accept()[0].close()
            assert client.recv(1) == b""
    _refuse_a_busy_port("127.0.0.1", port)


def test_the_port_that_is_advised_is_free(folder: Path) -> None:
    """Beside a running one, the next port is its receiver's."""
    with ExitStack() as stack:
        web = stack.enter_context(socket.create_server(("127.0.0.1", 0)))
        port = web.getsockname()[1]
        with suppress(OSError):  # somebody else's, which is as good
            stack.enter_context(socket.create_server(("127.0.0.1", port + 1)))
        assert f"PORT={port + 1} " not in refused({"PORT": str(port)})


def test_no_port_beyond_the_last_is_advised(folder: Path) -> None:
    assert refused({"PORT": "65535"}) == "No port of 127.0.0.1 above 65535 is free; those up to 65535 were tried."


def test_a_hundred_ports_are_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def taken(_host: str, port: int) -> None:
        tried.append(port)
        raise OSError

    monkeypatch.setattr("config.local.launch._bind", taken)
    with pytest.raises(LaunchError, match=r"above 8000 is free; those up to 8100 were tried\.$"):
        _free_port_above(8000)
    assert tried == list(range(8001, 8101))


def test_a_host_that_is_not_this_machine_is_not_called_busy(folder: Path) -> None:
    message = refused({"HOST": "192.0.2.1"})
    assert message.startswith("HOST must be an IP address of this machine, not '192.0.2.1' (")


@pytest.mark.parametrize("host", ["localhost", "nohost.invalid", "127.1"])
def test_a_host_that_the_web_server_would_not_take_is_refused_before_anything_starts(folder: Path, host: str) -> None:
    assert refused({"HOST": host}) == f"HOST must be an IP address of this machine, not {host!r}."
    assert list(folder.iterdir()) == []


@pytest.mark.parametrize(("host", "reached"), [("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("127.0.0.2", "127.0.0.2")])
def test_where_every_address_is_served_it_is_called_at_one(host: str, reached: str) -> None:
    assert _address(host, "8000") == Address(host=reached, port=8000)


@pytest.mark.parametrize("port", ["http", "0", "65536", "-1"])
def test_a_port_that_is_none_is_refused(folder: Path, port: str) -> None:
    assert refused({"PORT": port}) == f"PORT must be a number from 1 to 65535, not {port!r}."


def test_a_grace_that_is_no_time_is_refused_before_anything_starts(folder: Path) -> None:
    assert refused({"EMBEDDED_GRACE": "soon"}) == "EMBEDDED_GRACE must be a number of seconds such as 0.5, not 'soon'."
    assert list(folder.iterdir()) == []


def test_production_is_refused_because_a_demo_would_be_made(folder: Path) -> None:
    assert refused({"ENVIRONMENT": "production"}).startswith("make run is for development")


def test_a_database_that_is_given_is_left_alone_unless_development_is_said(folder: Path) -> None:
    message = refused({"DATABASE_URL": "postgres://engage@127.0.0.1:1/engage"})
    assert message.startswith("DATABASE_URL is set, and make run would migrate that database and make a demo")
    assert message.endswith("ENVIRONMENT=development make run")
    assert list(folder.iterdir()) == []
