"""Recording reported events with what they lead to: a thousand take as many statements as one.

1. The customers whom the events name are looked up and locked in one statement, in the order of their ids, so that
   overlapping calls wait for each other instead of deadlocking.
2. Events of unknown customers are refused, each alone; no customer is created.
3. The others are recorded in the order in which they came. What they lead to (exits, moves, entries) is committed with
   them.
4. After the commit the workers are woken.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any, ClassVar

from django.db import transaction

from customers.events import NewEvent, record_events
from customers.identity.locks import lock_customers_named, undisturbed
from customers.identity.lookup import CustomerNotFound, Reference
from customers.models import Event
from engage.database.object_ids import ObjectId
from engage.errors import Refusal
from journeys.engine import wakeups
from journeys.engine.walking.reactions import record_and_react


@dataclass(frozen=True, kw_only=True)
class ReportedEvent:
    """An event as a server reports it; without `occurred_at` it happened now."""

    customer: Reference
    name: str
    properties: Mapping[str, Any]
    occurred_at: datetime | None
    entrance: str | None = None


@dataclass(frozen=True, kw_only=True)
class RecordedEvent:
    """One event, recorded."""

    schema_name: ClassVar = "ReportedEvent"

    event_id: Annotated[ObjectId, "The event's id."]
    customer_id: Annotated[ObjectId, "The id of the customer whose event it is."]


def record_reported_event(*, workspace_id: str, event: ReportedEvent) -> RecordedEvent:
    """Records the event with what it leads to. Raises CustomerNotFound or TooManyAtOnce; nothing is then written."""
    (outcome,) = record_reported_events(workspace_id=workspace_id, events=[event])
    if isinstance(outcome, Refusal):
        raise outcome
    return outcome


def record_reported_events(
    *, workspace_id: str, events: Sequence[ReportedEvent | Refusal], lead_to_nothing: bool = False
) -> list[RecordedEvent | Refusal]:
    """The same for many, as if they came one after the other: one result per event, in order.

    An event that was already refused when it was read keeps its place and its refusal. `lead_to_nothing`: they are of
    the past, and start, move and end nobody. Raises TooManyAtOnce.
    """
    read = [event for event in events if isinstance(event, ReportedEvent)]

    def record() -> list[NewEvent | Refusal]:
        known = lock_customers_named(workspace_id=workspace_id, references={event.customer for event in read})
        outcomes = [new_event(event, known, workspace_id) for event in events]
        fresh = [outcome for outcome in outcomes if isinstance(outcome, NewEvent)]
        if lead_to_nothing:
            record_events(fresh)
            return outcomes
        due = record_and_react(fresh)
        transaction.on_commit(lambda: wakeups.wake(due), robust=True)
        return outcomes

    return [
        RecordedEvent(event_id=outcome.id, customer_id=outcome.customer_id)
        if isinstance(outcome, NewEvent)
        else outcome
        for outcome in undisturbed(record)
    ]


def unknown_customer(identifier: str) -> CustomerNotFound:
    """The refusal of an event of an unknown customer. It contains the identifier's name, not its value."""
    return CustomerNotFound(named=identifier, advice="The customer must exist before an event is reported of them.")


def new_event(
    event: ReportedEvent | Refusal, known: Mapping[Reference, str], workspace_id: str, *, from_bridge: bool = False
) -> NewEvent | Refusal:
    """The event to record of the customer whom it names among the known; its refusal if it names nobody.

    `from_bridge`: as if an in-app message without a token had sent it.
    """
    if isinstance(event, Refusal):
        return event
    customer_id = known.get(event.customer)
    if customer_id is None:
        return unknown_customer(event.customer.name)
    return NewEvent(
        workspace_id=workspace_id,
        customer_id=customer_id,
        name=event.name,
        properties=event.properties,
        source=Event.Source.BRIDGE_ACTION if from_bridge else Event.Source.API,
        occurred_at=event.occurred_at,
        verified=not from_bridge,
        entrance=event.entrance,
    )
