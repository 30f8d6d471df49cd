"""The web server's processes, after their server was killed."""

import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from config.processes import commands
from config.servers import ROOT
from tests.processes import environment
from tests.receiver import free_port
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]


def somebody_listens(port: int) -> bool:
    with closing(socket.socket()) as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def is_served(port: int) -> bool:
    try:
        with urlopen(f"http://127.0.0.1:{port}/livez", timeout=5):
            return True
    except OSError:
        return False


@contextmanager
def serving(command: str, *, folder: Path, **other: str) -> Iterator["subprocess.Popen[bytes]"]:
    """The web server, in a process group of its own; what is left of it at the end is killed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with (folder / "web.log").open("wb") as log:
        web = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {command}"], cwd=ROOT, stdout=log, stderr=log,
            env={**environment(), "PATH": path, **other}, start_new_session=True,
        )  # fmt: skip
    try:
        yield web
    finally:
        with suppress(ProcessLookupError):
            os.killpg(web.pid, signal.SIGKILL)
        web.wait()


@pytest.mark.parametrize("killed", ["while it serves", "while it starts"])
def test_nobody_serves_on_when_the_server_was_killed(killed: str, tmp_path: Path) -> None:
    """Or half of the next server's calls would be answered by the old code, with the old settings."""
    port = free_port()
    with serving(commands(ROOT / "Procfile")["web"], folder=tmp_path, PORT=str(port)) as web:
        wait_until(lambda: somebody_listens(port) if killed == "while it starts" else is_served(port))
        web.kill()
        web.wait()
        wait_until(lambda: not somebody_listens(port))


SLOW = """
import time
from config.orphans import end_when_orphaned

end_when_orphaned()

def application(environ, start_response):
    time.sleep(0.0 if environ["PATH_INFO"] == "/livez" else 3.0)
    start_response("200 OK", [("Content-Length", "4")])
    return [b"done"]
"""


@contextmanager
def serving_slowly(port: int, *, folder: Path) -> Iterator["subprocess.Popen[bytes]"]:
    (folder / "slow.py").write_text(SLOW)
    command = f"python -m granian --interface wsgi --port {port} --blocking-threads 2 --http 1 slow:application"
    with serving(command, folder=folder, PYTHONPATH=f"{folder}{os.pathsep}{ROOT}") as web:
        wait_until(lambda: is_served(port))
        yield web


def test_who_serves_goes_on_while_the_server_lives(tmp_path: Path) -> None:
    with serving_slowly(free_port(), folder=tmp_path) as web:
        children = Path(f"/proc/{web.pid}/task/{web.pid}/children")
        at_first = children.read_text()
        time.sleep(1.5)  # they look every second
        assert children.read_text() == at_first != ""


def test_what_was_in_flight_when_the_server_was_killed_is_answered(tmp_path: Path) -> None:
    port = free_port()
    with serving_slowly(port, folder=tmp_path) as web, ThreadPoolExecutor() as threads:
        answer = threads.submit(lambda: urlopen(f"http://127.0.0.1:{port}/", timeout=20).read())
        time.sleep(0.5)
        web.kill()
        web.wait()
        assert answer.result(20) == b"done"
        wait_until(lambda: not somebody_listens(port))
