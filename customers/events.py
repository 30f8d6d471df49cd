"""Record what a customer did."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from customers.models import Customer, Event

MAX_EVENT_NAME_LENGTH = 255


def record_event(
    *,
    customer: Customer,
    name: str,
    properties: Mapping[str, Any],
    source: Event.Source,
    now: datetime,
) -> Event:
    """The event, as recorded. `name` has 1 to MAX_EVENT_NAME_LENGTH characters.

    What an event leads to is up to the caller, who has the customer and may be in a transaction.
    """
    return Event.objects.create(
        workspace_id=customer.workspace_id,
        customer=customer,
        name=name,
        properties=dict(properties),
        source=source,
        occurred_at=now,
    )
