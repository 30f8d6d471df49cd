"""Two environments share a Redis, and neither takes what is the other's."""

from pathlib import Path
from typing import Any

import pytest
import redis
from django.core.cache import caches
from pytest_django import Settings

from engage.models import Workspace
from engage.redis.availability import redis_takes_writes
from engage.redis.metric_counters import DECISIONS, all_counts
from journeys.engine import wakeups
from journeys.models import Enrollment
from tests.support.calls import data, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.processes import SCHEDULER, WORKER, celery
from tests.support.waiting import wait_until

PREFIX = "staging:"


def keys(queue: redis.Redis) -> set[str]:
    found: Any = queue.keys()
    return {key.decode() for key in found}


@pytest.mark.slow
@pytest.mark.mostly_waits
@pytest.mark.django_db(transaction=True)
def test_workers_take_the_messages_of_their_own_environment_alone(
    server: ServerClient,
    acme: Workspace,
    queue: redis.Redis,
    settings: Settings,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    CustomerFactory.create(workspace=acme, external_id="ada")
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "short", "type": "delay", "for": "PT0S"}])
    data(trigger(server, journey, {"external_ids": ["ada"]}))
    wakeups.wake_walker()
    others = keys(queue)
    monkeypatch.setenv("REDIS_PREFIX", PREFIX)
    with celery(*WORKER, log=tmp_path / "worker.log"), celery(*SCHEDULER, log=tmp_path / "beat.log"):
        wait_until(lambda: Enrollment.objects.filter(state="completed").exists())
        settings.REDIS_PREFIX = PREFIX
        wait_until(lambda: all_counts().get((DECISIONS, "enrolled")) == 1)
    assert (queue.llen("bulk"), queue.llen("walk")) == (1, 1)
    of_this_process = {"engage:metric_counters", "engage:seen:web"}
    assert {key for key in keys(queue) - others - of_this_process if not key.startswith(PREFIX)} == set()


def test_marks_and_counters_have_the_prefix_as_well(queue: redis.Redis, settings: Settings) -> None:
    settings.REDIS_PREFIX = PREFIX
    settings.CACHES = {**settings.CACHES, "counters": {**settings.CACHES["counters"], "KEY_PREFIX": PREFIX}}
    wakeups.stay_at_single_lane()
    caches["counters"].add("rl:key", 1)
    assert keys(queue) == {"staging:engage:single-lane-pending", "staging::1:rl:key"}
    wakeups.leave_single_lane()
    assert redis_takes_writes()
    queue.lpush("staging:walk", "one")
    assert wakeups._messages_that_wait("walk") == 1


def test_without_a_prefix_the_names_are_those_of_the_versions_before(queue: redis.Redis) -> None:
    wakeups.wake_walker()
    wakeups.stay_at_single_lane()
    assert {"walk", "engage:single-lane-pending"} <= keys(queue)
