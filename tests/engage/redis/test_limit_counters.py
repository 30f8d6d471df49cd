"""Counting with little help from Redis: while it is away each process counts for itself; busy threads count ahead."""

import time
from collections import defaultdict
from concurrent.futures import ThreadPoolExecutor
from datetime import UTC, datetime, timedelta
from threading import Barrier, get_ident
from typing import Any

import pytest
import redis
import structlog
import time_machine
from django.core.cache import BaseCache, caches
from django.core.cache.backends.locmem import LocMemCache
from pytest_django import Settings
from structlog.testing import capture_logs

from engage.models import Workspace
from engage.redis.availability import redis_availability, redis_client
from engage.redis.limit_counters import CounterCache, CountingAlone
from journeys.models import Journey
from tests.support.bridge_calls import ACTION, call
from tests.support.calls import trigger
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import ApiKeyFactory

pytestmark = pytest.mark.journey(people=["ada"])


def test_counting_goes_on_without_redis() -> None:
    counters = CounterCache("redis://127.0.0.1:1/0", {})
    assert counters.add("without-redis", 1, 60) is True
    assert counters.add("without-redis", 1, 60) is False
    assert [counters.incr("without-redis") for _ in range(2)] == [2, 3]
    assert counters.incr("without-redis", 2) == 5


def test_a_counter_that_another_one_displaces_counts_anew_without_redis(monkeypatch: pytest.MonkeyPatch) -> None:
    """Between its two steps, in another thread: there is room for so many only."""
    counters = CounterCache("redis://127.0.0.1:1/0", {})
    with monkeypatch.context() as displaced:
        displaced.setattr(LocMemCache, "add", lambda *_: True)
        assert counters.incr("displaced") == 1
    assert counters.incr("displaced") == 2


