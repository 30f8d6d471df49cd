"""The last seven days: today and the six before it, in UTC."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

from engage.redis.availability import REDIS_FAILURES
from engage.redis.metric_counters import Name, daily_counts

DAYS = 7


def since(now: datetime) -> datetime:
    """When the first of them began."""
    today = now.astimezone(UTC).replace(hour=0, minute=0, second=0, microsecond=0)
    return today - timedelta(days=DAYS - 1)


def counted_lately(kind: str, *, now: datetime) -> Mapping[Name, int] | None:
    """What was counted for these days, by name (engage/redis/metric_counters.py); None while Redis is away."""
    first = since(now).date().isoformat()
    try:
        counted = daily_counts(kind, until=now.date())
    except REDIS_FAILURES:
        return None
    return {name: number for name, number in counted.items() if name[1] >= first}
