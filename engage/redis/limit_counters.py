"""Counters in Redis that fall back to counters inside the process while Redis is away."""

import time
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import redis
import structlog
from django.core.cache.backends.base import DEFAULT_TIMEOUT, BaseCache
from django.core.cache.backends.locmem import LocMemCache

from engage.redis.availability import REDIS_FAILURES, redis_availability, redis_client
from engage.redis.metric_counters import LIMITS_ALONE, metric_counters

log = structlog.get_logger(__name__)
_MOST_KNOWN = 10_000
_SAME_OUTAGE_SECONDS = 30.0
_COUNTED_EXACTLY = 100  # by a thread in a window, before it counts in advance
_SHARE_AHEAD = 1 / 50  # of what it has counted beyond these


class CountingAlone:
    """Reports that this process counts on its own: once per outage in the log, and every time as a metric."""

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
    """A thread's view of one counter: its lifetime in seconds, and `mine`, the thread's own share of the total.

    `counted_to` is the total in Redis after the thread's last increment; `ahead` of it is still unused.
    """

    seconds: int | None
    mine: int = 0
    counted_to: int = 0
    ahead: int = 0


class CounterCache(BaseCache):
    """A cache for counting only: `add`, `incr` and `get`, none of which raises.

    Django's own Redis cache creates a client per command and sends three commands per increment. While Redis is down,
    each process counts on its own: limits are looser then, but they still apply.

    Django makes one of these for each thread, so what it knows needs no lock. A counter that the thread has added or
    found present is not added again. A thread that counts often counts in advance: a fiftieth of what it has counted
    beyond a hundred, from which it serves the next increments without Redis. No count is reported too low, so no more
    is let through than the limit allows. But a large limit may be reached a fiftieth too early, because of what other
    threads hold in advance. Limits of up to 150 are exact.
    """

    def __init__(self, server: str, params: dict[str, Any]) -> None:
        super().__init__(params)
        self._server = server
        self._local = LocMemCache("engage-counters", {"max_entries": _MOST_KNOWN})  # shared by all threads
        self._known: dict[str, _Counter] = {}

    @cached_property
    def _redis(self) -> "redis.Redis":
        return redis_client(self._server)

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
        seconds = counter.seconds or DEFAULT_TIMEOUT
        self._local.add(key, 0, seconds, version)
        try:
            return self._local.incr(key, delta, version)
        except ValueError:  # another thread's counter has just taken this one's place
            self._local.set(key, delta, seconds, version)
            return delta

    def get(self, key: str, default: Any = None, version: int | None = None) -> Any:
        """The total, with what threads hold in advance."""
        if redis_availability.is_expected():
            try:
                found = self._redis.get(self.make_key(key, version=version))
            except REDIS_FAILURES as error:
                redis_availability.note_failure(purpose="counters", error=error)
            else:
                return default if found is None else int(found)
        return self._local.get(key, default, version)

    def _count_on(self, name: str, counter: _Counter, delta: int) -> None:
        """Adds to Redis what `delta` needs beyond `ahead`, and a share in advance. Raises REDIS_FAILURES."""
        more = delta - counter.ahead + max(0, int((counter.mine - _COUNTED_EXACTLY) * _SHARE_AHEAD))
        counter.counted_to = int(self._redis.incr(name, more))
        counter.ahead += more
        if counter.counted_to == more and counter.seconds:  # Redis had lost the counter, and with it its expiry
            self._redis.expire(name, counter.seconds)
