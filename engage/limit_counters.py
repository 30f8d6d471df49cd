"""Counters in Redis that fall back to counters inside the process while Redis is away."""

import time
from dataclasses import dataclass, field
from functools import cached_property
from threading import Lock
from typing import Any

import redis
import structlog
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache

from engage.metric_counters import LIMITS_ALONE, metric_counters
from engage.redis_availability import REDIS_FAILURES, redis_availability

log = structlog.get_logger(__name__)
_MOST_KNOWN = 10_000
_SAME_OUTAGE_SECONDS = 30.0
# The part of what it has counted that a process counts in advance, beyond the first of a window.
_AHEAD, _EXACT = 1 / 50, 100


class CountingAlone:
    """Tells that the process counts for itself: once in the log while an outage lasts, and how often as a metric."""

    def __init__(self) -> None:
        self._latest = float("-inf")

    def note(self) -> None:
        now = time.monotonic()
        if now - self._latest > _SAME_OUTAGE_SECONDS:
            log.warning("limits_counted_in_process")
        self._latest = now
        metric_counters.count(LIMITS_ALONE)


_counting_alone = CountingAlone()


@dataclass(slots=True)
class _Counter:
    """What this process knows of one counter: how long it lives, and how much of the total it has counted itself.

    Up to `counted_to` Redis has been told; `ahead` of that is still to be used.
    """

    seconds: int | None
    mine: int = 0
    counted_to: int = 0
    ahead: int = 0
    lock: Lock = field(default_factory=Lock)


class CounterCache(BaseCache):
    """A cache for counting only: `add`, `incr` and `get`, of which none raises.

    Django's own Redis cache makes a client per command and asks three times per increment. While Redis is away each
    process counts for itself: a limit is then looser, but there is one.

    What this process has added or found added before, it need not ask for again. And who counts often counts in
    advance: a fiftieth of what the process has counted beyond a hundred, from which the next increments are served
    without a word to Redis. No count is told lower than it is, so never is more let through than a limit allows; but a
    large limit may be reached a fiftieth too early, by what other processes have in hand. Up to 150, limits are exact.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._server = server
        self._options: dict[str, Any] = params.get("OPTIONS", {})
        self._local = LocMemCache("engage-counters", {})
        self._known: dict[str, _Counter] = {}

    @cached_property
    def _redis(self) -> "redis.Redis":
        return redis.Redis.from_url(self._server, **self._options)

    def add(self, key: str, value: Any, timeout: float | None = 300, version: int | None = None) -> bool:
        if redis_availability.is_expected():
            name, seconds = self.make_key(key, version=version), None if timeout is None else int(timeout)
            if name in self._known:
                return False
            try:
                added = bool(self._redis.set(name, value, nx=True, ex=seconds))
            except REDIS_FAILURES as error:
                redis_availability.note_failure(purpose="counters", error=error)
            else:
                self._note(name, seconds)
                return added
        added = self._local.add(key, value, timeout, version)
        if added and value:  # the first of a window
            _counting_alone.note()
        return added

    def _note(self, name: str, seconds: int | None) -> None:
        if len(self._known) >= _MOST_KNOWN:
            self._known.clear()
        self._known[name] = _Counter(seconds)

    def incr(self, key: str, delta: int = 1, version: int | None = None) -> int:
        name = self.make_key(key, version=version)
        counter = self._known.get(name) or _Counter(None)
        if redis_availability.is_expected():
            with counter.lock:
                if counter.ahead < delta:
                    try:
                        self._count_on(name, counter, delta)
                    except REDIS_FAILURES as error:
                        redis_availability.note_failure(purpose="counters", error=error)
                if counter.ahead >= delta:
                    counter.ahead -= delta
                    counter.mine += delta
                    return counter.counted_to - counter.ahead
        _counting_alone.note()
        self._local.add(key, 0, counter.seconds or DEFAULT_TIMEOUT, version)
        return self._local.incr(key, delta, version)

    def _count_on(self, name: str, counter: _Counter, delta: int) -> None:
        """Counts so much in Redis, and a part of it in advance, beside what is in hand. Raises REDIS_FAILURES."""
        more = delta - counter.ahead + max(0, int((counter.mine - _EXACT) * _AHEAD))
        counter.counted_to = int(self._redis.incr(name, more))
        counter.ahead += more
        if counter.counted_to == more and counter.seconds:  # Redis had forgotten it
            self._redis.expire(name, counter.seconds)

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        if redis_availability.is_expected():
            try:
                value = self._redis.get(self.make_key(key, version=version))
            except REDIS_FAILURES as error:
                redis_availability.note_failure(purpose="counters", error=error)
            else:
                return default if value is None else int(value)
        return self._local.get(key, default, version)
