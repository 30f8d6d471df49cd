"""Caps on what a caller creates, in addition to the limit on how often it calls."""

import hashlib
import time
from typing import ClassVar

from django.conf import settings
from django.core.cache import caches

from engage.errors import Refusal
from engage.rates import parse_rate


class CapReached(Refusal):
    """The base of caps: each subclass names what it counts in `made`."""

    status = 429
    error = "Rate limit exceeded"
    made: ClassVar[str]

    def __init__(self, *, limit: int, window_seconds: int, seconds_left: int) -> None:
        super().__init__(
            f"More than {limit} {self.made} in {window_seconds} seconds. Try again in {seconds_left} seconds.",
            headers={"Retry-After": str(seconds_left)},
        )


def count_towards(cap: type[CapReached], *, caller: str, rate: str) -> None:
    """Adds one to the caller's count in this window. Raises the cap if that exceeds the rate ("60/m").

    Call it before the commit, so that a raised cap rolls back what was created.
    """
    if not count_within(cap.code, caller=caller, rate=rate):
        limit, window_seconds = parse_rate(rate)
        seconds_left = window_seconds - int(time.time()) % window_seconds
        raise cap(limit=limit, window_seconds=window_seconds, seconds_left=seconds_left)


def count_within(counted: str, *, caller: str, rate: str, number: int = 1) -> bool:
    """Adds `number` to the caller's count of what is `counted`, in this window. Whether it stays within the rate."""
    limit, window_seconds = parse_rate(rate)
    window = int(time.time()) // window_seconds
    name = f"cap:{counted}:{window}:{hashlib.sha256(caller.encode()).hexdigest()}"
    counters = caches[settings.RATELIMIT_USE_CACHE]
    counters.add(name, 0, timeout=window_seconds + 1)
    return int(counters.incr(name, number)) <= limit
