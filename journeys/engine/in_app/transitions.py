"""What people do with a delivery, as a page tells it, and the events that this records."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from customers.event_rules import RESERVED_PREFIX
from customers.events import NewEvent
from customers.models import Event
from engage.database.sql import Statement
from engage.errors import Refusal
from engage.redis.metric_counters import IN_APP, metric_counters
from journeys.engine.counts.counting import Key, write_counts
from journeys.models import CountKind, InAppDelivery

State = InAppDelivery.State


class DeliveryNotFound(Refusal):
    """The person has no delivery of this message with this id."""

    status = 404
    error = "Delivery not found"
    says = "The person has no delivery of this message with this deliveryId."


@dataclass(frozen=True, kw_only=True)
class Done:
    """What was done with a delivery: it was `shown`, `acted` or `closed`, by this action, if a button did it.

    `occurred_at` is the page's time; None: now.
    """

    delivery_id: str
    message_id: str
    to: InAppDelivery.State
    action_id: str = ""
    occurred_at: datetime | None = None
    verified: bool | None = None


_ADVANCE = Statement("""
WITH known AS MATERIALIZED (
    SELECT * FROM journeys_inappdelivery
    WHERE id = {id} AND workspace_id = {workspace_id} AND customer_id = {customer_id} AND message_id = {message_id}
), moved AS (
    UPDATE journeys_inappdelivery delivery
    SET state = {to}, action_id = {action_id}, shown_at = coalesce(delivery.shown_at, now()),
        ended_at = CASE WHEN {to} <> 'shown' THEN now() END
    FROM known WHERE delivery.id = ANY(ARRAY[known.id]) AND delivery.ended_at IS NULL AND delivery.expires_at > now()
      AND (delivery.shown_at IS NULL OR {to} <> 'shown')
    RETURNING 1
)
SELECT known.*, EXISTS (SELECT FROM moved) AS has_moved FROM known
""")


def advance(done: Done, *, workspace_id: str, customer_id: str) -> list[NewEvent]:
    """Writes what was done with the customer's delivery; the events to record of it, none if it was over.

    What was never said to be shown counts as shown, too. The customer's row is locked, and whoever calls records the
    events. Raises DeliveryNotFound.
    """
    (row,) = _ADVANCE.records(
        id=done.delivery_id,
        workspace_id=workspace_id,
        customer_id=customer_id,
        message_id=done.message_id,
        to=done.to.value,
        action_id=done.action_id,
    ) or (None,)
    if row is None:
        raise DeliveryNotFound
    if not row["has_moved"]:
        return []
    states = [done.to] if row["shown_at"] or done.to is State.SHOWN else [State.SHOWN, done.to]
    count([row], states)
    return [_event(row, state, done) for state in states]


# A delivery outlives its journey, whose counts go with it.
_JOURNEYS = Statement("SELECT id FROM journeys_journey WHERE id = ANY({journey_ids}::text[]) FOR KEY SHARE")


def count(rows: Sequence[Mapping[str, Any]], states: Sequence[InAppDelivery.State]) -> None:
    """Counts these states of the deliveries in rows."""
    known = {*_JOURNEYS.column(journey_ids=list({row["journey_id"] for row in rows}))}
    write_counts(Counter(_key(row, state) for row in rows if row["journey_id"] in known for state in states))
    for state in states:
        metric_counters.count(IN_APP, state.value, by=len(rows))


def _key(row: Mapping[str, Any], state: InAppDelivery.State) -> Key:
    whose = row["workspace_id"], row["journey_id"], row["revision_id"]
    return *whose, CountKind.INAPP.value, row["step_id"], state.value


def _event(row: Mapping[str, Any], state: InAppDelivery.State, done: Done) -> NewEvent:
    by = {"actionId": done.action_id} if done.action_id and state is done.to else {}
    return NewEvent(
        workspace_id=row["workspace_id"],
        customer_id=row["customer_id"],
        name=f"{RESERVED_PREFIX}{state.value}",
        properties={"deliveryId": row["id"], **by},
        source=Event.Source.BRIDGE_ACTION,
        occurred_at=done.occurred_at,
        message_id=row["message_id"],
        verified=done.verified,
    )


def expired_events(rows: Sequence[Mapping[str, Any]]) -> Iterator[NewEvent]:
    """That these deliveries, which nobody has ended in time, have expired: the service itself says so."""
    for row in rows:
        yield NewEvent(
            workspace_id=row["workspace_id"],
            customer_id=row["customer_id"],
            name=f"{RESERVED_PREFIX}{State.EXPIRED.value}",
            properties={"deliveryId": row["id"]},
            source=Event.Source.JOURNEY,
            chain=1,
            message_id=row["message_id"],
            verified=True,
        )
