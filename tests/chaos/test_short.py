"""A few faults in one load, on the tests' own PostgreSQL; `make chaos` injects all of them."""

import json
from collections.abc import Iterator
from contextlib import ExitStack
from io import StringIO
from pathlib import Path

import pytest
from django.core.management import call_command
from django.db import connection

from journeys.models import StepRun
from tests.chaos import faults
from tests.chaos.faults import Fault
from tests.chaos.fleet import Fleet
from tests.chaos.load import Load
from tests.chaos.pages import open_pages
from tests.chaos.plan import TENANTS
from tests.chaos.scenario import Scenario
from tests.chaos.servers import own_postgresql, own_redis
from tests.chaos.service import Service, environment_of
from tests.chaos.tenants import TRIGGERED, Tenant, seed
from tests.chaos.trial import hold_trial, plan_trial
from tests.support import receiver as receivers
from tests.support.processes import environment
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.mostly_waits, pytest.mark.without_pooler]

SHORT = Scenario(
    name="short",
    load=7,
    per_second=15,
    journeys=[key for key in TRIGGERED if key not in {"notify", "listens"}],  # nobody sends webhooks here
    faults=lambda chance: [
        Fault(at=chance.uniform(0.5, 1.0), words="worker killed", do=faults.kill_group("worker-1")),
        Fault(at=chance.uniform(1.5, 2.0), words="Redis flushed", do=faults.flush_redis),
        Fault(at=chance.uniform(2.5, 3.0), words="backends terminated", do=faults.terminate_backends),
        Fault(at=chance.uniform(3.5, 4.0), words="Redis full", do=faults.fill_redis(0.8)),
        Fault(at=chance.uniform(4.8, 5.0), words="Redis frozen", do=faults.freeze_redis(0.6)),
        Fault(at=chance.uniform(5.8, 6.0), words="Redis a replica", do=faults.demote_redis(0.8)),
    ],
    rest_seconds=30,
)
NUMBERS = {"web": 1, "worker": 2, "bulk": 1, "walk": 1, "webhooks": 0, "scheduler": 1}


def _tenant(name: str, folder: Path, receiver: str) -> Tenant:
    file, printed = folder / f"{name}.json", StringIO()
    file.write_text(json.dumps(seed(name, receiver=receiver)))
    call_command("seed_workspace", str(file), "--json", stdout=printed)
    return Tenant.read(name, printed.getvalue())


@pytest.fixture
def service(transactional_db: None, tmp_path: Path) -> Iterator[Service]:
    with ExitStack() as stack:
        receiver = stack.enter_context(receivers.running())
        database_url = environment()["DATABASE_URL"]
        redis, redis_url = own_redis(tmp_path)
        stack.callback(redis.end)
        redis.start()
        tenants = {name: _tenant(name, tmp_path, receiver.url("")) for name in TENANTS}
        connection.close()  # all connections to the database will be cut
        lean = {**environment_of(database_url, redis_url), "WORKER_CONCURRENCY": "1", "WALK_CONCURRENCY": "1"}
        fleet = Fleet(lean, logs=tmp_path, numbers=NUMBERS)
        stack.callback(fleet.end)
        fleet.start()
        running = Service(
            postgresql=own_postgresql(tmp_path)[0],  # not started: the tests' own serves
            redis=redis,
            database_url=database_url,
            redis_url=redis_url,
            fleet=fleet,
            receiver=receiver,
            tenants=tenants,
            load=Load(tenants=tenants, webs=fleet.webs),
        )
        wait_until(lambda: running.listening() >= fleet.workers, what="the workers")
        running.pages = stack.enter_context(open_pages(tenants, webs=fleet.webs))
        yield running


@pytest.mark.mostly_waits(long=True)
def test_all_promises_hold_over_a_killed_worker_a_lost_redis_and_cut_connections(service: Service) -> None:
    finding = hold_trial(service, SHORT, plan_trial(SHORT, seed="short", number=1))
    assert finding.broken == []
    assert finding.calls >= 90
    ran = set(StepRun.objects.values_list("enrollment__journey__key", "step_id"))
    assert ran >= {("watches", "yes"), ("delivers", "offer")}
    assert sum(page.told for page in service.pages) > 0
