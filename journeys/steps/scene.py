"""What the steps of one enrollment read and change."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from customers.conditions import CustomerFacts, Facts


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """The event that last started or moved the enrollment."""

    name: str
    properties: Mapping[str, Any]


@dataclass(kw_only=True)
class Scene:
    """One enrollment at one moment. A step that writes attributes replaces `customer`: later steps see what it wrote.

    `now` is aware and in UTC. `chain` counts the links of events that led here; an API call is 0 links away.
    """

    journey_id: str
    journey_name: str
    enrollment_id: str
    customer: CustomerFacts
    payload: Mapping[str, Any]
    event: Occurrence | None
    chain: int
    now: datetime

    def facts(self) -> Facts:
        """What conditions may speak of."""
        if self.event is None:
            return Facts(customer=self.customer, payload=self.payload)
        return Facts(
            customer=self.customer,
            payload=self.payload,
            event_name=self.event.name,
            event_properties=self.event.properties,
        )
