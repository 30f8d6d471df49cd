"""What calls do with a delivery: it is theirs, and what was done with it is recorded beside the call."""

from datetime import datetime

from bridge.models import Interaction
from bridge.requests import BridgeCall
from customers.events import NewEvent
from customers.identity.identifiers import Resolution
from journeys.engine.in_app.transitions import DeliveryNotFound, Done, State, advance


def events_of_delivery(
    call: BridgeCall, found: Resolution, *, kind: Interaction.Kind | None, now: datetime
) -> list[NewEvent]:
    """Writes what the call did with the delivery that it names; the events to record, none if it names none.

    `kind` None: it was shown. The customer's row is locked. Raises DeliveryNotFound; whatever was written is then to be
    taken back.
    """
    if not call.delivery_id:
        return []
    if found.created:
        raise DeliveryNotFound
    by = call.marks.action_id or call.action_id
    to = State.SHOWN if kind is None else State.CLOSED if kind is Interaction.Kind.CLOSE else State.ACTED
    done = Done(
        delivery_id=call.delivery_id,
        message_id=call.message_id,
        to=to,
        action_id="" if kind is None else by or kind.value,
        occurred_at=now,
        verified=call.marks.verified,
    )
    return advance(done, workspace_id=found.customer.workspace_id, customer_id=found.customer.id)
