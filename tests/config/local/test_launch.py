"""`make run`: real starts in a folder of their own, and what is refused before anything starts."""

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
from config.local import launch, servers
from config.local.first_screen import Address
from config.local.launch import LaunchError, _address, _free_port_above, _refuse_a_busy_port
from config.local.processes import Processes
from config.local.servers import EmbeddedServerError
from tests.support.receiver import free_port

pytestmark = pytest.mark.mostly_waits

COMMAND = [sys.executable, "-m", "config.local.launch"]
PATIENCE_SECONDS = 180.0


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """Where the launcher keeps its data, with nothing in its environment that tells it of other servers."""
    monkeypatch.setenv("EMBEDDED_DATA", str(tmp_path))
    for name in ("DATABASE_URL", "REDIS_URL", "ENVIRONMENT", "HOST", "PORT"):
        monkeypatch.setenv(name, "")  # what a launch in this process sets is gone afterwards
        monkeypatch.delenv(name)
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
        beside = subprocess.run(COMMAND, check=False, cwd=ROOT, capture_output=True, text=True)
    finally:
        os.killpg(launcher.pid, signal.SIGINT)  # as a terminal does
        code = launcher.wait(30)
    assert re.search(r"accepted after \d+ ms, decided by a worker after \d+ ms: enrolled\.", screen)
    assert re.findall(r'"success":(\w+)', answers) == ["true"] * 7
    for path in (r"/hello\?who=grace", "/thanks"):  # the click came while the tour listened
        assert re.search(rf"^receiver +\| {path} \S+ signature valid", received, re.MULTILINE)
    assert (beside.returncode, beside.stderr) == (1, "")
    where = f"http://127.0.0.1:{os.environ['PORT']}"
    assert beside.stdout.strip().startswith(f"make run is running already, at {where}, with the data in ")
    assert code == 0
    assert "Traceback" not in output.read_text()
    assert left_over(folder) == []


@pytest.mark.usefixtures("database_that_never_answers")
def test_whoever_stops_it_while_it_starts_finds_nothing_left(folder: Path) -> None:
    launcher = starting(folder, COMMAND)
    launcher.send_signal(signal.SIGHUP)
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
    assert left_over(folder) == []


