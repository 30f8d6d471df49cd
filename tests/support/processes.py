"""Real processes of the service, on the database and the Redis of the tests."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit
from urllib.request import urlopen

from django.conf import settings
from django.db import connection

from config.local import embedded
from config.local.processes import commands, with_us
from tests.support import pooler
from tests.support.receiver import free_port
from tests.support.waiting import wait_until

ROOT = Path(__file__).resolve().parents[2]


def environment() -> dict[str, str]:
    """What lets another process find the test's database and Redis."""
    return {
        **os.environ,
        "ENVIRONMENT": "development",
        **_database(),
        "REDIS_URL": settings.REDIS_URL,
        "LOG_FORMAT": "json",
    }


def _database() -> dict[str, str]:
    known = connection.settings_dict
    server = urlsplit(os.environ.get("DATABASE_URL") or embedded.database_url())
    direct = server._replace(path=f"/{known['NAME']}").geturl()
    if not pooler.is_wanted():
        return {"DATABASE_URL": direct}
    between = pooler.Pooler(port=int(known["PORT"]), user=known["USER"])
    return {"DATABASE_URL": between.url(known["NAME"]), "DATABASE_DIRECT_URL": direct}


@contextmanager
def celery(*arguments: str, log: Path) -> Iterator[subprocess.Popen[bytes]]:
    """A Celery process in a process group of its own; what is left of it at the end is killed.

    It is killed with the tests, too, even while it stands still.
    """
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*with_us(signal.SIGKILL), Path(sys.executable).with_name("celery"), "-A", "config", *arguments],
            cwd=ROOT, env={**environment(), "TMPDIR": str(log.parent)},  # a killed one does not tidy up
            stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            wait_until(lambda: _runs(process), what=f"celery {arguments[0]}")
            yield process
        finally:
            kill_group(process)


def _runs(process: subprocess.Popen[bytes]) -> bool:
    """One that is stopped before would not be bound to us yet."""
    return Path(f"/proc/{process.pid}/exe").resolve().name != "setpriv"


@contextmanager
def web(*, log: Path) -> Iterator[str]:
    """The web process as the Procfile starts it, with one worker; its address, once it answers."""
    port = free_port()
    variables = {"PORT": str(port), "WEB_WORKERS": "1", "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*with_us(signal.SIGKILL), "/bin/sh", "-c", f"exec {commands(ROOT / 'Procfile')['web']}"],
            cwd=ROOT, env={**environment(), **variables}, stdout=output, stderr=output, start_new_session=True,
        )  # fmt: skip
        try:
            url = f"http://127.0.0.1:{port}"
            wait_until(lambda: _answers(url), what="the web process")
            yield url
        finally:
            kill_group(process)


def _answers(url: str) -> bool:
    try:
        with urlopen(f"{url}/livez", timeout=10):
            return True
    except OSError:
        return False


WORKER = ("worker", "-Q", "single,bulk,walk,sweep", "-c", "2", "-l", "INFO", "--without-gossip", "--without-mingle")
WEBHOOK_WORKER = ("worker", "-Q", "webhooks", "-P", "threads", "-c", "2", "-l", "INFO", *WORKER[-2:])
SCHEDULER = ("beat",)


def kill_group(process: subprocess.Popen[bytes]) -> None:
    """`kill -9` of the process and of all its children."""
    if process.poll() is None:
        os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def pool_children(process: subprocess.Popen[bytes]) -> list[int]:
    """The process ids of a worker's children, which run its tasks."""
    return [int(pid) for pid in Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()]
