"""The task and its messages, and real workers that are killed or asked to end in the middle."""

import json
import os
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
import redis
from django.conf import settings
from django.utils import timezone

from engage.models import Workspace
from journeys.engine import wakeups
from journeys.models import WebhookDelivery
from journeys.tasks import send
from tests.journeys.webhooks.standing import make_due, standing
from tests.support.processes import WEBHOOK_WORKER, celery, kill_group
from tests.support.receiver import Receiver
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("queue"), pytest.mark.mostly_waits]


def messages(queue: redis.Redis, name: str) -> list[dict[str, Any]]:
    waiting: Any = queue.lrange(name, 0, -1)
    return [json.loads(message)["headers"] for message in waiting]


def test_the_task_sends_and_wakes_the_walker(acme: Workspace, receiver: Receiver, queue: redis.Redis) -> None:
    standing(acme, receiver.url())
    send()
    assert len(receiver.arrived) == 1
    [message] = messages(queue, "walk")
    assert message["task"] == "walk"


def test_nothing_is_sent_while_sending_is_off(
    acme: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A restored copy of a database would send again what its receivers have had."""
    standing(acme, receiver.url())
    monkeypatch.setattr(settings, "SENDING", False)
    send()
    assert receiver.arrived == []
    assert WebhookDelivery.objects.get().attempts == 0
    monkeypatch.setattr(settings, "SENDING", True)
    send()
    assert len(receiver.arrived) == 1


def test_where_nobody_may_walk_on_the_walker_is_left_alone(
    acme: Workspace, receiver: Receiver, queue: redis.Redis
) -> None:
    standing(acme, receiver.url("/status/500"))
    send()
    assert len(receiver.arrived) == 1
    assert messages(queue, "walk") == []


def test_the_scheduler_looks_every_second() -> None:
    tick: Any = settings.CELERY_BEAT_SCHEDULE["send"]
    assert (tick["task"], tick["schedule"]) == ("send", 1.0)


def woken() -> bool:
    """In the scheduler's place: what a killed worker had taken is gone."""
    wakeups.wake_sender()
    return True


def delivered() -> int:
    return WebhookDelivery.objects.filter(state="delivered").count()


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_killed_worker_repeats_what_was_in_flight(acme: Workspace, receiver: Receiver, tmp_path: Path) -> None:
    deliveries = standing(acme, receiver.url("/slow/0.05"), number=400)
    with celery(*WEBHOOK_WORKER, log=tmp_path / "killed.log") as killed:
        wait_until(lambda: woken() and delivered() > 20)
        kill_group(killed)
    arrived = len(receiver.arrived)
    recorded = delivered()
    in_flight = set(WebhookDelivery.objects.filter(state="waiting", due_at__gt=timezone.now()))
    assert 0 < recorded < arrived <= recorded + len(in_flight) < 400
    make_due()  # the leases are over
    with celery(*WEBHOOK_WORKER, log=tmp_path / "worker.log"):
        wait_until(lambda: woken() and not WebhookDelivery.objects.filter(state="waiting").exists())
    times = Counter(receiver.webhook_ids())
    assert set(times) == {delivery.webhook_id for delivery in deliveries}
    repeated = {webhook_id for webhook_id, number in times.items() if number > 1}
    assert repeated <= {delivery.webhook_id for delivery in in_flight}
    assert max(times.values()) == 2
    assert WebhookDelivery.objects.filter(state="delivered", attempts=1).count() == 400


@pytest.mark.slow
@pytest.mark.django_db(transaction=True)
def test_a_worker_that_ends_writes_down_what_is_in_flight(acme: Workspace, receiver: Receiver, tmp_path: Path) -> None:
    standing(acme, receiver.url("/slow/0.1"), number=1000)
    with celery(*WEBHOOK_WORKER, log=tmp_path / "worker.log") as worker:
        wait_until(lambda: woken() and delivered() > 0)
        began = time.monotonic()
        os.kill(worker.pid, signal.SIGTERM)
        worker.wait(10)
        assert time.monotonic() - began < 5
    assert delivered() == len(receiver.arrived) < 1000
    assert not WebhookDelivery.objects.filter(state="waiting", due_at__gt=timezone.now()).exists()
