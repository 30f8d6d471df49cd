"""A tree's service as it runs for real: its Procfile's processes in production settings, on servers of their own."""

import json
import os
import secrets
import shutil
import subprocess
import tempfile
import urllib.request
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from itertools import count
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psycopg
import redis

from config.local import embedded, servers
from config.local.processes import commands, listening_workers, workers
from tests.support.pooler import Pooler, is_wanted, pgbouncer
from tests.support.receiver import free_port
from tests.support.trees import Tree, this_tree
from tests.support.waiting import wait_until

CUSTOMERS = 100_000
PATIENCE_SECONDS = 120.0
_SEED = {
    "workspace": {"key": "bench", "name": "Bench"},
    "apiKeys": [{"name": "server", "rateLimit": "10000000/m"}],
    "apps": [{"name": "web", "allowedOrigins": []}],
    "journeys": [{"key": "enter", "name": "Enter", "trigger": "api", "allowReenrollment": True, "steps": []}],
}


@dataclass(frozen=True, kw_only=True)
class Effort:
    """How often a measure is repeated, how many seconds of load a repetition has, and how large a crowd is.

    A brief one leaves out what is only noted beside a figure.
    """

    rounds: int
    seconds: int
    crowd: int  # how many customers the large segment has
    brief: bool = False


@dataclass(kw_only=True)
class Service:
    """A service that runs, and what a caller has to know of it."""

    tree: Tree
    base: str
    floor: str  # where the views answer that do nothing
    database_url: str
    redis_url: str
    workspace: str
    key: str
    app: str
    journey: str
    connection: "psycopg.Connection[tuple[Any, ...]]"
    log: Path
    environment: dict[str, str] = field(repr=False)
    running: dict[str, "subprocess.Popen[bytes]"] = field(default_factory=dict)
    seeded: int = 0

    @property
    def pids(self) -> dict[str, int]:
        return {name: process.pid for name, process in self.running.items()}

    def restart(self, name: str, **changes: str) -> None:
        """Starts one of the Procfile's processes anew, with these changes to its environment."""
        _stop(self.running[name])
        self.running[name] = _start(self.tree, name, self.environment | changes, log=self.log)

    def seed(self, description: Mapping[str, Any], *, customers: int) -> dict[str, Any]:
        """Makes a workspace like the one described, another each time; gives what `seed_workspace --json` prints."""
        self.seeded += 1
        key = f"{description['workspace']['key']}-{self.seeded}"
        workspace = {**description["workspace"], "key": key}
        return _seed(self.tree, self.environment, {**description, "workspace": workspace}, customers=customers)

    @property
    def trigger_path(self) -> str:
        return f"/api/v1/journeys/{self.workspace}/{self.journey}/trigger"

    @property
    def server_headers(self) -> dict[str, str]:
        return {"Authorization": f"Bearer {self.key}", "Content-Type": "application/json"}

    @property
    def sdk_headers(self) -> dict[str, str]:
        return {"X-App-Id": self.app, "Content-Type": "application/json"}

    def trigger(self, body: Mapping[str, Any]) -> dict[str, Any]:
        """The `data` of the trigger's answer."""
        return call(self.base + self.trigger_path, body, key=self.key)

    def settle(self, *, seconds: float = PATIENCE_SECONDS) -> None:
        """Waits until nothing is queued."""
        empty = "SELECT NOT EXISTS (SELECT FROM journeys_chunk)"
        wait_until(lambda: bool(self.one(empty)), what="the workers to finish", seconds=seconds)

    def one(self, statement: str, parameters: Mapping[str, Any] | None = None) -> Any:
        """The first value that the statement gives."""
        row = self.connection.execute(statement, parameters).fetchone()
        return row[0] if row else None


def call(url: str, body: Mapping[str, Any], *, key: str) -> dict[str, Any]:
    """The `data` of the answer to a server's POST."""
    headers = {"Authorization": f"Bearer {key}", "Content-Type": "application/json"}
    request = urllib.request.Request(url, json.dumps(body).encode(), headers, method="POST")
    with urllib.request.urlopen(request, timeout=PATIENCE_SECONDS) as response:
        data: dict[str, Any] = json.load(response)["data"]
    return data


@dataclass(frozen=True, kw_only=True)
class Servers:
    """A PostgreSQL and a Redis, for any number of services, and the pooler that these go through, if any."""

    scratch: Path
    database_url: str
    redis_url: str
    pooler: Pooler | None = None
    services: "Iterator[int]" = field(default_factory=count)


@contextmanager
def running_servers() -> Iterator[Servers]:
    """Starts them in a scratch folder, and takes them down again."""
    with ExitStack() as stack:
        scratch = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="engage-bench-")))
        scratch.chmod(0o755)
        os.environ |= {"EMBEDDED_DATA": str(scratch / "data"), "EMBEDDED_GRACE": "1"}
        stack.callback(shutil.rmtree, servers.postgresql().sockets)
        stack.callback(embedded.stop_unless_used, within=20.0)
        database_url, pooler = embedded.database_url(), None
        if is_wanted():
            pooler = stack.enter_context(pgbouncer(database_url, scratch))
        yield Servers(scratch=scratch, database_url=database_url, redis_url=embedded.redis_url(), pooler=pooler)


