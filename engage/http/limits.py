"""How much may be done in a window of time; what is beyond is refused with 429, and told when the window ends.

- Calls of one caller, which answers report in headers. Of django-ratelimit, which counts them, only `get_usage()` is
  used: its decorator answers 403 without headers.
- What calls from one address create or try ("60/m").
- What all callers of one app do in a day, from midnight UTC: anybody can send its id, from as many addresses as they
  have. The limits are settings, far above what an app's people do.
"""

import hashlib
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import ClassVar

from django.conf import settings
from django.core.cache import caches
from django.http import HttpRequest
from django_ratelimit.core import get_usage

from engage.errors import Refusal
from engage.http.client_address import site_of
from engage.notations.plurals import counted
from engage.notations.rates import parse_rate
from engage.notations.sizes import KIB
from engage.redis.availability import REDIS_FAILURES, redis_client
from engage.redis.metric_counters import APP_QUOTA, metric_counters

_SITE_FACTOR = 10  # how many callers a site may be as busy as
_DAY = 86_400  # seconds
_SMALL_SHARE = 10_000
_MOST_TOGETHER = 50


class LimitReached(Refusal):
    """The base: `most` of what was done ("100 calls") is all that may be done in this window."""

    status = 429
    error = "Rate limit exceeded"

    def __init__(self, most: str, *, window_seconds: int, seconds_left: int) -> None:
        super().__init__(
            f"More than {most} in {counted(window_seconds, 'second')}. Try again in {counted(seconds_left, 'second')}.",
            headers={"Retry-After": str(seconds_left)},
        )


def networks_of(address: str) -> Iterator[tuple[str, int]]:
    """What is counted for a call from this address, and how many callers each may be as busy as.

    The address itself comes first. A whole IPv6 site counts as a caller, too.
    """
    yield address, 1
    if site := site_of(address):
        yield site, _SITE_FACTOR


def _add_to(counter: str, number: int, *, seconds: int) -> int:
    """Adds to a counter, which is forgotten after so many seconds; its total then."""
    counters = caches[settings.RATELIMIT_USE_CACHE]
    counters.add(counter, 0, timeout=seconds)
    return int(counters.incr(counter, number))


def _window(seconds: int) -> int:
    """The number of the present window of so many seconds."""
    return int(time.time()) // seconds


def _seconds_left(seconds: int) -> int:
    """Until the present window of so many seconds ends."""
    return seconds - int(time.time()) % seconds


@dataclass(frozen=True)
class Usage:
    """One caller's count in the current window, which ends in `seconds_left`, at the Unix time `resets_at`."""

    policy: str
    limit: int
    window_seconds: int
    remaining: int
    seconds_left: int
    resets_at: int

    def headers(self) -> dict[str, str]:
        """The common `X-RateLimit` headers, and those of the IETF draft."""
        return {
            "X-RateLimit-Limit": str(self.limit),
            "X-RateLimit-Remaining": str(self.remaining),
            "X-RateLimit-Reset": str(self.resets_at),
            "RateLimit-Policy": f'"{self.policy}";q={self.limit};w={self.window_seconds}',
            "RateLimit": f'"{self.policy}";r={self.remaining};t={self.seconds_left}',
        }


class RateLimitExceeded(LimitReached):
    """The caller has used up its calls in this window."""

    def __init__(self, usage: Usage) -> None:
        calls = counted(usage.limit, "call")
        super().__init__(calls, window_seconds=usage.window_seconds, seconds_left=usage.seconds_left)
        self.usage = usage


def count_call(request: HttpRequest, *, policy: str, caller: str, limit: int, window_seconds: int) -> Usage:
    """Counts this call towards the caller's limit under the policy. Raises RateLimitExceeded, which has the usage."""
    counted = get_usage(
        request, group=policy, key=lambda _group, _request: caller, rate=(limit, window_seconds), increment=True
    )
    seconds_left = max(1, counted["time_left"] + 1)  # time_left ends when the window's last second begins
    usage = Usage(
        policy=policy,
        limit=limit,
        window_seconds=window_seconds,
        remaining=max(0, limit - counted["count"]),
        seconds_left=seconds_left,
        resets_at=int(time.time()) + seconds_left,
    )
    if counted["should_limit"]:
        raise RateLimitExceeded(usage)
    return usage


class CapReached(LimitReached):
    """The base of caps: each subclass names what it counts in `made`."""

    made: ClassVar[str]

    def __init__(self, *, limit: int, window_seconds: int, seconds_left: int) -> None:
        super().__init__(f"{limit} {self.made}", window_seconds=window_seconds, seconds_left=seconds_left)


