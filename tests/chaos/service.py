"""The service as it runs for real, on servers of its own, in a scratch folder."""

import json
import os
import secrets
import subprocess
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import psycopg
from redis import Redis

from config.local.processes import listening_workers
from config.local.servers import DATABASE
from tests.chaos.fleet import LANES, LOOPBACK, TWO_OF_EACH, Fleet, Member
from tests.chaos.load import Load
from tests.chaos.machine import BLOCK, Machine
from tests.chaos.pages import OpenPage, open_pages
from tests.chaos.plan import TENANTS
from tests.chaos.servers import OwnServer, addresses_of, own_postgresql, own_redis
from tests.chaos.tenants import COURSES, MANY, RELEASED, Course, Tenant, seed
from tests.chaos.told import FeedReader, reading_feeds
from tests.support import pooler
from tests.support import receiver as receivers
from tests.support.receiver import Receiver
from tests.support.short_hours import SHORT_HOURS, SHORT_HOURS_FIRST
from tests.support.trees import ROOT, Tree, this_tree
from tests.support.waiting import wait_until


@dataclass(frozen=True, kw_only=True)
class Outage:
    """When a server was away, in seconds of the monotonic clock."""

    what: str
    began: float
    ended: float

    def touches(self, began: float, ended: float, *, grace: float = 0.0) -> bool:
        return began <= self.ended + grace and ended >= self.began


@dataclass(frozen=True, kw_only=True)
class Standby:
    """A copy of the database that follows it; both URLs."""

    server: OwnServer
    url: str
    follows: str


