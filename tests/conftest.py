"""What every test may ask for: two workspaces with keys and apps, clients that speak HTTP as they do, what Acme has."""

import gc
import os
import signal
from collections.abc import Iterator
from contextlib import ExitStack
from typing import Any

import pytest
import redis
from django.db import connection
from django.test import TransactionTestCase
from hypothesis import HealthCheck
from hypothesis import settings as hypothesis_settings
from pytest_django import DjangoDbBlocker, Settings

from config.process.loaded_code import freeze_loaded_objects, load_without_collecting
from customers.models import Customer
from engage.database.statement_limit import statement_limit
from engage.models import Workspace
from engage.redis.availability import redis_availability
from journeys.engine import wakeups
from journeys.models import Journey
from tests.support import pooler
from tests.support.clients import SdkClient, ServerClient
from tests.support.examples import EXAMPLES
from tests.support.factories import (
    NAMES,
    ApiKeyFactory,
    AppFactory,
    Cast,
    CustomerFactory,
    JourneyFactory,
    WorkspaceFactory,
    crowd,
)
from tests.support.node import install_sdk_tools
from tests.support.processes import SCHEDULER, celery
from tests.support.receiver import Receiver, running
from tests.support.slow_work import watch
from tests.support.tables import empty_after_all
from tests.support.template import template_database

# An example is not wrong because the machine was busy with other tests meanwhile.
hypothesis_settings.register_profile(
    "unhurried",
    deadline=None,
    suppress_health_check=[HealthCheck.too_slow],
    max_examples=EXAMPLES,
)
hypothesis_settings.load_profile("unhurried")


# What proves the tools of developers: left to `make check`, and to whoever names it.
TOOLS = (
    "tests/benchmarks/", "tests/chaos/", "tests/config/local/", "tests/config/test_new_migrations.py",
    "tests/config/test_runs.py", "tests/generated_clients/",
)  # fmt: skip


def pytest_sessionstart() -> None:
    load_without_collecting()


def pytest_itemcollected(item: pytest.Item) -> None:
    if item.nodeid.startswith(TOOLS):
        item.add_marker("tools")
    if item.nodeid.startswith("tests/browsers/"):
        item.add_marker("slow")


def pytest_runtest_setup(item: pytest.Item) -> None:
    if pooler.is_wanted() and item.get_closest_marker("without_pooler"):
        pytest.skip("It is about connections of its own, and POOLER is set.")


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Who waits leaves the processors to others. pytest-django puts most of these last, where no others are left.

    The longest come first: one of them at the end would have the machine to itself.
    """
    items.sort(key=_place)


def _place(item: pytest.Item) -> int:
    waits = item.get_closest_marker("mostly_waits")
    if waits is None:
        return 2
    return 0 if waits.kwargs.get("long") else 1


def pytest_collection_finish() -> None:
    """The tests themselves are as many objects as the service, and they make more cycles (contexts, responses)."""
    statement_limit.seconds = None  # of the web server alone, whose application some tests have loaded by now
    freeze_loaded_objects()
    gc.set_threshold(10_000)


@pytest.fixture(scope="session")
def django_db_modify_db_settings(
    django_db_modify_db_settings_parallel_suffix: None, django_db_blocker: DjangoDbBlocker
) -> None:
    """Called by pytest-django before it makes the database."""
    with django_db_blocker.unblock():
        connection.settings_dict["TEST"]["TEMPLATE"] = template_database()


@pytest.fixture(scope="session", autouse=True)
def _sessions_suit_tests(
    django_db_setup: None, django_db_blocker: DjangoDbBlocker, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[None]:
    """No test pulls the plug, so commits do not wait for the disk; and a test may hold up a lock for a while."""
    suited = {"synchronous_commit": "off", "lock_timeout": "1min", "idle_in_transaction_session_timeout": "1min"}
    known = connection.settings_dict  # shared by all threads' connections
    usual = dict(known)
    with ExitStack() as stack:
        if pooler.is_wanted():
            where, folder = connection.get_connection_params(), tmp_path_factory.mktemp("pooler")
            between = stack.enter_context(pooler.pgbouncer(where, folder, settings=suited))
            known |= {"HOST": "127.0.0.1", "PORT": between.port}
            known["OPTIONS"] = {**known["OPTIONS"], **between.options}
        else:
            known["OPTIONS"]["options"] = " ".join(f"-c {name}={value}" for name, value in suited.items())
        with django_db_blocker.unblock():
            connection.close()
        yield
        with django_db_blocker.unblock():
            connection.close()
        known |= usual


@pytest.fixture(scope="session", autouse=True)
def _tables_are_emptied_fast() -> Iterator[None]:
    """After a test that commits. Django's own way makes new files for all, and the permissions anew: 90 ms, not 3."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(TransactionTestCase, "_fixture_teardown", lambda _: empty_after_all())
        yield


