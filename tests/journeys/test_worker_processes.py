"""Real Celery processes over real Redis: what was answered 202 is decided, whatever dies on the way."""

import json
import os
import signal
import subprocess
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.db import connection

from engage.models import Workspace
from journeys.models import Chunk, Enrollment, Journey
from tests.support.calls import all_decided, data, job_of, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.processes import WORKER, celery, pool_children
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("queue"),
    pytest.mark.mostly_waits,
    pytest.mark.journey(crowd=1000),
]

NAMES = [f"user-{n}" for n in range(1000)]


@dataclass(frozen=True)
class Worker:
    process: "subprocess.Popen[bytes]"
    log: Path
    _before: int = 0  # bytes of the log, of other tests

    def for_another_test(self) -> "Worker":
        return Worker(self.process, self.log, self.log.stat().st_size)

    def says(self, what: str) -> bool:
        return what.encode() in self.log.read_bytes()[self._before :]

    def lines(self, event: str) -> list[dict[str, object]]:
        written = self.log.read_bytes()[self._before :].splitlines()
        found = [json.loads(line) for line in written if line.startswith(b"{")]
        return [line for line in found if line["event"] == event]


@pytest.fixture(scope="module")
def _running(tmp_path_factory: pytest.TempPathFactory, django_db_setup: None) -> Iterator[Worker]:
    log = tmp_path_factory.mktemp("worker") / "worker.log"
    with celery(*WORKER, log=log) as process:
        yield Worker(process, log)


@pytest.fixture
def worker(_running: Worker, transactional_db: None) -> Iterator[Worker]:
    """The tests of this module share it; each leaves it at rest, so that the tables can be emptied."""
    yield _running.for_another_test()
    wait_until(nobody_else_works)


def nobody_else_works() -> bool:
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT NOT EXISTS (SELECT FROM pg_stat_activity WHERE datname = current_database() "
            "AND pid <> pg_backend_pid() AND backend_type = 'client backend' AND state <> 'idle')"
        )
        return bool(cursor.fetchone()[0])


@pytest.mark.slow
def test_a_worker_decides_singles_and_bulks_under_their_job_ids(
    server: ServerClient, journey: Journey, worker: Worker
) -> None:
    single = data(trigger(server, journey, {"external_id": "user-7"}, headers={"X-Request-Id": "the-call"}))
    wait_until(all_decided)
    assert job_of(server, journey.workspace_id, single["jobId"])["result"] == "enrolled"
    bulk = data(trigger(server, journey, {"external_ids": NAMES}, headers={"X-Request-Id": "the-bulk-call"}))
    wait_until(all_decided)
    wait_until(lambda: sum(int(str(line["jobs"])) for line in worker.lines("jobs_decided")) == 1001)
    decided = worker.lines("jobs_decided")
    tasks = {line["task_id"]: line["request_id"] for line in decided}
    assert tasks.pop(single["jobId"]) == "the-call"
    assert set(tasks) <= {bulk["jobIds"][0], bulk["jobIds"][500]}
    woken_by = {line["woken_by"] for line in decided if line["task_id"] != single["jobId"]}
    assert woken_by == {"the-bulk-call"}
    assert Enrollment.objects.count() == 1000
    assert not Chunk.objects.exists()


@pytest.mark.slow
def test_a_worker_that_is_told_to_start_anew_does(server: ServerClient, journey: Journey, worker: Worker) -> None:
    data(trigger(server, journey, {"external_id": "user-7"}))
    wait_until(all_decided)  # it has begun, whichever test comes first
    anew = worker.for_another_test()
    worker.process.send_signal(signal.SIGHUP)
    wait_until(lambda: anew.says(" ready."))
    data(trigger(server, journey, {"external_id": "user-8"}))
    wait_until(all_decided)
    assert worker.process.poll() is None


@pytest.mark.slow
@pytest.mark.usefixtures("ticks", "worker")
def test_a_delay_is_walked_to_its_end(server: ServerClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    steps = [{"id": "one", "type": "delay", "for": "PT1S"}, {"id": "two", "type": "delay", "for": "PT0.5S"}]
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    data(trigger(server, journey, {"external_id": "ada"}))
    wait_until(lambda: Enrollment.objects.filter(state="completed").exists())
    enrollment = Enrollment.objects.get()
    assert enrollment.ended_at is not None
    assert 1.5 <= (enrollment.ended_at - enrollment.entered_at).total_seconds() <= 15  # a busy machine's


@pytest.mark.slow
@pytest.mark.usefixtures("ticks")
def test_jobs_of_a_killed_pool_child_are_decided(server: ServerClient, journey: Journey, worker: Worker) -> None:
    data(trigger(server, journey, {"external_id": "user-1"}))
    wait_until(all_decided)
    for _ in range(3):
        data(trigger(server, journey, {"external_ids": NAMES}))
    children = pool_children(worker.process)
    assert children
    for child in children:
        os.kill(child, signal.SIGKILL)
    wait_until(all_decided)
    assert Enrollment.objects.count() == 1000


@pytest.mark.usefixtures("worker")
def test_an_event_wakes_the_workers_without_a_tick(server: ServerClient, acme: Workspace) -> None:
    """Nobody ticks here: who enters by the event, and who waits for it, goes on because of the event alone."""
    CustomerFactory.create(workspace=acme, external_id="ada")
    wait = {"id": "wait", "type": "wait_for_event", "event": "ordered", "timeout": "P3D"}
    waits = JourneyFactory.create(workspace=acme, steps=[wait])
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered")
    data(trigger(server, waits, {"external_id": "ada"}))
    wait_until(lambda: Enrollment.objects.filter(awaits_event="ordered").exists())
    report = {"external_id": "ada", "eventName": "ordered"}
    data(server.post(f"/api/v1/customers/{acme.id}/events", report))
    wait_until(lambda: Enrollment.objects.filter(state="completed").count() == 2)
