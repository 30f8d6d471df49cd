"""Whatever lies in the queues: workers skip what they cannot read, and do what they can."""

import base64
import json
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings

from engage.models import Workspace
from engage.redis.metric_counters import SKIPPED, all_counts
from journeys import wakeups
from journeys.models import Enrollment
from tests.calls import data, trigger
from tests.clients import ServerClient
from tests.factories import CustomerFactory, JourneyFactory
from tests.processes import SCHEDULER, WEBHOOK_WORKER, WORKER, celery
from tests.receiver import Receiver, running
from tests.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

QUEUES = ("single", "bulk", "walk", "sweep", "webhooks")
Change = Callable[[dict[str, Any]], object]


@pytest.fixture
def queue() -> redis.Redis:
    client = redis.Redis.from_url(settings.REDIS_URL)
    client.flushdb()
    return client


@pytest.fixture
def receiver() -> Iterator[Receiver]:
    with running() as started:
        yield started


def encoded(value: object) -> str:
    return base64.b64encode(json.dumps(value).encode()).decode()


NO_MESSAGES = [b"garbage", b"\xff\xfe\x00", b"", b"5", b"null", b'"text"', b"[]", b"{}", b"[" * 100_000, b'{"body": 5}']
CHANGES: list[Change] = [
    lambda message: message.update(body="***"),
    lambda message: message.update(body=5),
    lambda message: message.update(body=base64.b64encode(b"\xff\xff").decode()),
    lambda message: message.update(body=encoded("text")),
    lambda message: message.update(body=encoded([[], {}])),
    lambda message: message.update(body=encoded([{}, [], {}])),
    lambda message: message.update(body=encoded([[], {}, {"callbacks": ["x"]}])),
    lambda message: message.update({"content-type": "application/x-python-serialize"}),
    lambda message: message.update({"content-type": "application/x-nothing"}),
    lambda message: message.update({"content-type": None}),
    lambda message: message.update({"content-encoding": "klingon"}),
    lambda message: message.update(headers=None),
    lambda message: message.update(headers=["task"]),
    lambda message: message.update(headers={}),
    lambda message: message["headers"].update(task="no.such.task"),
    lambda message: message["headers"].update(task=["walk"]),
    lambda message: message["headers"].update(id=None),
    lambda message: message["headers"].pop("id"),
    lambda message: message["headers"].update(expires="soon"),
    lambda message: message["headers"].update(eta="2999-01-01T00:00:00+00:00"),
    lambda message: message["headers"].update(timelimit=["a", "b"]),
    lambda message: message["headers"].update(compression="bzip2"),
    lambda message: message.update(properties=None),
    lambda message: message["properties"].pop("delivery_tag"),
    lambda message: message["properties"].update(delivery_tag=["x"]),
    lambda message: message["properties"].update(delivery_info="here"),
    lambda message: message["properties"].update(body_encoding="rot13"),
]


@pytest.fixture
def garbage(queue: redis.Redis) -> list[bytes]:
    """All that a worker might be given instead of a message."""
    wakeups.wake_walker()
    messages: Any = queue.lrange("walk", 0, -1)
    queue.delete("walk")
    spoiled = []
    for change in CHANGES:
        message = json.loads(messages[0])
        change(message)
        spoiled.append(json.dumps(message).encode())
    return [*NO_MESSAGES, *spoiled]


def test_workers_survive_garbage_in_their_queues_and_go_on(
    server: ServerClient,
    acme: Workspace,
    receiver: Receiver,
    queue: redis.Redis,
    garbage: list[bytes],
    tmp_path: Path,
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
