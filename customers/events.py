"""Records customers' events."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from psycopg.types.json import Jsonb

from customers.models import Event
from engage.database.fragment import Fragment
from engage.database.object_ids import new_object_id
from engage.database.sql import Rows, Statement
from engage.process.request_log import Trail


@dataclass(frozen=True, kw_only=True)
class NewEvent:
    """An event to record. `name` has 1 to MAX_EVENT_NAME_LENGTH characters; `occurred_at` defaults to now.

    `chain` counts the events that led to it through journeys; 0 means that it came from outside. `verified` says
    whether it is proven that the customer did it: by a server's report, or by an identity token in a message's call.
    `entrance`, which is not recorded, is what journeys that it starts are entered for.
    `trail` is that of the call that led to it, some steps ago; None if that is the call being served.
    """

    workspace_id: str
    customer_id: str
    name: str
    properties: Mapping[str, Any]
    source: Event.Source
    occurred_at: datetime | None = None
    chain: int = 0
    message_id: str | None = None
    verified: bool | None = None
    entrance: str | None = None
    trail: Trail | None = None
    id: str = field(default_factory=new_object_id)


_INSERT = Statement(
    """
INSERT INTO customers_event
    (id, workspace_id, customer_id, name, properties, source, chain, message_id, verified, occurred_at)
SELECT id, workspace_id, customer_id, name, properties, source, chain, message_id, verified,
       coalesce(occurred_at, now())
FROM {events}
ORDER BY place
""",
    events=Rows(
        "fresh",
        {
            "id": "text",
            "workspace_id": "text",
            "customer_id": "text",
            "name": "text",
            "properties": "jsonb",
            "source": "text",
            "chain": "smallint",
            "message_id": "text",
            "verified": "boolean",
            "occurred_at": "timestamptz",
        },
        place="place",
    ),
)


def record_events(events: Sequence[NewEvent]) -> None:
    """Records the events, in one statement; their serials are in their order.

    What an event leads to is up to the caller, which must be in a transaction and hold the customers' row locks.
    """
    if events:
        _INSERT.execute(events=[_fresh(event) for event in events])


def _fresh(event: NewEvent) -> tuple[Any, ...]:
    properties = json.dumps(dict(event.properties))
    return (
        event.id,
        event.workspace_id,
        event.customer_id,
        event.name,
        properties,
        event.source.value,
        event.chain,
        event.message_id,
        event.verified,
        event.occurred_at,
    )


_INSERT_OF_ONE = """
INSERT INTO customers_event
    (id, workspace_id, customer_id, name, properties, source, chain, message_id, verified, occurred_at)
SELECT %s, customer.workspace_id, customer.id, %s, %s, %s, 0, %s, %s, %s FROM customer
"""


def insert_of_event(
    *,
    event_id: str,
    name: str,
    properties: Mapping[str, Any],
    source: Event.Source,
    at: datetime,
    message_id: str | None = None,
    verified: bool | None = None,
) -> Fragment:
    """The insert of an event from outside, for a statement that also records something else.

    It is for the customers of the statement's relation `customer`, which has an `id` and a `workspace_id`. What the
    event leads to is up to the caller.
    """
    return Fragment(_INSERT_OF_ONE, [event_id, name, Jsonb(dict(properties)), source.value, message_id, verified, at])
