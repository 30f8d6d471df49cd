"""The scheduler's ticks: one for each queue whose workers are away, and a new one as soon as it is gone."""

import json
import signal
from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
import redis
import time_machine
from celery import current_app
from pytest_django import Settings

from config.process.ticks import TickScheduler
from tests.chaos.servers import OwnServer
from tests.support.processes import SCHEDULER, celery
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.mostly_waits]

QUEUES = ("walk", "webhooks", "sweep")
SEVERAL_LOOKS = 8  # of a scheduler, which looks two or three times a second


@pytest.fixture
def client(server_of_queues: OwnServer, settings: Settings) -> Iterator[redis.Redis]:
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        yield client


def waiting(client: redis.Redis) -> list[Any]:
    """How many messages each queue has."""
    return [client.llen(queue) for queue in QUEUES]


def looks(client: redis.Redis) -> int:
    """How often somebody has asked how many messages wait."""
    stats: Any = client.info("commandstats")
    return int(stats.get("cmdstat_llen", {"calls": 0})["calls"])


def after_several_looks(client: redis.Redis) -> list[Any]:
    wait_until(lambda: all(waiting(client)))
    before = looks(client)
    wait_until(lambda: looks(client) >= before + SEVERAL_LOOKS)
    return waiting(client)


@pytest.mark.slow
@pytest.mark.mostly_waits(long=True)
def test_ticks_do_not_pile_up_however_many_schedulers_send_them(client: redis.Redis, tmp_path: Path) -> None:
    """Two that look at the same moment may both find a queue empty: so each adds one at most, once."""
    with celery(*SCHEDULER, log=tmp_path / "one.log"):
        assert after_several_looks(client) == [1, 1, 1]
        with celery(*SCHEDULER, log=tmp_path / "other.log"):
            for _ in range(2):
                assert set(after_several_looks(client)) <= {1, 2}
                client.delete(*QUEUES)  # as if workers had taken them, or Redis had lost them


@pytest.mark.slow
def test_ticks_come_again_soon_after_redis_was_away(
    client: redis.Redis, server_of_queues: OwnServer, tmp_path: Path
) -> None:
    with celery(*SCHEDULER, log=tmp_path / "beat.log") as scheduler:
        wait_until(lambda: all(waiting(client)))
        server_of_queues.stop(signal.SIGKILL)
        wait_until(lambda: "redis_unreachable" in (tmp_path / "beat.log").read_text())
        server_of_queues.start()
        client.delete(*QUEUES)
        wait_until(lambda: all(waiting(client)), seconds=20)
        assert scheduler.poll() is None


@pytest.mark.slow
def test_each_tick_is_sent_now_and_then_though_no_worker_is_free_at_once(queue: redis.Redis) -> None:
    """For half a second each message stays in the queue that three ticks share. Five minutes pass."""
    sent: Counter[str] = Counter()
    scheduler = TickScheduler(app=current_app)
    with time_machine.travel(datetime(2030, 1, 2, 3, 4, 5, tzinfo=UTC)) as clock:
        for step in range(3000):
            while not scheduler.tick():
                pass
            if step % 5 == 0 and (taken := queue.lpop("sweep")):
                sent[json.loads(taken)["headers"]["task"]] += 1  # type: ignore[arg-type] # it waits for no answer
            clock.shift(0.1)
    assert min(sent["sweep"] / 10, sent["fold"], sent["resend"]) > 8, sent
