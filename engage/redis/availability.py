"""Whether Redis is worth asking right now.

Redis carries only wake-ups and counters. After a failure it is avoided for a moment, so that a frozen Redis costs a
process one timeout, not one per request.
"""

import time
from typing import Any

import redis
import structlog
from django.conf import settings
from redis.backoff import NoBackoff
from redis.exceptions import RedisError
from redis.retry import Retry

log = structlog.get_logger(__name__)
_AVOID_SECONDS = 2.0
_WRITTEN = "engage:written"

# What the clients raise while Redis is unreachable, frozen, loading or full.
REDIS_FAILURES = (RedisError, OSError)


def redis_client(url: str = "", *, timeout: float | None = None, **options: Any) -> redis.Redis:
    """A client that never retries; by default of our Redis, with the timeout for web requests."""
    patience = settings.REDIS_TIMEOUT if timeout is None else timeout
    return redis.Redis.from_url(
        url or settings.REDIS_URL,
        socket_timeout=patience,
        socket_connect_timeout=patience,
        retry=Retry(NoBackoff(), 0),
        **options,
    )


def redis_key(name: str) -> str:
    """The key's name in Redis, which other environments may use as well."""
    return f"{settings.REDIS_PREFIX}{name}"


def redis_takes_writes() -> bool:
    """Whether Redis answers and takes writes. One that is full, or a replica, answers and is as useless as none."""
    with redis_client() as client:
        return takes_writes(client)


def takes_writes(client: redis.Redis) -> bool:
    """The same, with a client that is kept."""
    try:
        return bool(client.set(redis_key(_WRITTEN), "", px=1))
    except REDIS_FAILURES:
        return False


class _Availability:
    def __init__(self) -> None:
        self._avoid_until = 0.0

    def is_expected(self) -> bool:
        """Whether Redis may be asked: it has not just failed."""
        return time.monotonic() >= self._avoid_until

    def avoid(self) -> None:
        """Avoids Redis for a moment."""
        self._avoid_until = time.monotonic() + _AVOID_SECONDS

    def note_failure(self, *, purpose: str, error: BaseException) -> None:
        """Avoids Redis for a moment, and logs the failure."""
        self.avoid()
        log.warning("redis_unreachable", purpose=purpose, error=type(error).__name__)

    def reset(self) -> None:
        """Forgets any failure; for tests."""
        self._avoid_until = 0.0


redis_availability = _Availability()
