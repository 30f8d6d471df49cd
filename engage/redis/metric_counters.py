"""Counters for a monitoring system, summed over all processes and machines.

Each process adds up in memory, and a background call sends the sums, if any, to one hash in Redis every two seconds. So
counting costs a dictionary entry and no round trip. Counts only grow, and outlive the processes. If Redis is wiped they
start from zero, which Prometheus treats as a restart. While Redis is down the sums wait. Only a process that is killed
loses its last two seconds.
"""

import os
import threading
from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from multiprocessing.util import Finalize

import redis

from engage.redis.availability import REDIS_FAILURES, redis_client, redis_key
from engage.redis.background import BackgroundCall

# What is counted: the first part of a name. Its labels follow; each has few values.
DECISIONS = "decisions"  # result
GIVEN_UP = "given_up"  # enrollments
WEBHOOKS = "webhooks"  # the attempt's result
LIMITS_ALONE = "limits_alone"
JOURNEYS_NOT_STARTED = "journeys_not_started"
APP_QUOTA = "app_quota"  # what was used up
MESSAGE_POLICY = "message_policy"  # the policy, and what a message does not allow
IDENTITY = "identity"  # whether it is enforced, and what is wrong with the token
IN_APP = "in_app"  # what became of a delivery
SKIPPED = "skipped"  # messages
REQUESTS = "requests"  # method, route, status; then the bucket, or SUM
REFUSALS = "refusals"  # code
DECISION_WAITS = "decision_waits"  # lane; then the bucket, or SUM
FIRST_ATTEMPT_WAITS = "first_attempt_waits"  # the bucket, or SUM
EVENTS_MISSED = "events_missed"  # by journeys that listen: the reason

SUM = "sum"
# In seconds. An observation counts in the first bucket that is not smaller, or in an extra one beyond the last.
BUCKETS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0)
WAIT_BUCKETS = (0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0, 300.0, 900.0)
MICROSECONDS = 1_000_000  # per second; SUM is in microseconds

# What is counted for each day, and kept for KEPT_DAYS: the second part of the name is the day.
MESSAGE_REFUSALS = "message_refusals"  # the workspace, the message's row ("" for unknown messages), the reason
IDENTITY_REFUSALS = "identity_refusals"  # the app, the reason
WORKSPACE_REFUSALS = "workspace_refusals"  # the workspace, the code
KEPT_DAYS = 8
_DAILY = {MESSAGE_REFUSALS, IDENTITY_REFUSALS, WORKSPACE_REFUSALS}

Name = tuple[str, ...]
_HASH = "engage:metric_counters"
_SEPARATOR = "\t"
_SEND = "send"
_SECONDS_BETWEEN = 2.0
_LAST_TRIES = 2
_SECONDS_OF_A_DAY = 86_400
_PATIENCE_SECONDS = 1.0  # only readers of the counts wait for it


class MetricCounters:
    """What one process has counted and not yet sent."""

    def __init__(self) -> None:
        self._background_send = BackgroundCall[str](self._send_and_ask_again, rest_seconds=_SECONDS_BETWEEN)
        self.begin_anew()

    def begin_anew(self) -> None:
        """Forgets everything: a forked process counts for itself."""
        self._lock, self._sending = threading.Lock(), threading.Lock()
        self._sums: Counter[Name] = Counter()

    def count(self, *name: str, by: int = 1) -> None:
        """Adds to the count of this name, which is what is counted, followed by its labels."""
        with self._lock:
            self._sums[name] += by
        self._background_send.ask(_SEND)

    def observe(self, *name: str, seconds: float) -> None:
        """Counts one observation in its bucket, and adds its duration to SUM."""
        bucket, took = (*name, str(bisect_left(BUCKETS, seconds))), (*name, SUM)
        with self._lock:
            self._sums[bucket] += 1
            self._sums[took] += int(seconds * MICROSECONDS)
        self._background_send.ask(_SEND)

    def observe_waits(self, *name: str, seconds: Sequence[float]) -> None:
        """The same for many observations at once, in the buckets of waits."""
        buckets = Counter(bisect_left(WAIT_BUCKETS, one) for one in seconds)
        with self._lock:
            for bucket, number in buckets.items():
                self._sums[*name, str(bucket)] += number
            self._sums[*name, SUM] += int(sum(seconds) * MICROSECONDS)
        self._background_send.ask(_SEND)

    def _send_and_ask_again(self, _: str) -> None:
        self.send()
        if self._sums:
            self._background_send.ask(_SEND)

    def send(self) -> None:
        """Sends the sums, and returns once they are in Redis. While Redis is down they are kept.

        Sums that Redis received without answering, because it froze, are not sent again: it counts them once it thaws.
        """
        with self._sending:
            self._send()

    def _send(self) -> None:
        with self._lock:
            sums, self._sums = self._sums, Counter()
        if not sums:
            return
        try:
            with _client() as client:
                client.ping()
                _add(client, sums)
        except REDIS_FAILURES:
            with self._lock:
                self._sums.update(sums)

    def send_last(self) -> None:
        """Sends before the process ends. Tries more than once, because there is no later chance."""
        for _ in range(_LAST_TRIES):
            self.send()
            if not self._sums:
                return


def _add(client: "redis.Redis", sums: Mapping[Name, int]) -> None:
    pipeline = client.pipeline(transaction=True)
    for name, number in sums.items():
        pipeline.hincrby(_hash_of(name), _SEPARATOR.join(name), number)
        if name[0] in _DAILY:
            pipeline.expire(_hash_of(name), KEPT_DAYS * _SECONDS_OF_A_DAY)
    try:
        pipeline.execute()
    except redis.TimeoutError:
        return


def _hash_of(name: Name) -> str:
    return redis_key(f"engage:{name[0]}:{name[1]}" if name[0] in _DAILY else _HASH)


def _client() -> "redis.Redis":
    return redis_client(timeout=_PATIENCE_SECONDS, decode_responses=True)


def all_counts() -> dict[Name, int]:
    """The counts that all processes have sent, by name. Raises REDIS_FAILURES."""
    with _client() as client:
        counts: Mapping[str, str] = client.hgetall(redis_key(_HASH))
    return {tuple(name.split(_SEPARATOR)): int(number) for name, number in counts.items()}


def daily_counts(kind: str, *, until: date, number: int = KEPT_DAYS) -> dict[Name, int]:
    """What was counted for each of the last days, at most KEPT_DAYS, by name. Raises REDIS_FAILURES."""
    days = [until - timedelta(days=back) for back in range(number)]
    with _client() as client:
        pipeline = client.pipeline(transaction=False)
        for day in days:
            pipeline.hgetall(_hash_of((kind, day.isoformat())))
        found: list[Mapping[str, str]] = pipeline.execute()
    return {tuple(name.split(_SEPARATOR)): int(number) for counts in found for name, number in counts.items()}


metric_counters = MetricCounters()
os.register_at_fork(after_in_child=metric_counters.begin_anew)
# Unlike atexit, also in processes of the multiprocessing module, as those of some servers are.
Finalize(None, metric_counters.send_last, exitpriority=0)
