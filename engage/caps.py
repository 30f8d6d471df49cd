"""Caps on what a caller makes, beside the limit on how often it calls."""

import hashlib
import time
from typing import ClassVar

from django.conf import settings
from django.core.cache import caches

from engage.errors import Refusal
from engage.rates import parse_rate


class CapReached(Refusal):
    """A subclass per cap says in `made` what is counted."""

    status = 429
    error = "Rate limit exceeded"
    made: ClassVar[str]

    def __init__(self, *, limit: int, window_seconds: int, seconds_left: int) -> None:
        super().__init__(
            f"More than {limit} {self.made} in {window_seconds} seconds. Try again in {seconds_left} seconds.",
            headers={"Retry-After": str(seconds_left)},
        )


def count_towards(cap: type[CapReached], *, caller: str, rate: str, number: int = 1) -> None:
    """Counts so many made by the caller in this window. Raises the cap where that is more than the rate ("60/m") says.

    To be called before the commit of what was made, so that nothing of it stays.
    """
    limit, window_seconds = parse_rate(rate)
    window, passed = divmod(int(time.time()), window_seconds)
    name = f"cap:{cap.code}:{window}:{hashlib.sha256(caller.encode()).hexdigest()}"
    counters = caches[settings.RATELIMIT_USE_CACHE]
    counters.add(name, 0, timeout=window_seconds + 1)
    if counters.incr(name, number) > limit:
        raise cap(limit=limit, window_seconds=window_seconds, seconds_left=window_seconds - passed)
