"""What every bridge call comes down to: find or create its customer, do what was asked, and record it."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db import transaction

from bridge.caps import count_customer_created
from bridge.models import Interaction
from customers.events import record_event
from customers.identity import Identifiers, find_or_create_customer
from customers.models import Event
from customers.profile import write_attributes
from engage.models import App


@dataclass(frozen=True, kw_only=True)
class Call:
    """What every bridge call tells: in which message, by whom, what stood in the form around the button, from where."""

    message_id: str
    known_by: Identifiers
    form_data: Mapping[str, Any]
    address: str


@dataclass(frozen=True, kw_only=True)
class NewEvent:
    """An event to record."""

    name: str
    properties: Mapping[str, Any]
    source: Event.Source


@dataclass(frozen=True, kw_only=True)
class NewAttributes:
    """Attributes to write; `field` is where the request named them."""

    values: Mapping[str, Any]
    field: str


def record_interaction(
    *,
    app: App,
    call: Call,
    kind: Interaction.Kind,
    event: NewEvent | None = None,
    attributes: NewAttributes | None = None,
    now: datetime,
) -> Interaction:
    """Records the call, with the event and the attributes that it asks for, in one transaction.

    The customer is found by the call's identifiers or created with them, in the app's workspace. The interaction tells
    what happened: its event, the names of the attributes written, and whether the customer is new.

    Raises InvalidRequest for attributes that cannot be written, and CustomersCreatedLimitExceeded; then nothing is
    written, and nobody is created.
    """
    with transaction.atomic():
        found = find_or_create_customer(workspace_id=app.workspace_id, known_by=call.known_by)
        customer = found.customer
        if found.created:
            count_customer_created(app_id=app.id, address=call.address)
        written: list[str] = []
        if attributes:
            written = write_attributes(customer=customer, attributes=attributes.values, field=attributes.field)
        recorded: Event | None = None
        if event:
            recorded = record_event(
                customer=customer, name=event.name, properties=event.properties, source=event.source, now=now
            )
        return Interaction.objects.create(
            workspace_id=app.workspace_id,
            app=app,
            customer=customer,
            event=recorded,
            message_id=call.message_id,
            kind=kind,
            form_data=dict(call.form_data),
            attributes_written=written,
            created_customer=found.created,
        )
