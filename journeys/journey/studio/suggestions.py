"""What an author may mean: the events, attributes, payloads, messages, connections and variables of a workspace.

Each is asked for in a bounded part of what there is: the latest. What belongs to customers is for those who may view
them.
"""

from collections import Counter
from datetime import datetime, timedelta
from typing import Any

from customers.admin.suggestions import attributes_known_in
from engage.database.object_ids import first_id_at
from engage.database.sql import Statement
from journeys.engine.connections.messages import MESSAGES
from journeys.models import Connection, Journey, Trigger, Variable

_RECENT = timedelta(days=30)
_MOST_ROWS, _MOST_NAMES = 5_000, 200
_OWN_EVENTS = ("in_app.shown", "in_app.acted", "in_app.closed", "in_app.expired")

_EVENTS = Statement(f"""
SELECT name FROM (
    SELECT name FROM customers_event WHERE workspace_id = {{workspace_id}} AND id >= {{since}}
    ORDER BY id DESC LIMIT {_MOST_ROWS}
) AS latest
GROUP BY name ORDER BY count(*) DESC, name LIMIT {_MOST_NAMES}
""")  # noqa: S608


def suggestions(journey: Journey, *, of_customers: bool, now: datetime) -> dict[str, Any]:
    """By kind, for a journey's editor."""
    workspace = journey.workspace_id
    since = first_id_at(now - _RECENT)
    events = _EVENTS.column(workspace_id=workspace, since=since) if of_customers else []
    attributes = attributes_known_in(workspace) if of_customers else []
    payloads = Trigger.objects.filter(workspace_id=workspace, journey=journey).order_by("-serial")[:20]
    keys = Counter(name for payload in payloads.values_list("payload", flat=True) for name in payload)
    messages, recorded = MESSAGES.offered(workspace)
    return {
        "events": [*dict.fromkeys([*events, *recorded, *_OWN_EVENTS])],
        "attributes": attributes,
        "payload": [name for name, _ in keys.most_common(50)] if of_customers else [],
        "messages": list(messages),
        "connections": [
            {"key": one.key, "name": one.name, "inputs": one.definition.get("inputs")}
            for one in Connection.objects.filter(workspace_id=workspace).order_by("key")[:_MOST_NAMES]
        ],
        "variables": [*Variable.objects.filter(workspace_id=workspace).order_by("name").values_list("name", flat=True)],
    }