def test_it_waits_for_what_is_at_work_and_says_so(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(launch, "IDLE_SECONDS", 0.5)
    monkeypatch.setattr(launch, "TOLD_SECONDS", 0.3)
    (tmp_path / "Procfile").write_text(f"web: {sys.executable} -c 'while True: pass'\n")
    began, processes = time.monotonic(), Processes()
    try:
        processes.start(procfile=tmp_path / "Procfile", environment=os.environ)
        launch._wait_until(lambda: time.monotonic() - began > 2, processes, what="the web server")
        assert "Waiting for the web server, for 1 s so far" in capsys.readouterr().out
    finally:
        processes.stop(within=0)
    (tmp_path / "Procfile").write_text("web: sleep 60\n")
    try:
        processes = Processes()
        processes.start(procfile=tmp_path / "Procfile", environment=os.environ)
        with pytest.raises(LaunchError, match=r"Gave up on the web server: for 0 s, no process has done anything\."):
            launch._wait_until(lambda: False, processes, what="the web server")
    finally:
        processes.stop(within=0)


@pytest.fixture
def database_that_never_answers(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    with socket.create_server(("127.0.0.1", 0)) as mute:
        monkeypatch.setenv("DATABASE_URL", f"postgres://engage@127.0.0.1:{mute.getsockname()[1]}/engage")
        monkeypatch.setenv("ENVIRONMENT", "development")
        monkeypatch.setenv("PORT", str(free_port()))
        yield


def starting(folder: Path, command: list[str]) -> "subprocess.Popen[bytes]":
    """It has begun to start its servers; it heeds SIGHUP even if these tests run under nohup."""
    command = ["env", "--default-signal=HUP", *command]
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


def refused(folder: Path, *, host: str = "127.0.0.1", port: str = "8000") -> str:
    """What is said instead of a start; nothing has been made by then."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(launch, "_lock_data", lambda _: None)  # until the end of this process
        patch.setattr(launch, "_ensure_servers", lambda: pytest.fail("It has started."))
        with pytest.raises((LaunchError, EmbeddedServerError)) as refusal:
            launch._launch(host=host, port=port)
    assert list(folder.iterdir()) == []
    return str(refusal.value)


def test_a_busy_port_is_refused_and_a_free_one_advised(folder: Path) -> None:
    """Beside a running one, the next port is its receiver's."""
    with ExitStack() as stack:
        port = stack.enter_context(socket.create_server(("127.0.0.1", 0))).getsockname()[1]
        with suppress(OSError):  # somebody else's, which is as good
            stack.enter_context(socket.create_server(("127.0.0.1", port + 1)))
        message = refused(folder, port=str(port))
        assert message.startswith(f"127.0.0.1:{port} is not free (")
        advice = re.search(r"Choose another: PORT=(\d+) make run$", message)
        assert advice
        assert int(advice[1]) > port + 1
        socket.create_server(("127.0.0.1", int(advice[1]))).close()


def test_a_port_that_was_served_a_moment_ago_is_free() -> None:
    """The connections that the server ended linger for a minute."""
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
        with socket.create_connection(("127.0.0.1", port)) as client:
            server.accept()[0].close()
            assert client.recv(1) == b""
    _refuse_a_busy_port("127.0.0.1", port)


def test_a_hundred_ports_are_tried_and_none_beyond_the_last(monkeypatch: pytest.MonkeyPatch) -> None:
    tried: list[int] = []

    def taken(_host: str, port: int) -> None:
        tried.append(port)
        raise OSError

    monkeypatch.setattr(launch, "_bind", taken)
    for above, last in ((8000, 8100), (65530, 65535)):
        tried.clear()
        with pytest.raises(LaunchError, match=rf"above {above} is free; those up to {last} were tried\.$"):
            _free_port_above(above)
        assert tried == list(range(above + 1, last + 1))


def test_what_is_no_address_is_refused_before_anything_starts(folder: Path, subtests: pytest.Subtests) -> None:
    """As is a host that only a name server would know: the web server asks none."""
    for host in ("localhost", "nohost.invalid", "127.1"):
        with subtests.test(host):
            assert refused(folder, host=host) == f"HOST must be an IP address of this machine, not {host!r}."
    for port in ("http", "0", "65536", "-1"):
        with subtests.test(port):
            assert refused(folder, port=port) == f"PORT must be a number from 1 to 65535, not {port!r}."
    assert refused(folder, host="192.0.2.1").startswith("HOST must be an IP address of this machine, not '192.0.2.1' (")


def test_where_every_address_is_served_it_is_called_at_one() -> None:
    for host, reached in (("0.0.0.0", "127.0.0.1"), ("::", "::1"), ("127.0.0.2", "127.0.0.2")):
        assert _address(host, "8000") == Address(host=reached, port=8000)


def test_what_its_environment_must_not_say(folder: Path, subtests: pytest.Subtests) -> None:
    """A demo would be made in production, or in a database that was given without saying that it is for development."""
    for variables, first, last in (
        ({"EMBEDDED_GRACE": "soon"}, "EMBEDDED_GRACE must be a number of seconds such as 0.5, not 'soon'.", ""),
        ({"ENVIRONMENT": "production"}, "make run is for development", ""),
        (
            {"DATABASE_URL": "postgres://engage@127.0.0.1:1/engage", "ENVIRONMENT": ""},
            "DATABASE_URL is set, and make run would migrate that database and make a demo",
            "ENVIRONMENT=development make run",
        ),
    ):
        with subtests.test(str(variables)), pytest.MonkeyPatch.context() as patch:
            for name, value in variables.items():
                patch.setenv(name, value)
            message = refused(folder)
            assert message.startswith(first)
            assert message.endswith(last)
