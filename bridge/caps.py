"""What the calls of one app from one address may make: anyone can send an app id."""

from django.conf import settings

from engage.caps import CapReached, count_towards


class CustomersCreatedLimitExceeded(CapReached):
    """The app's calls from this address created as many customers as they may."""

    code = "customers_created_limit_exceeded"
    made = "new customers"


class JourneysStartedLimitExceeded(CapReached):
    """The app's calls from this address started as many journeys as they may."""

    code = "journeys_started_limit_exceeded"
    made = "started journeys"


def count_customer_created(*, app_id: str, address: str) -> None:
    """Call it in the transaction that created one. Raises CustomersCreatedLimitExceeded."""
    rate: str = settings.BRIDGE_CUSTOMERS_CREATED_LIMIT
    count_towards(CustomersCreatedLimitExceeded, caller=f"{app_id} {address}", rate=rate)


def count_journeys_started(*, app_id: str, address: str, number: int) -> None:
    """Call it in the transaction that queued as many jobs. Raises JourneysStartedLimitExceeded."""
    if number:
        rate: str = settings.BRIDGE_JOURNEYS_STARTED_LIMIT
        count_towards(JourneysStartedLimitExceeded, caller=f"{app_id} {address}", rate=rate, number=number)
