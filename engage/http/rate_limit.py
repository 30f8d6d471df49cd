"""The limit on how often a caller may call, counted by django-ratelimit and reported in headers.

Uses only `get_usage()` of django-ratelimit, because its decorator answers 403 without headers.
"""

import time
from dataclasses import dataclass

from django.http import HttpRequest
from django_ratelimit.core import get_usage

from engage.errors import Refusal
from engage.plurals import counted


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


class RateLimitExceeded(Refusal):
    """The caller has used up its calls in this window."""

    status = 429
    error = "Rate limit exceeded"

    def __init__(self, usage: Usage) -> None:
        super().__init__(
            f"More than {counted(usage.limit, 'call')} in {counted(usage.window_seconds, 'second')}. "
            f"Try again in {counted(usage.seconds_left, 'second')}.",
            headers={"Retry-After": str(usage.seconds_left)},
        )
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
