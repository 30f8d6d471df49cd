"""Counts of all processes together: they only grow, and no outage of Redis takes any away."""

import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest

from engage.redis.metric_counters import BUCKETS, SUM, MetricCounters, all_counts
from tests.support.processes import ROOT, environment
from tests.support.waiting import wait_until


@pytest.fixture
def name() -> str:
    """What nothing else counts."""
    return f"test-{time.monotonic_ns()}"


def counted(name: str) -> dict[tuple[str, ...], int]:
    return {key[1:]: number for key, number in all_counts().items() if key[0] == name}


def test_counts_arrive_by_themselves_and_only_grow(name: str) -> None:
    metric_counters = MetricCounters()
    metric_counters.count(name, "done", by=2)
    wait_until(lambda: counted(name) == {("done",): 2}, seconds=10)
    metric_counters.count(name, "done")
    metric_counters.count(name, "failed")
    metric_counters.send()
    assert counted(name) == {("done",): 3, ("failed",): 1}


def test_a_time_counts_in_the_first_bucket_that_is_not_smaller(name: str) -> None:
    metric_counters = MetricCounters()
    for seconds in (0.0005, 0.001, 0.3, 60.0):
        metric_counters.observe(name, "GET", seconds=seconds)
    metric_counters.send()
    half, beyond = str(BUCKETS.index(0.5)), str(len(BUCKETS))
    assert counted(name) == {("GET", "0"): 2, ("GET", half): 1, ("GET", beyond): 1, ("GET", SUM): 60_301_500}


def test_times_arrive_by_themselves(name: str) -> None:
    MetricCounters().observe(name, seconds=0.5)
    wait_until(lambda: counted(name) == {(str(BUCKETS.index(0.5)),): 1, (SUM,): 500_000}, seconds=10)


def test_what_is_counted_while_redis_is_away_is_sent_once_it_is_back(name: str, settings: Any) -> None:
    metric_counters, there = MetricCounters(), settings.REDIS_URL
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    metric_counters.count(name)
    metric_counters.send()
    metric_counters.count(name)
    settings.REDIS_URL = there
    metric_counters.send()
    assert counted(name) == {(): 2}


def test_what_waits_for_redis_is_sent_although_nothing_more_is_counted(
    name: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("engage.redis.metric_counters._SECONDS_BETWEEN", 0.01)
    metric_counters, there = MetricCounters(), settings.REDIS_URL
    settings.REDIS_URL = "redis://127.0.0.1:1/0"
    metric_counters.count(name)
    time.sleep(0.1)  # it is tried in vain
    settings.REDIS_URL = there
    wait_until(lambda: counted(name) == {(): 1}, seconds=10)


def test_what_redis_received_before_it_froze_is_not_sent_again(
    name: str, settings: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Once it thaws, it counts what it received."""
    monkeypatch.setattr("engage.redis.metric_counters._PATIENCE_SECONDS", 0.2)
    metric_counters, there = MetricCounters(), settings.REDIS_URL
    with socket.create_server(("127.0.0.1", 0)) as listening, ThreadPoolExecutor(1) as pool:
        listening.settimeout(10)
        received = pool.submit(freeze_after_ping, listening)
        settings.REDIS_URL = f"redis://127.0.0.1:{listening.getsockname()[1]}/0"
        metric_counters.count(name, by=5)
        metric_counters.send()
        assert name.encode() in received.result(timeout=10)
    settings.REDIS_URL = there
    metric_counters.send()
    assert counted(name) == {}


def freeze_after_ping(listening: socket.socket) -> bytes:
    """Plays a Redis that answers what a client says first, and then freezes; what it received."""
    received = b""
    with listening.accept()[0] as client:
        client.settimeout(10)
        while b"EXEC" not in received and (said := client.recv(65536)):
            received += said
            if b"HINCRBY" not in received:
                hello = b"%1\r\n$5\r\nproto\r\n:3\r\n"  # as in the third version of its protocol
                client.sendall(hello if b"HELLO" in said else b"+PONG\r\n" * said.count(b"*"))
        client.recv(1)  # until the client gives up
    return received


@pytest.mark.slow
def test_a_redis_that_is_frozen_costs_nothing_but_time(name: str, settings: Any) -> None:
    metric_counters, there = MetricCounters(), settings.REDIS_URL
    with socket.create_server(
        ("127.0.0.1", 0)
    ) as frozen:  # takes connections, as the kernel does for a stopped process
        settings.REDIS_URL = f"redis://127.0.0.1:{frozen.getsockname()[1]}/0"
        metric_counters.count(name, by=5)
        metric_counters.send()
    settings.REDIS_URL = there
    metric_counters.send()
    assert counted(name) == {(): 5}


@pytest.mark.slow
def test_processes_count_together_and_one_that_ends_sends_its_last(name: str) -> None:
    count = f"from engage.redis.metric_counters import metric_counters; metric_counters.count({name!r}, by=2)"
    code = f"import django; django.setup(); {count}"
    process = {"DJANGO_SETTINGS_MODULE": "config.settings", **environment()}
    for _ in range(2):
        subprocess.run([sys.executable, "-c", code], check=True, cwd=ROOT, env=process)
    assert counted(name) == {(): 4}