@pytest.fixture(autouse=True)
def _redis_is_expected() -> Iterator[None]:
    redis_availability.reset()
    yield
    wakeups.wake_now()  # no test is woken by the one before it
    redis_availability.reset()


@pytest.fixture(autouse=True)
def _credentials_are_looked_up(settings: Settings) -> None:
    """What a test changes about a key or an app holds at once."""
    settings.CREDENTIALS_KEPT_SECONDS = 0


@pytest.fixture(autouse=True)
def _nothing_slow_is_done_in_a_transaction(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.PASSWORD_HASHERS = ["tests.support.slow_work.QuickHasher"]
    watch(monkeypatch)


@pytest.fixture
def redis_is_away(settings: Settings) -> None:
    """Nobody listens where Redis should be."""
    nowhere = "redis://127.0.0.1:1/0"
    settings.REDIS_URL = nowhere
    counters = {"BACKEND": "engage.redis.limit_counters.CounterCache", "LOCATION": nowhere}
    settings.CACHES = {**settings.CACHES, "counters": counters}


@pytest.fixture
def redis_takes_no_writes(settings: Settings) -> Iterator[None]:
    """It answers and may be read, as when it is full."""
    reader = f"reader-{os.getpid()}"
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        rights = ["+@read", "+@connection"]
        client.acl_setuser(reader, enabled=True, nopass=True, keys=["*"], categories=rights, commands=["+select"])
        settings.REDIS_URL = settings.REDIS_URL.replace("//", f"//{reader}:any@", 1)
        yield
        client.acl_deluser(reader)


@pytest.fixture
def queue(settings: Settings) -> redis.Redis:
    """The workers' messages, emptied: nobody is expected to serve anything."""
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.flushdb()
    return client


@pytest.fixture(scope="session")
def _scheduler(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[int]:
    """The id of its process group. It stands still unless a test asks for `ticks`."""
    with celery(*SCHEDULER, log=tmp_path_factory.mktemp("scheduler") / "beat.log") as process:
        os.killpg(process.pid, signal.SIGSTOP)
        yield process.pid


@pytest.fixture
def ticks(_scheduler: int) -> Iterator[None]:
    """A scheduler sends them as long as the test runs."""
    os.killpg(_scheduler, signal.SIGCONT)
    yield
    os.killpg(_scheduler, signal.SIGSTOP)


@pytest.fixture(scope="session")
def sdk_tools() -> None:
    """Node, and what the SDK is built and tried with. Where they cannot be had, the test is left out."""
    install_sdk_tools()


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    """Of webhooks."""
    with running() as started:
        yield started


@pytest.fixture
def acme(db: None) -> Workspace:
    return WorkspaceFactory.create(key="acme", name="Acme")


@pytest.fixture
def rival(db: None) -> Workspace:
    """The second tenant, whose things nobody of Acme may see or touch."""
    return WorkspaceFactory.create(key="rival", name="Rival")


def _marked(request: pytest.FixtureRequest, name: str) -> dict[str, Any]:
    mark = request.node.get_closest_marker(name)
    return mark.kwargs if mark else {}


@pytest.fixture
def journey(acme: Workspace, request: pytest.FixtureRequest) -> Journey:
    """Entered by API, and without steps; the mark `journey` says what is otherwise, and whom else Acme has."""
    fields = {"people": (), "crowd": 0, **_marked(request, "journey")}
    for name in fields.pop("people"):
        CustomerFactory.create(workspace=acme, external_id=name)
    if number := fields.pop("crowd"):
        crowd(acme, number)
    return JourneyFactory.create(workspace=acme, **fields)


@pytest.fixture
def ada(acme: Workspace, request: pytest.FixtureRequest) -> Customer:
    """Known by her external id; the mark `ada` says what else there is of her."""
    return CustomerFactory.create(workspace=acme, external_id="ada", **_marked(request, "ada"))


@pytest.fixture
def anonymous(acme: Workspace, ada: Customer) -> Customer:
    """Whom a page knows by its own id, beside Ada."""
    return CustomerFactory.create(workspace=acme, external_id=None, user_id="anon-1")


@pytest.fixture
def cast(acme: Workspace, rival: Workspace) -> Cast:
    """Four of Acme; Rival has people of the same names, and somebody whom Acme does not know."""
    for name in (*NAMES, "nobody"):
        CustomerFactory.create(workspace=rival, external_id=name)
    return {name: CustomerFactory.create(workspace=acme, external_id=name) for name in NAMES}


@pytest.fixture
def server(acme: Workspace) -> ServerClient:
    return ServerClient(ApiKeyFactory.create(workspace=acme))


@pytest.fixture
def rival_server(rival: Workspace) -> ServerClient:
    return ServerClient(ApiKeyFactory.create(workspace=rival))


@pytest.fixture
def sdk(acme: Workspace) -> SdkClient:
    return SdkClient(AppFactory.create(workspace=acme))


@pytest.fixture
def rival_sdk(rival: Workspace) -> SdkClient:
    return SdkClient(AppFactory.create(workspace=rival))
