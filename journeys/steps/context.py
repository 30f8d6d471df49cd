"""What the steps of one enrollment read and change."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import lru_cache
from typing import Any

from customers.conditions import CustomerFacts, Facts
from customers.conditions.fields import IDENTIFIER_COLUMNS
from engage.json.instants import iso_utc
from journeys.rendering import Rendering
from journeys.steps.contact import Contact
from journeys.steps.surroundings import NOTHING, Surroundings


@dataclass(frozen=True, kw_only=True)
class Occurrence:
    """An event as patterns, conditions and templates see it."""

    name: str
    properties: Mapping[str, Any]
    message: str | None = None
    verified: bool | None = None


def with_event(known: Facts, event: Occurrence) -> Facts:
    """What is known, and this event."""
    return replace(
        known,
        event_name=event.name,
        event_properties=event.properties,
        event_message=event.message,
        event_verified=event.verified,
    )


@dataclass(frozen=True, kw_only=True)
class EarlyEvent:
    """An event that came before somebody listened for it, and counts all the same.

    `properties` is JSON, `from_bridge` tells whether the bridge recorded it, and `chain` counts the events that led to
    it by way of journeys.
    """

    id: str
    name: str
    properties: str
    from_bridge: bool
    chain: int
    serial: int
    message: str | None = None
    verified: bool | None = None

    def occurrence(self) -> Occurrence:
        return Occurrence(
            name=self.name, properties=json.loads(self.properties), message=self.message, verified=self.verified
        )


@dataclass(kw_only=True)
class StepContext:
    """One enrollment at one moment. A step that writes attributes replaces `customer`, so later steps see them.

    `now` is aware and in UTC. `event` is what last started or moved the enrollment. `chain` counts the events by which
    journeys led here; it is 0 for an API call. `early` is for the wait that begins next: the event that ends it as it
    begins. The wait takes it for `event`. A wait counts from `since`: the first one from `waits_from`, when the job was
    due that has only now brought the customer here, each other one from now. `waits_until` is when the wait for a
    condition that has begun gives up. `kept` is what steps kept of their latest answers, by their ids. `entrance` is
    the caller's id of this entry. `drawn` are the paths that the customer took first at splits whose weights have been
    changed, by index. `topic` is what the journey says that it is
    about, and `contact` what is known of writing to them, where that is asked for.
    """

    journey_id: str
    journey_name: str
    enrollment_id: str
    customer: CustomerFacts
    payload: Mapping[str, Any]
    event: Occurrence | None
    chain: int
    now: datetime
    early: EarlyEvent | None = None
    waits_from: datetime | None = None
    waits_until: datetime | None = None
    entrance: str | None = None
    surroundings: Surroundings = NOTHING
    kept: Mapping[str, Any] = field(default_factory=dict)
    drawn: Mapping[str, int] = field(default_factory=dict)
    topic: str | None = None
    contact: Contact | None = None

    @property
    def since(self) -> datetime:
        return self.waits_from or self.now

    def facts(self) -> Facts:
        """What conditions may refer to."""
        if self.event is None:
            return Facts(
                customer=self.customer, now=self.now, payload=self.payload, kept=self.kept, entrance=self.entrance
            )
        return Facts(
            customer=self.customer,
            now=self.now,
            payload=self.payload,
            kept=self.kept,
            entrance=self.entrance,
            event_name=self.event.name,
            event_properties=self.event.properties,
            event_message=self.event.message,
            event_verified=self.event.verified,
        )

    def rendering(self, links: Mapping[str, object] | None = None) -> Rendering:
        """A rendering for the templates of one step, with the values of this moment, and its links if it has any."""
        return Rendering(self._scope if links is None else lambda: {**self._scope(), **links})

    def _scope(self) -> dict[str, object]:
        event = self.event
        return {
            "customer": fields_of(self.customer),
            "api": {"properties": self.payload, "payload": self.payload},
            "event": {} if event is None else _of_event(event),
            "journey": {"id": self.journey_id, "name": self.journey_name},
            "enrollment": {"id": self.enrollment_id},
            "entrance": {} if self.entrance is None else {"id": self.entrance},
            "now": _written(self.now),
            "vars": self.surroundings.variables,
            "steps": self.kept,
        }


@lru_cache(maxsize=1)
def _written(now: datetime) -> str:
    """Cached, because it is the same for all of a batch."""
    return iso_utc(now)


def _of_event(event: Occurrence) -> dict[str, object]:
    fields = {
        "deliveryId": event.properties.get("deliveryId"),
        "name": event.name,
        "properties": event.properties,
        "messageId": event.message,
        "verified": event.verified,
    }
    return {name: value for name, value in fields.items() if value is not None}


def fields_of(customer: CustomerFacts) -> dict[str, object]:
    """What `customer` is in templates: what `customer.<field>` is in conditions, too.

    The names of identifiers never mean an attribute.
    """
    fields = dict(customer.attributes)
    for spelling, column in IDENTIFIER_COLUMNS.items():
        identifier = getattr(customer, column)
        if identifier is None:
            fields.pop(spelling, None)
        else:
            fields[spelling] = identifier
    fields["attributes"] = customer.attributes
    return fields
