"""Real Celery processes over real Redis: what was answered 202 is decided, whatever dies on the way."""

import json
import os
import signal
from pathlib import Path

import pytest
import redis
from django.db import transaction

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey
from tests.support.calls import data, job_of, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, crowd
from tests.support.processes import WORKER, celery, kill_group, pool_children
from tests.support.simultaneous import made_to_wait
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("queue"), pytest.mark.mostly_waits]

NAMES = [f"user-{n}" for n in range(1000)]


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    crowd(acme, 1000)
    return JourneyFactory.create(workspace=acme)


def all_decided() -> bool:
    return not EnrollmentJob.objects.filter(status="queued").exists()


def lines(log: Path, event: str) -> list[dict[str, object]]:
    found = [json.loads(line) for line in log.read_text().splitlines() if line.startswith("{")]
    return [line for line in found if line["event"] == event]


def test_a_worker_decides_singles_and_bulks_under_their_job_ids(
    server: ServerClient, journey: Journey, tmp_path: Path
) -> None:
    with celery(*WORKER, log=tmp_path / "worker.log"):
        single = data(trigger(server, journey, {"external_id": "user-7"}, headers={"X-Request-Id": "the-call"}))
        wait_until(all_decided)
        assert job_of(server, journey.workspace_id, single["jobId"])["result"] == "enrolled"
        bulk = data(trigger(server, journey, {"external_ids": NAMES}, headers={"X-Request-Id": "the-bulk-call"}))
        wait_until(all_decided)
        log = tmp_path / "worker.log"
        wait_until(lambda: sum(int(str(line["jobs"])) for line in lines(log, "jobs_decided")) == 1001)
    tasks = {line["task_id"]: line["request_id"] for line in lines(log, "jobs_decided")}
    assert tasks.pop(single["jobId"]) == "the-call"
    assert set(tasks) <= {bulk["jobIds"][0], bulk["jobIds"][500]}
    woken_by = {line["woken_by"] for line in lines(log, "jobs_decided") if line["task_id"] != single["jobId"]}
    assert woken_by == {"the-bulk-call"}
    assert Enrollment.objects.count() == 1000
    assert not Chunk.objects.exists()


def test_a_worker_that_is_told_to_start_anew_does(server: ServerClient, journey: Journey, tmp_path: Path) -> None:
    log = tmp_path / "worker.log"
    with celery(*WORKER, log=log) as worker:
        wait_until(lambda: log.read_text().count(" ready.") == 1)
        worker.send_signal(signal.SIGHUP)
        wait_until(lambda: log.read_text().count(" ready.") == 2)
        data(trigger(server, journey, {"external_id": "user-7"}))
        wait_until(all_decided)
        assert worker.poll() is None


@pytest.mark.usefixtures("ticks")
def test_a_delay_is_walked_to_its_end(server: ServerClient, acme: Workspace, tmp_path: Path) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    steps = [{"id": "one", "type": "delay", "for": "PT1S"}, {"id": "two", "type": "delay", "for": "PT0.5S"}]
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    with celery(*WORKER, log=tmp_path / "worker.log"):
        data(trigger(server, journey, {"external_id": "ada"}))
        wait_until(lambda: Enrollment.objects.filter(state="completed").exists())
    enrollment = Enrollment.objects.get()
    assert enrollment.ended_at is not None
    assert 1.5 <= (enrollment.ended_at - enrollment.entered_at).total_seconds() <= 15  # a busy machine's


@pytest.mark.usefixtures("ticks")
def test_jobs_whose_messages_were_lost_are_decided(
    server: ServerClient, journey: Journey, queue: redis.Redis, tmp_path: Path
) -> None:
    for body in ({"external_id": "user-1"}, {"external_ids": NAMES}):
        data(trigger(server, journey, body))
    queue.flushdb()
    with celery(*WORKER, log=tmp_path / "worker.log"):
        wait_until(all_decided)
    assert Enrollment.objects.count() == 1000


@pytest.mark.usefixtures("ticks")
def test_jobs_of_a_killed_worker_are_decided_by_another(server: ServerClient, journey: Journey, tmp_path: Path) -> None:
    with celery(*WORKER, log=tmp_path / "killed.log") as killed, transaction.atomic():
        # Holds the worker up in the middle of its work.
        Customer.objects.select_for_update().get(external_id="user-7")
        made_to_wait(lambda: data(trigger(server, journey, {"external_ids": NAMES})))
        kill_group(killed)
    assert not all_decided()
    with celery(*WORKER, log=tmp_path / "worker.log"):
        wait_until(all_decided)
    assert Enrollment.objects.count() == 1000
    assert EnrollmentJob.objects.filter(result="enrolled").count() == 1000


@pytest.mark.usefixtures("ticks")
def test_jobs_of_a_killed_pool_child_are_decided(server: ServerClient, journey: Journey, tmp_path: Path) -> None:
    with celery(*WORKER, log=tmp_path / "worker.log") as worker:
        data(trigger(server, journey, {"external_id": "user-1"}))
        wait_until(all_decided)
        for _ in range(3):
            data(trigger(server, journey, {"external_ids": NAMES}))
        children = pool_children(worker)
        assert children
        for child in children:
            os.kill(child, signal.SIGKILL)
        wait_until(all_decided)
    assert Enrollment.objects.count() == 1000


def test_an_event_wakes_the_workers_without_a_tick(server: ServerClient, acme: Workspace, tmp_path: Path) -> None:
    """Nobody ticks here: who enters by the event, and who waits for it, goes on because of the event alone."""
    CustomerFactory.create(workspace=acme, external_id="ada")
    wait = {"id": "wait", "type": "wait_for_event", "event": "ordered", "timeout": "P3D"}
    waits = JourneyFactory.create(workspace=acme, steps=[wait])
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered")
    with celery(*WORKER, log=tmp_path / "worker.log"):
        data(trigger(server, waits, {"external_id": "ada"}))
        wait_until(lambda: Enrollment.objects.filter(awaits_event="ordered").exists())
        report = {"external_id": "ada", "eventName": "ordered"}
        data(server.post(f"/api/v1/customers/{acme.id}/events", report))
        wait_until(lambda: Enrollment.objects.filter(state="completed").count() == 2)