@contextmanager
def running_service(on: Servers, tree: Tree | None = None) -> Iterator[Service]:
    """Starts everything in databases of its own, seeds it, and takes it all down again."""
    tree = tree or this_tree()
    with ExitStack() as stack:
        number = next(on.services)
        port, floor_port = free_port(), free_port()
        database_url, redis_url = _new_database(on.database_url, number), f"{on.redis_url}?db={number}"
        environment = _environment(tree, database_url, redis_url)
        if on.pooler:
            through = on.pooler.url(urlsplit(database_url).path.removeprefix("/"))
            environment |= {"DATABASE_URL": through, "DATABASE_DIRECT_URL": database_url}
        tree.run("manage.py", "migrate", "--verbosity", "0", environment=environment)
        seeded = _seed(tree, environment, _SEED, customers=CUSTOMERS)
        environment["PORT"] = str(port)
        log = on.scratch / f"service-{number}.log"
        running = {name: _start(tree, name, environment, log=log) for name in commands(tree.root / "Procfile")}
        stack.callback(_stop_all, running)
        floor = environment | {"PORT": str(floor_port), "DJANGO_SETTINGS_MODULE": "tests.benchmarks.floor_settings"}
        stack.callback(_stop, _start(tree, "web", floor, log=on.scratch / f"floor-{number}.log"))
        connection = stack.enter_context(psycopg.connect(database_url, autocommit=True))
        for waiting in (port, floor_port):
            wait_until(lambda to=waiting: _answers(to), what="the web server", seconds=PATIENCE_SECONDS)  # type: ignore[misc]
        with redis.Redis.from_url(redis_url) as client:
            listening = workers(tree.root / "Procfile")
            wait_until(lambda: listening_workers(client) >= listening, what="the workers", seconds=PATIENCE_SECONDS)
        yield Service(
            tree=tree,
            base=f"http://127.0.0.1:{port}",
            floor=f"http://127.0.0.1:{floor_port}",
            database_url=database_url,
            redis_url=redis_url,
            workspace=seeded["workspaceId"],
            key=seeded["apiKeys"]["server"],
            app=seeded["apps"]["web"],
            journey=seeded["journeys"]["enter"],
            connection=connection,
            environment=environment,
            log=log,
            running=running,
        )


@contextmanager
def another_set(service: Service) -> Iterator[str]:
    """Starts the Procfile's processes once more beside the service's; gives where their web server answers."""
    port = free_port()
    environment = service.environment | {"PORT": str(port)}
    procfile = service.tree.root / "Procfile"
    running = {
        name: _start(service.tree, name, environment, log=service.log.with_suffix(".another.log"))
        for name in commands(procfile)
    }
    try:
        wait_until(lambda: _answers(port), what="the web server", seconds=PATIENCE_SECONDS)
        with redis.Redis.from_url(service.redis_url) as client:
            listening = 2 * workers(procfile)
            wait_until(lambda: listening_workers(client) >= listening, what="the workers", seconds=PATIENCE_SECONDS)
        yield f"http://127.0.0.1:{port}"
    finally:
        _stop_all(running)


def _new_database(url: str, number: int) -> str:
    """The URL of an empty database on the same server."""
    name = f"bench_{number}"
    with psycopg.connect(url, autocommit=True) as connection:
        connection.execute(f"CREATE DATABASE {name}")
    return urlsplit(url)._replace(path=f"/{name}").geturl()


def _environment(tree: Tree, database_url: str, redis_url: str) -> dict[str, str]:
    return {
        **{name: value for name, value in os.environ.items() if name != "DJANGO_SETTINGS_MODULE"},
        "ENVIRONMENT": "production",
        "SECRET_KEY": secrets.token_urlsafe(40),
        "ALLOWED_HOSTS": "127.0.0.1",
        "SECURE_SSL_REDIRECT": "false",
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "BRIDGE_RATE_LIMIT": "10000000/m",
        "IN_APP_RATE_LIMIT": "10000000/m",
        "WEBHOOK_ALLOW_HTTP": "true",
        "WEBHOOK_ALLOWED_NETWORKS": "127.0.0.0/8",
        "BRIDGE_APP_DAILY_CALLS": "999999999",
        "BRIDGE_APP_DAILY_KIB": "999999999",
        "PATH": f"{tree.python.parent}{os.pathsep}{os.environ.get('PATH', '')}",
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser,ignore:No directory at",
    }


def _seed(tree: Tree, environment: dict[str, str], description: Mapping[str, Any], *, customers: int) -> dict[str, Any]:
    """Makes the workspace that is described, with `user-0` … besides."""
    with tempfile.NamedTemporaryFile("w", suffix=".json") as file:
        json.dump(description, file)
        file.flush()
        arguments = ["seed_workspace", file.name, "--json", "--customers", str(customers)]
        seeded: dict[str, Any] = json.loads(tree.run("manage.py", *arguments, environment=environment))
    return seeded


def _start(tree: Tree, name: str, environment: Mapping[str, str], *, log: Path) -> "subprocess.Popen[bytes]":
    command = ["/bin/sh", "-c", f"exec {commands(tree.root / 'Procfile')[name]}"]
    with log.open("ab") as output:
        named = {**environment, "PGAPPNAME": name}  # tells its sessions apart
        return subprocess.Popen(command, cwd=tree.root, env=named, stdout=output, stderr=output)


def _stop_all(running: Mapping[str, "subprocess.Popen[bytes]"]) -> None:
    for process in running.values():
        _stop(process)


def _stop(process: "subprocess.Popen[bytes]") -> None:
    process.terminate()
    try:
        process.wait(15)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def _answers(port: int) -> bool:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/livez", timeout=2):
            return True
    except OSError:
        return False
