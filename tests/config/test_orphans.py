"""The web server's processes, after their server was killed."""

import os
import signal
import socket
import subprocess
import sys
from contextlib import closing, suppress
from pathlib import Path
from urllib.request import urlopen

import pytest

from config.processes import commands
from config.servers import ROOT
from tests.processes import environment, wait_until
from tests.receiver import free_port

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


@pytest.mark.parametrize("killed", ["while it serves", "while it starts"])
def test_nobody_serves_on_when_the_server_was_killed(killed: str, tmp_path: Path) -> None:
    """Or half of the next server's calls would be answered by the old code, with the old settings."""
    port, path = free_port(), f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    with (tmp_path / "web.log").open("wb") as log:
        web = subprocess.Popen(
            ["/bin/sh", "-c", f"exec {commands(ROOT / 'Procfile')['web']}"], cwd=ROOT, stdout=log, stderr=log,
            env={**environment(), "PATH": path, "PORT": str(port)}, start_new_session=True,
        )  # fmt: skip
    try:
        wait_until(lambda: somebody_listens(port) if killed == "while it starts" else is_served(port))
        web.kill()
        web.wait()
        wait_until(lambda: not somebody_listens(port))
    finally:
        with suppress(ProcessLookupError):
            os.killpg(web.pid, signal.SIGKILL)
        web.wait()