def test_triggers_are_served_and_limited_without_redis(acme: Workspace, journey: Journey, redis_is_away: None) -> None:
    server = ServerClient(ApiKeyFactory.create(workspace=acme, rate_limit="3/h"))
    started = time.monotonic()
    answers = [trigger(server, journey, {"external_id": "ada"}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [202, 202, 202, 429, 429]
    assert time.monotonic() - started < 5


@pytest.mark.usefixtures("redis_is_away")
def test_bridge_calls_are_limited_without_redis_and_the_log_says_so(sdk: SdkClient, settings: Settings) -> None:
    settings.BRIDGE_RATE_LIMIT = "3/h"
    with structlog.testing.capture_logs() as lines:
        answers = [call(sdk, ACTION, {}) for _ in range(5)]
    assert [answer.status_code for answer in answers] == [200, 200, 200, 429, 429]
    assert [answer["X-RateLimit-Remaining"] for answer in answers] == ["2", "1", "0", "0", "0"]
    noted = [line for line in lines if line["event"] == "redis_unreachable"]
    assert [(line["log_level"], line["purpose"]) for line in noted] == [("warning", "counters")]


def test_the_log_says_once_that_a_process_counts_alone(caplog: pytest.LogCaptureFixture) -> None:
    alone = CountingAlone()
    for _ in range(3):
        alone.note()
    assert [(line.name, line.levelname) for line in caplog.records] == [("engage.redis.limit_counters", "WARNING")]
    assert "limits_counted_in_process" in caplog.text


def test_redis_is_left_alone_for_a_moment_after_a_failure() -> None:
    counters = CounterCache("redis://127.0.0.1:1/0", {})
    counters.add("left-alone", 1, 60)
    assert not redis_availability.is_expected()
    redis_availability.reset()
    assert redis_availability.is_expected()


def test_redis_is_left_alone_also_by_who_has_counted_there_before(settings: Settings) -> None:
    counters = CounterCache(settings.REDIS_URL, {})
    counters.add("counted-before", 0, 60)
    counters._redis = redis_client("redis://127.0.0.1:1/0")  # where it was, nobody listens any more
    with capture_logs() as lines:
        assert [counters.incr("counted-before") for _ in range(3)] == [1, 2, 3]
    assert [line["event"] for line in lines].count("redis_unreachable") == 1


def test_a_window_that_began_in_redis_is_not_shorter_without_it(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    counters = CounterCache(settings.REDIS_URL, {})
    counters.add("an-hour", 1, 3600)
    monkeypatch.setattr(redis_availability, "is_expected", lambda: False)
    with time_machine.travel(datetime.now(UTC), tick=False) as clock:
        counters.incr("an-hour")
        clock.shift(timedelta(minutes=59))
        assert counters.incr("an-hour") == 2


def test_a_counter_that_redis_forgot_is_counted_anew_and_does_not_stay_for_ever(settings: Settings) -> None:
    counters = CounterCache(settings.REDIS_URL, {})
    with redis.Redis.from_url(settings.REDIS_URL) as client:
        assert counters.add("forgotten", 1, 60) is True
        assert counters.add("forgotten", 1, 60) is False
        assert 0 < client.ttl(counters.make_key("forgotten")) <= 60
        client.delete(counters.make_key("forgotten"))
        assert [counters.incr("forgotten") for _ in range(2)] == [1, 2]
        assert 0 < client.ttl(counters.make_key("forgotten")) <= 60


def test_who_counts_often_asks_redis_seldom_and_limits_hold(
    settings: Settings, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked: list[int] = []
    incr = redis.Redis.incr

    def noted_incr(client: "redis.Redis", name: str, amount: int = 1) -> Any:
        asked.append(amount)
        return incr(client, name, amount)

    monkeypatch.setattr(redis.Redis, "incr", noted_incr)
    threads = [CounterCache(settings.REDIS_URL, {}) for _ in range(2)]
    for counters in threads:
        counters.add("often", 0, 60)
    told = [threads[call % 5 in (1, 3)].incr("often") for call in range(3000)]
    assert len(asked) < len(told) / 5
    assert told[:150] == list(range(1, 151))  # the default limit is exact
    assert len(set(told)) == len(told)
    for limit in (1000, 2999):
        assert limit * 0.98 - 1 <= sum(number <= limit for number in told) <= limit


def test_each_thread_has_counters_of_its_own_and_all_together_keep_to_a_limit() -> None:
    used: dict[int, set[BaseCache]] = defaultdict(set)

    def count(_: int) -> int:
        counters = caches["counters"]
        used[get_ident()].add(counters)
        counters.add("threads", 0, 60)
        return counters.incr("threads")

    with ThreadPoolExecutor(8, initializer=Barrier(8).wait) as pool:
        told = list(pool.map(count, range(4000)))
    assert [len(caches_of_one) for caches_of_one in used.values()] == [1] * len(used)
    assert len(set().union(*used.values())) == len(used) > 1
    assert len(set(told)) == len(told)
    assert 3000 * 0.98 - 8 <= sum(number <= 3000 for number in told) <= 3000


@pytest.mark.usefixtures("redis_is_away")
def test_a_process_that_counts_alone_forgets_nobody_because_there_are_many() -> None:
    counters = caches["counters"]
    names = [f"alone-{number}" for number in range(1000)]
    for expected in (1, 2):
        assert [counters.incr(name) for name in names] == [expected] * len(names)


def test_a_thread_counts_on_with_counters_that_it_forgot(settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engage.redis.limit_counters._MOST_KNOWN", 3)
    counters = CounterCache(settings.REDIS_URL, {})
    for number in range(1, 4):
        for name in range(10):
            counters.add(f"many-{name}", 0, 60)
            assert counters.incr(f"many-{name}") == number
            assert len(counters._known) <= 3


def test_several_at_once_are_counted_with_what_is_in_hand(settings: Settings) -> None:
    counters = CounterCache(settings.REDIS_URL, {})
    counters.add("several", 0, 60)
    assert [counters.incr("several", 7) for _ in range(100)] == list(range(7, 707, 7))
