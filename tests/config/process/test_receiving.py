"""Whatever lies in the queues: workers skip what they cannot read, and do what they can."""

from pathlib import Path
from typing import Any

import pytest
import redis

from engage.models import Workspace
from engage.redis.metric_counters import SKIPPED, all_counts
from journeys.engine import wakeups
from journeys.models import Enrollment
from tests.support.calls import data, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.garbage import garbage_like
from tests.support.processes import SCHEDULER, WEBHOOK_WORKER, WORKER, celery
from tests.support.receiver import Receiver
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

QUEUES = ("single", "bulk", "walk", "sweep", "webhooks")


@pytest.fixture
def garbage(queue: redis.Redis) -> list[bytes]:
    """All that a worker might be given instead of a message."""
    wakeups.wake_walker()
    messages: Any = queue.lrange("walk", 0, -1)
    queue.delete("walk")
    return garbage_like(messages[0])


@pytest.mark.slow
def test_workers_survive_garbage_in_their_queues_and_go_on(
    server: ServerClient, acme: Workspace, receiver: Receiver, queue: redis.Redis, garbage: list[bytes], tmp_path: Path
) -> None:
    for name in QUEUES:
        queue.lpush(name, *garbage)
    CustomerFactory.create(workspace=acme, external_id="ada")
    hook = {"id": "hook", "type": "webhook", "url": receiver.url("/ok")}
    journey = JourneyFactory.create(workspace=acme, steps=[hook])
    skipped = len(QUEUES) * len(garbage)
    logs = [tmp_path / "worker.log", tmp_path / "webhooks.log"]
    with celery(*WORKER, log=logs[0]) as worker, celery(*WEBHOOK_WORKER, log=logs[1]) as webhooks:
        wait_until(lambda: not any(queue.llen(name) for name in QUEUES))
        data(trigger(server, journey, {"external_id": "ada"}))
        with celery(*SCHEDULER, log=tmp_path / "beat.log"):
            wait_until(lambda: Enrollment.objects.filter(state="completed").exists())
            wait_until(lambda: all_counts().get((SKIPPED,)) == skipped)
        assert (worker.poll(), webhooks.poll()) == (None, None)
    said = "".join(log.read_text() for log in logs)
    assert said.count('"message_skipped"') == skipped
    assert "no.such.task" not in said
    assert len(receiver.arrived) == 1
