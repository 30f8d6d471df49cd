"""Waking the workers takes nobody's time, and nobody's wake-ups bury another's."""

import json
import socket
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

import pytest
import redis
import structlog
from django.conf import settings
from pytest_django import Settings
from structlog.testing import capture_logs

from config import ROOT
from engage.models import Workspace
from journeys.engine import wakeups
from journeys.models import Chunk, EnrollmentJob
from journeys.tasks import sweep
from tests.support.calls import data, trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.processes import celery, environment
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.usefixtures("queue"), pytest.mark.mostly_waits]


def messages(queue: redis.Redis, name: str) -> int:
    length: Any = queue.llen(name)
    return int(length)


def test_wake_ups_of_walkers_and_senders_do_not_pile_up(queue: redis.Redis) -> None:
    for _ in range(3):
        wakeups.wake_walker()
        wakeups.wake_sender()
    assert (messages(queue, "walk"), messages(queue, "webhooks")) == (1, 1)
    queue.flushdb()  # as if a worker had taken them
    wakeups.wake_walker()
    assert messages(queue, "walk") == 1


def test_wake_ups_of_the_single_lane_do_not_pile_up_while_no_worker_takes_them(queue: redis.Redis) -> None:
    for _ in range(3):
        wakeups.wake_for_single(trigger_id="f" * 24, job_id="enroll-1")
        wakeups.wake_now()
        wakeups.leave_single_lane()  # as the mark of the first one ends by itself, soon
    assert messages(queue, "single") == 1


def test_a_worker_that_stays_at_a_lane_leaves_a_redis_alone_that_has_just_failed(settings: Settings) -> None:
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    with capture_logs() as lines:
        for _ in range(3):
            wakeups.stay_at_single_lane()
        wakeups.leave_single_lane()
    assert [line["event"] for line in lines] == ["redis_unreachable"]


@pytest.mark.parametrize("by", ["request_id", "woken_by"])
def test_a_wake_up_names_the_request_with_which_it_began(queue: redis.Redis, by: str) -> None:
    structlog.contextvars.clear_contextvars()
    with structlog.contextvars.bound_contextvars(**{by: "the-call"}):
        wakeups.wake_walker()
    (message,) = cast("list[bytes]", queue.lrange("walk", 0, -1))
    assert json.loads(message)["headers"]["request_id"] == "the-call"


@pytest.mark.django_db(transaction=True)
def test_what_is_committed_is_answered_though_nobody_could_be_woken(
    server: ServerClient, sdk: SdkClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(**_: Any) -> None:
        raise TypeError("a bug")

    for wake in ("wake_for_single", "wake_for_bulk"):
        monkeypatch.setattr(wakeups, wake, fail)
    monkeypatch.setattr(wakeups, "wake", lambda _: fail())
    customer = CustomerFactory.create(workspace=acme, external_id="ada")
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="bought")
    api = JourneyFactory.create(workspace=acme)
    data(trigger(server, api, {"external_id": "ada"}))
    data(trigger(server, api, {"external_ids": ["ada"]}))
    event = {"external_id": "ada", "eventName": "bought"}
    assert server.post(f"/api/v1/customers/{acme.id}/events", event).status_code == 202
    click = {"external_id": "ada", "messageId": "m", "actionType": "track_event", "actionData": {"eventName": "bought"}}
    assert sdk.post("/api/v1/sdk/bridge/action", click).status_code == 200
    assert EnrollmentJob.objects.filter(customer=customer).count() == 4


PUBLISH = """
import django, time
django.setup()
from journeys.engine import wakeups
began = time.monotonic()
assert not wakeups._publish(wakeups.WALK, task_id=None, queue="walk")
print(time.monotonic() - began)
"""


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("listens", [True, False])
def test_a_message_to_a_redis_that_does_not_answer_is_given_up_soon(listens: bool) -> None:
    """Whether nobody listens there, or who listens says nothing."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        if not listens:
            silent.close()
        away = {"REDIS_URL": f"redis://127.0.0.1:{port}/0", "DJANGO_SETTINGS_MODULE": "config.settings"}
        done = subprocess.run(
            [sys.executable, "-c", PUBLISH],
            cwd=ROOT, env=environment() | away, capture_output=True, text=True, check=True,
        )  # fmt: skip
    assert float(done.stdout.split()[-1]) < 2.0


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_the_sweeper_waits_behind_no_walkers(
    server: ServerClient, acme: Workspace, queue: redis.Redis, tmp_path: Path
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    data(trigger(server, JourneyFactory.create(workspace=acme), {"external_ids": ["ada"]}))
    Chunk.objects.update(due_at="2020-01-01T00:00Z")
    queue.flushdb()  # its message is lost
    for _ in range(500):
        wakeups._publish(wakeups.WALK, task_id=None, queue="walk")
    sweep.apply_async()
    with celery("worker", "-Q", "walk,sweep", "-c", "1", log=tmp_path / "worker.log"):
        wait_until(lambda: messages(queue, "bulk") == 1)
        assert messages(queue, "walk") > 250


def test_a_message_stands_for_those_of_its_own_task_alone(queue: redis.Redis) -> None:
    for _ in range(2):
        for task in settings.CELERY_TASK_ROUTES:
            wakeups.wake_one(task)
    sent = [
        json.loads(message)["headers"]["task"]
        for name in {route["queue"] for route in settings.CELERY_TASK_ROUTES.values()}
        for message in cast("list[bytes]", queue.lrange(name, 0, -1))
    ]
    assert sorted(sent) == sorted(settings.CELERY_TASK_ROUTES)
