"""Caps on what one app's calls from one address may create or start, because anyone can send an app id."""

import structlog
from django.conf import settings

from engage.http.limits import CapReached, Quota, count_for_app, count_towards, count_within
from engage.redis.metric_counters import JOURNEYS_NOT_STARTED, metric_counters

log = structlog.get_logger(__name__)


class CustomersCreatedLimitExceeded(CapReached):
    """This app's calls from this address have created too many customers."""

    code = "customers_created_limit_exceeded"
    made = "new customers"


TOO_MANY_NEW = CustomersCreatedLimitExceeded(limit=60, window_seconds=60, seconds_left=18)  # in examples


def count_customer_created(*, app_id: str, address: str) -> None:
    """Counts a new customer. Call it in the transaction that created it.

    Raises CustomersCreatedLimitExceeded, and AppQuotaExceeded.
    """
    rate: str = settings.BRIDGE_CUSTOMERS_CREATED_LIMIT
    count_towards(CustomersCreatedLimitExceeded, app_id=app_id, address=address, rate=rate)
    count_for_app(Quota.NEW_CUSTOMERS, app_id=app_id)


def count_journeys_started(*, app_id: str, address: str, number: int) -> bool:
    """Counts the entries into journeys that an event would queue. Whether the address may still start so many."""
    rate: str = settings.BRIDGE_JOURNEYS_STARTED_LIMIT
    if count_within("journeys_started", app_id=app_id, address=address, rate=rate, number=number):
        return True
    log.warning("journeys_not_started", number=number, limit=rate)
    metric_counters.count(JOURNEYS_NOT_STARTED, by=number)
    return False
