"""What all callers of one app together may do in a day: anybody can send its id, from as many addresses as they have.

Counted in Redis, from midnight UTC. The limits are settings, far above what an app's people do.
"""

import threading
from collections import Counter
from collections.abc import Mapping
from enum import StrEnum

from django.conf import settings
from django.core.cache import caches

from engage.errors import Refusal
from engage.http.caps import add_to, seconds_left, window
from engage.redis.availability import REDIS_FAILURES, redis_client
from engage.redis.metric_counters import APP_QUOTA, metric_counters
from engage.sizes import KIB

_DAY = 86_400  # seconds
_SMALL_SHARE = 10_000
_MOST_TOGETHER = 50


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
        return f"quota:{self.name}:{window(_DAY)}:{app_id}"


class AppQuotaExceeded(Refusal):
    """All calls of this app together have done what they may do in a day."""

    status = 429
    error = "Rate limit exceeded"
    code = "app_quota_exceeded"

    def __init__(self, quota: Quota) -> None:
        super().__init__(
            f"This app has had its {quota.limit} {quota} of today. The next day begins at midnight UTC.",
            headers={"Retry-After": str(seconds_left(_DAY))},
        )


def count_for_app(quota: Quota, *, app_id: str, number: int = 1) -> None:
    """Adds to the app's count of today. Raises AppQuotaExceeded."""
    if add_to(quota.counter(app_id), number, seconds=_DAY) > quota.limit:
        metric_counters.count(APP_QUOTA, quota)
        raise AppQuotaExceeded(quota)


class _Uncounted(threading.local):
    """What this thread has let through and not yet counted in Redis: the app, calls and KiB."""

    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.kib: Counter[str] = Counter()


_uncounted = _Uncounted()


def count_bridge_call(*, app_id: str, kib: int) -> None:
    """Counts a call and the KiB of its body for the app. Raises AppQuotaExceeded.

    A thread counts a few calls together, so a quota may be exceeded by a thousandth; one below 10,000 is exact.
    """
    calls, kibs = _uncounted.calls, _uncounted.kib
    calls[app_id] += 1
    kibs[app_id] += kib
    together = min(settings.BRIDGE_APP_DAILY_CALLS, settings.BRIDGE_APP_DAILY_KIB) // _SMALL_SHARE
    if calls[app_id] >= min(together, _MOST_TOGETHER):
        number, size = calls.pop(app_id), kibs.pop(app_id)
        count_for_app(Quota.CALLS, app_id=app_id, number=number)
        count_for_app(Quota.KIB, app_id=app_id, number=size)


def kib_of(size: int) -> int:
    """KiB that were begun."""
    return -(-size // KIB)


def counted_today(app_id: str) -> Mapping[Quota, int] | None:
    """How much of each quota the app has used today; None while Redis is away."""
    cache = caches[settings.RATELIMIT_USE_CACHE]
    try:
        with redis_client() as client:
            counts = client.mget([cache.make_key(quota.counter(app_id)) for quota in Quota])
    except REDIS_FAILURES:
        return None
    return {quota: int(count or 0) for quota, count in zip(Quota, counts, strict=True)}
