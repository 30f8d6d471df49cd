"""The image: each process of the Procfile runs in it, as its own user, and together they serve.

`.ci/image` builds it and names it in IMAGE. buildah's chroot isolation shares this machine's network, and cannot make a
root read-only: so the test looks at what was written.
"""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import pytest
from redis import Redis

from config import ROOT
from config.local.processes import commands, listening_workers, workers
from config.monitoring.release import version
from tests.chaos.servers import own_postgresql, own_redis
from tests.chaos.service import environment_of
from tests.support import receiver
from tests.support.receiver import Receiver, free_port
from tests.support.waiting import wait_until

IMAGE = os.environ.get("IMAGE", "")
PROCESSES = commands(ROOT / "Procfile")
OF_THE_SERVICE = ("DATABASE_URL", "REDIS_URL", "SECRET_KEY", "ALLOWED_HOSTS", "SECURE_SSL_REDIRECT", "METRICS_TOKEN",
                  "WEBHOOK_ALLOWED_NETWORKS", "WEBHOOK_ALLOW_HTTP", "WEB_WORKERS")  # fmt: skip
pytestmark = [pytest.mark.tools, pytest.mark.skipif(not IMAGE, reason="IMAGE is not set: .ci/image builds one.")]


def buildah(*arguments: str, text: str = "") -> str:
    return subprocess.run(
        ["buildah", *arguments], check=True, stdout=subprocess.PIPE, input=text, text=True
    ).stdout.strip()


class Container:
    """Made from the image; its processes share the network of this machine."""

    def __init__(self, environment: dict[str, str]) -> None:
        self.name = buildah("from", IMAGE)
        self._options = [word for name, value in environment.items() for word in ("--env", f"{name}={value}")]

    @cached_property
    def root(self) -> Path:
        return Path(buildah("mount", self.name))

    def run(self, *command: str, text: str = "") -> str:
        """What it prints."""
        return buildah(*self._command(*command), text=text)

    @contextmanager
    def running(self, command: str, *, log: Path) -> Iterator[int]:
        """The process id of buildah; the command is asked to end, and has to."""
        started = ["buildah", *self._command("/bin/sh", "-c", f"exec {command}")]
        with log.open("wb") as output:
            process = subprocess.Popen(started, stdin=subprocess.DEVNULL, stdout=output, stderr=output)
        try:
            yield process.pid
            os.kill(_inside(process.pid), signal.SIGTERM)
            process.wait(30)
        finally:
            process.terminate()  # buildah kills what runs in it
            process.wait(30)

    def end(self) -> None:
        buildah("rm", self.name)

    def written(self) -> list[str]:
        """Files that came or changed since it was made, beside those in /tmp."""
        found = subprocess.run(
            ["find", ".", "-newer", "tmp/begun", "-type", "f", "-not", "-path", "./tmp/*"],
            cwd=self.root, check=True, stdout=subprocess.PIPE, text=True,
        )  # fmt: skip
        return found.stdout.split()

    def _command(self, *command: str) -> list[str]:
        return ["run", "--isolation", "chroot", *self._options, self.name, "--", *command]


def _inside(pid: int) -> int:
    """The command's own process, below those of buildah, of which each is the only child of the one before."""
    while Path(f"/proc/{pid}/comm").read_text().startswith(("buildah", "memfd:buildah", "exe")):
        pid = int(subprocess.run(["pgrep", "--parent", str(pid)], stdout=subprocess.PIPE, check=True).stdout)
    return pid


@pytest.fixture(scope="module")
def described() -> dict[str, Any]:
    described: dict[str, Any] = json.loads(buildah("inspect", "--type", "image", IMAGE))["Docker"]["config"]
    return described


def test_it_says_what_it_is(described: dict[str, Any]) -> None:
    assert described["Labels"]["org.opencontainers.image.version"] == version()
    assert described["Labels"]["org.opencontainers.image.revision"] not in {"", "unknown"}
    assert (described["User"], described["Cmd"]) == ("10001:10001", PROCESSES["web"].split())


def test_all_processes_run_in_it_and_walk_a_journey(tmp_path: Path, described: dict[str, Any]) -> None:
    tmp_path.chmod(0o755)  # PostgreSQL runs as another user
    with ExitStack() as stack:
        database, database_url = own_postgresql(tmp_path)
        queues, redis_url = own_redis(tmp_path)
        for server in (database, queues):
            stack.callback(server.end)
            server.start()
        there = stack.enter_context(receiver.running())
        port = free_port()
        known = environment_of(database_url, redis_url)
        container = Container({name: known[name] for name in OF_THE_SERVICE} | {"HOST": "127.0.0.1", "PORT": str(port)})
        stack.callback(container.end)
        (container.root / "tmp" / "begun").touch()
        container.run("python", "manage.py", "migrate", "--verbosity", "0")
        workspace = container.run("python", "manage.py", "seed_workspace", "-", "--json", text=json.dumps(_seed(there)))
        pids = [
            stack.enter_context(container.running(command, log=tmp_path / f"{name}.log"))
            for name, command in PROCESSES.items()
        ]
        check = described["Healthcheck"]["Test"][1:]
        wait_until(lambda: _succeeds(container, *check), what="web")
        with Redis.from_url(redis_url) as client:
            wait_until(lambda: listening_workers(client) == workers(ROOT / "Procfile"), what="the workers")
        _trigger(f"http://127.0.0.1:{port}", json.loads(workspace))
        wait_until(lambda: bool(there.arrived), what="the webhook")
        with urlopen(f"http://127.0.0.1:{port}/livez") as answer:
            said = json.load(answer)
        assert (said["version"], said["commit"]) == (
            version(), described["Labels"]["org.opencontainers.image.revision"],
        )  # fmt: skip
        assert {Path(f"/proc/{_inside(pid)}").stat().st_uid for pid in pids} == {10001}
        assert "static_files_missing" not in (tmp_path / "web.log").read_text()
        assert container.written() == []


def _succeeds(container: Container, *command: str) -> bool:
    try:
        container.run(*command)
    except subprocess.CalledProcessError:
        return False
    return True


def _seed(there: Receiver) -> dict[str, Any]:
    step = {"id": "tell", "type": "webhook", "url": there.url(), "body": {"who": "{{ customer.external_id }}"}}
    return {
        "workspace": {"key": "acme", "name": "Acme"},
        "apiKeys": [{"name": "server"}],
        "customers": [{"external_id": "ada"}],
        "journeys": [{"key": "hello", "name": "Hello", "steps": [step]}],
    }


def _trigger(url: str, workspace: dict[str, Any]) -> None:
    asked = Request(
        f"{url}/api/v1/journeys/{workspace['workspaceId']}/{workspace['journeys']['hello']}/trigger",
        data=json.dumps({"external_id": "ada"}).encode(),
        headers={"Authorization": f"Bearer {workspace['apiKeys']['server']}", "Content-Type": "application/json"},
    )
    with urlopen(asked) as answer:
        assert answer.status == 202