def count_towards(cap: type[CapReached], *, address: str, rate: str, app_id: str = "") -> None:
    """Adds one to this address's count, for the app if any. Raises the cap if that exceeds the rate ("60/m").

    Call it before the commit, so that a raised cap rolls back what was created.
    """
    if not count_within(cap.code, app_id=app_id, address=address, rate=rate):
        limit, window_seconds = parse_rate(rate)
        raise cap(limit=limit, window_seconds=window_seconds, seconds_left=_seconds_left(window_seconds))


def count_within(counted: str, *, address: str, rate: str, app_id: str = "", number: int = 1) -> bool:
    """Adds `number` to the count of what is `counted` for calls (of the app, if any) from this address, in this window.

    Whether it stays within the rate.
    """
    limit, seconds = parse_rate(rate)
    totals = [
        (_add_to(_cap(counted, f"{app_id} {network}", seconds), number, seconds=seconds + 1), limit * factor)
        for network, factor in networks_of(address)
    ]
    return all(total <= most for total, most in totals)


def counted_so_far(counted: str, *, address: str, rate: str, app_id: str = "") -> int:
    """What `count_within` has counted in this window, of the address alone; adds nothing."""
    _, window_seconds = parse_rate(rate)
    return int(caches[settings.RATELIMIT_USE_CACHE].get(_cap(counted, f"{app_id} {address}", window_seconds), 0))


def _cap(counted: str, caller: str, window_seconds: int) -> str:
    return f"cap:{counted}:{_window(window_seconds)}:{hashlib.sha256(caller.encode()).hexdigest()}"


class Quota(StrEnum):
    """What is counted, under the name that its refusal and its metric tell."""

    CALLS = "calls"
    NEW_CUSTOMERS = "new customers"
    KIB = "KiB of bodies"

    @property
    def limit(self) -> int:
        return {
            Quota.CALLS: settings.BRIDGE_APP_DAILY_CALLS,
            Quota.NEW_CUSTOMERS: settings.BRIDGE_APP_DAILY_NEW_CUSTOMERS,
            Quota.KIB: settings.BRIDGE_APP_DAILY_KIB,
        }[self]

    def counter(self, app_id: str) -> str:
        return f"quota:{self.name}:{_window(_DAY)}:{app_id}"


class AppQuotaExceeded(Refusal):
    """All calls of this app together have done what they may do in a day."""

    status = 429
    error = "Rate limit exceeded"
    code = "app_quota_exceeded"

    def __init__(self, quota: Quota) -> None:
        super().__init__(
            f"This app has had its {quota.limit} {quota} of today. The next day begins at midnight UTC.",
            headers={"Retry-After": str(_seconds_left(_DAY))},
        )


def count_for_app(quota: Quota, *, app_id: str, number: int = 1) -> None:
    """Adds to the app's count of today. Raises AppQuotaExceeded."""
    if _add_to(quota.counter(app_id), number, seconds=_DAY) > quota.limit:
        metric_counters.count(APP_QUOTA, quota)
        raise AppQuotaExceeded(quota)


class _Uncounted(threading.local):
    """What this thread has let through and not yet counted in Redis: calls and KiB, by app."""

    def __init__(self) -> None:
        self.apps: dict[str, tuple[int, int]] = {}


_uncounted = _Uncounted()


def count_bridge_call(*, app_id: str, size: int) -> None:
    """Counts a call and the KiB that its body of so many bytes has begun for the app. Raises AppQuotaExceeded.

    A thread counts a few calls together, so a quota may be exceeded by a thousandth; one below 10,000 is exact.
    """
    calls, kib = _uncounted.apps.pop(app_id, (0, 0))
    calls, kib = calls + 1, kib - (-size // KIB)
    together = min(settings.BRIDGE_APP_DAILY_CALLS, settings.BRIDGE_APP_DAILY_KIB) // _SMALL_SHARE
    if calls < min(together, _MOST_TOGETHER):
        _uncounted.apps[app_id] = calls, kib
        return
    count_for_app(Quota.CALLS, app_id=app_id, number=calls)
    count_for_app(Quota.KIB, app_id=app_id, number=kib)


def counted_today(app_id: str) -> Mapping[Quota, int] | None:
    """How much of each quota the app has used today; None while Redis is away."""
    cache = caches[settings.RATELIMIT_USE_CACHE]
    try:
        with redis_client() as client:
            counts = client.mget([cache.make_key(quota.counter(app_id)) for quota in Quota])
    except REDIS_FAILURES:
        return None
    return {quota: int(count or 0) for quota, count in zip(Quota, counts, strict=True)}