@dataclass(kw_only=True)
class Service:
    """A service that runs, and all that is known of it from outside."""

    postgresql: OwnServer
    redis: OwnServer
    database_url: str
    redis_url: str
    fleet: Fleet
    receiver: Receiver
    tenants: Mapping[str, Tenant]
    load: Load
    readers: Sequence[FeedReader] = ()  # of the feeds; the version before has none
    pages: Sequence[OpenPage] = ()  # likewise
    machine: Machine | None = None
    began_with: Path = ROOT  # the checkout whose code ran at first
    pooled: bool = False  # the service goes through a pooler; `database_url` does not
    standby: Standby | None = None
    outages: list[Outage] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)  # what does not hold while a fault lasts

    def ask(self, statement: str, *parameters: Any) -> list[tuple[Any, ...]]:
        """All rows, over a connection of its own: earlier ones may have been cut."""
        with psycopg.connect(self.database_url, autocommit=True) as connection:
            cursor = connection.execute(statement, parameters)
            return cursor.fetchall() if cursor.description else []

    def count(self, statement: str, *parameters: Any) -> int:
        return int(self.ask(statement, *parameters)[0][0])

    @contextmanager
    def away(self, what: str) -> Iterator[None]:
        """Notes that a server was away during the block."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.outages.append(Outage(what=what, began=began, ended=time.monotonic()))

    def is_away(self, what: str, *, seconds: float) -> None:
        """Notes that it will be away for so long, from now on."""
        now = time.monotonic()
        self.outages.append(Outage(what=what, began=now, ended=now + seconds))

    def start_alone(self, start: Callable[[Member], None]) -> None:
        """Nothing runs but the second process of each kind, started so, until the next trial."""
        for kind in TWO_OF_EACH:
            for number in (1, 2):
                self.fleet[f"{kind}-{number}"].kill()
            start(self.fleet[f"{kind}-2"])
        wait_until(self.fleet["web-2"].answers, what="web-2")
        wait_until(lambda: self.listening() >= len(LANES), what="the workers")

    def end_standby(self) -> None:
        if self.standby is not None:
            self.standby.server.end()

    def client(self) -> Redis:
        return Redis.from_url(self.redis_url, socket_timeout=5)

    def listening(self) -> int:
        """How many workers wait for messages."""
        with self.client() as client:
            return listening_workers(client)


@contextmanager
def running_service(
    scratch: Path,
    *,
    beside: Sequence[Course] = (),
    machine: Machine | None = None,
    tree: Tree | None = None,
    numbers: Mapping[str, int] = TWO_OF_EACH,
) -> Iterator[Service]:
    """Starts everything, with another checkout's code if there is a `tree`, and so many of each process.

    Ends everything, also what was killed, frozen or cut off.
    """
    tree = tree or this_tree()
    with ExitStack() as stack:
        pooled = pooler.is_wanted()
        data, logs = scratch / "data", scratch / "logs"
        for folder in (scratch, data, logs):
            folder.mkdir(mode=0o755, exist_ok=True)
            folder.chmod(0o755)  # PostgreSQL may run as another user
        receiver = stack.enter_context(receivers.running(machine.here if machine else LOOPBACK))
        postgresql, database_url = own_postgresql(data, machine=machine)
        own, redis_url = own_redis(data, machine=machine)
        for server in (postgresql, own):
            stack.callback(server.end)
            server.start()
        environment = environment_of(database_url, redis_url)
        if pooled:
            addresses = addresses_of(machine)
            between = stack.enter_context(pooler.pgbouncer(database_url, scratch, addresses=addresses))
            environment |= {"DATABASE_URL": between.url(DATABASE), "DATABASE_DIRECT_URL": database_url}
        tenants = _prepare(tree, environment, receiver=receiver.url(""), beside=beside)
        if tree.root == this_tree().root:
            _let_hours_turn(database_url)
        fleet = Fleet(environment, logs=logs, numbers=numbers, root=tree.root)
        stack.callback(fleet.end)
        fleet.start()
        service = Service(
            postgresql=postgresql,
            redis=own,
            database_url=database_url,
            redis_url=redis_url,
            fleet=fleet,
            receiver=receiver,
            tenants=tenants,
            load=Load(tenants=tenants, webs=fleet.webs),
            machine=machine,
            began_with=tree.root,
            pooled=pooled,
        )
        stack.callback(service.end_standby)
        wait_until(lambda: service.listening() >= fleet.workers, what="the workers")
        if tree.root == ROOT:
            service.readers = stack.enter_context(reading_feeds(tenants, webs=fleet.webs))
            service.pages = stack.enter_context(open_pages(tenants, webs=fleet.webs))
        yield service


METRICS_TOKEN = "chaos"
_LIMITS = ("BRIDGE_RATE_LIMIT", "IN_APP_RATE_LIMIT", "BRIDGE_CUSTOMERS_CREATED_LIMIT", "BRIDGE_JOURNEYS_STARTED_LIMIT")


def environment_of(database_url: str, redis_url: str) -> dict[str, str]:
    return {
        **os.environ,
        "ENVIRONMENT": "production",
        "SECRET_KEY": secrets.token_urlsafe(40),
        "ALLOWED_HOSTS": "127.0.0.1",
        "SECURE_SSL_REDIRECT": "false",
        "DJANGO_SETTINGS_MODULE": "tests.chaos.poison.settings",
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "METRICS_TOKEN": METRICS_TOKEN,
        **dict.fromkeys(_LIMITS, f"{MANY}/m"),
        "WEBHOOK_ALLOWED_NETWORKS": f"127.0.0.0/8,{BLOCK}",
        "WEBHOOK_ALLOW_HTTP": "true",
        "WEB_WORKERS": "1",
        "PYTHONWARNINGS": "ignore:You're running the worker with superuser,ignore:No directory at",
    }


def _prepare(
    tree: Tree, environment: Mapping[str, str], *, receiver: str, beside: Sequence[Course]
) -> dict[str, Tenant]:
    manage(tree, environment, "migrate", "--verbosity", "0")
    courses = COURSES if tree.root == ROOT else RELEASED

    def make(name: str) -> Tenant:
        described = json.dumps(seed(name, receiver=receiver, courses=courses, beside=beside))
        return Tenant.read(name, manage(tree, environment, "seed_workspace", "-", "--json", text=described))

    with ThreadPoolExecutor() as pool:
        return {tenant.name: tenant for tenant in pool.map(make, TENANTS)}


def _let_hours_turn(database_url: str) -> None:
    """To what is counted, an hour is a second."""
    with psycopg.connect(database_url) as connection:
        connection.execute(SHORT_HOURS.format(unit="second"))
        connection.execute(f"ALTER DATABASE {DATABASE} SET search_path = {SHORT_HOURS_FIRST}")


def manage(tree: Tree, environment: Mapping[str, str], *arguments: str, text: str = "") -> str:
    """What a command of that checkout prints."""
    done = subprocess.run(
        [str(tree.python), "manage.py", *arguments],
        cwd=tree.root, env=dict(environment), check=True, stdout=subprocess.PIPE, input=text, text=True,
    )  # fmt: skip
    return done.stdout
