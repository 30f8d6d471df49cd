"""Caps on what one app's calls from one address may create, because anyone can send an app id."""

from django.conf import settings

from engage.caps import CapReached, count_towards


class CustomersCreatedLimitExceeded(CapReached):
    """This app's calls from this address have created too many customers."""

    code = "customers_created_limit_exceeded"
    made = "new customers"


class JourneysStartedLimitExceeded(CapReached):
    """This app's calls from this address have started too many journeys."""

    code = "journeys_started_limit_exceeded"
    made = "started journeys"


def count_customer_created(*, app_id: str, address: str) -> None:
    """Counts a new customer. Call it in the transaction that created it. Raises CustomersCreatedLimitExceeded."""
    rate: str = settings.BRIDGE_CUSTOMERS_CREATED_LIMIT
    count_towards(CustomersCreatedLimitExceeded, caller=f"{app_id} {address}", rate=rate)


def count_journeys_started(*, app_id: str, address: str, number: int) -> None:
    """Counts started journeys. Call it in the transaction that queued the jobs. Raises JourneysStartedLimitExceeded."""
    if number:
        rate: str = settings.BRIDGE_JOURNEYS_STARTED_LIMIT
        count_towards(JourneysStartedLimitExceeded, caller=f"{app_id} {address}", rate=rate, number=number)
