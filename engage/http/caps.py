"""Caps on what calls from one address create or try, in addition to the limit on how often it calls."""

import hashlib
import time
from typing import ClassVar

from django.conf import settings
from django.core.cache import caches

from engage.errors import Refusal
from engage.http.client_address import site_of
from engage.plurals import counted
from engage.rates import parse_rate

SITE_FACTOR = 10  # how many callers a site may be as busy as


class CapReached(Refusal):
    """The base of caps: each subclass names what it counts in `made`."""

    status = 429
    error = "Rate limit exceeded"
    made: ClassVar[str]

    def __init__(self, *, limit: int, window_seconds: int, seconds_left: int) -> None:
        super().__init__(
            f"More than {limit} {self.made} in {counted(window_seconds, 'second')}. "
            f"Try again in {counted(seconds_left, 'second')}.",
            headers={"Retry-After": str(seconds_left)},
        )


def count_towards(cap: type[CapReached], *, address: str, rate: str, app_id: str = "") -> None:
    """Adds one to this address's count, for the app if any. Raises the cap if that exceeds the rate ("60/m").

    Call it before the commit, so that a raised cap rolls back what was created.
    """
    if not count_within(cap.code, app_id=app_id, address=address, rate=rate):
        limit, window_seconds = parse_rate(rate)
        raise cap(limit=limit, window_seconds=window_seconds, seconds_left=seconds_left(window_seconds))


def count_within(counted: str, *, address: str, rate: str, app_id: str = "", number: int = 1) -> bool:
    """Adds `number` to the count of what is `counted` for calls (of the app, if any) from this address, in this window.

    Whether it stays within the rate. A whole IPv6 site counts as a caller, too.
    """
    site = site_of(address)
    of_site = site is None or _count_within(counted, f"{app_id} {site}", rate, number=number, factor=SITE_FACTOR)
    return _count_within(counted, f"{app_id} {address}", rate, number=number) and of_site


def counted_so_far(counted: str, *, address: str, rate: str, app_id: str = "") -> int:
    """What `count_within` has counted in this window, of the address alone; adds nothing."""
    _, window_seconds = parse_rate(rate)
    return int(caches[settings.RATELIMIT_USE_CACHE].get(_name(counted, f"{app_id} {address}", window_seconds), 0))


def _count_within(counted: str, caller: str, rate: str, *, number: int, factor: int = 1) -> bool:
    limit, window_seconds = parse_rate(rate)
    name = _name(counted, caller, window_seconds)
    return add_to(name, number, seconds=window_seconds + 1) <= limit * factor


def _name(counted: str, caller: str, window_seconds: int) -> str:
    return f"cap:{counted}:{window(window_seconds)}:{hashlib.sha256(caller.encode()).hexdigest()}"


# What quotas (app_quotas.py) share.


def add_to(counter: str, number: int, *, seconds: int) -> int:
    """Adds to a counter, which is forgotten after so many seconds; its total then."""
    counters = caches[settings.RATELIMIT_USE_CACHE]
    counters.add(counter, 0, timeout=seconds)
    return int(counters.incr(counter, number))


def window(seconds: int) -> int:
    """The number of the present window of so many seconds."""
    return int(time.time()) // seconds


def seconds_left(seconds: int) -> int:
    """Until the present window of so many seconds ends."""
    return seconds - int(time.time()) % seconds
