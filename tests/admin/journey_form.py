"""The form of a journey, and what it is sent."""

import json
from typing import Any

from django.test import Client

from engage.models import Workspace

ADD = "/admin/journeys/journey/add/"
STEPS = [{"id": "wait", "type": "delay", "for": "P1D"}]
EXITS = [{"event": "bought"}]
PRICEY = {"field": "event.properties.price", "op": "gt", "value": 10}
CONDITION = {"field": "customer.plan", "op": "eq", "value": "pro"}


def said(**fields: Any) -> dict[str, Any]:
    """What the form sends; JSON may be given as values."""
    defaults = {
        "name": "Welcome",
        "trigger_type": "api",
        "event_name": "",
        "event_where": "",
        "event_from_bridge": "on",
        "active": "on",
        "max_entries_per_customer": "",
        "entry_conditions": "",
        "steps": "",
        "exit_on": "",
    }
    written = {**defaults, **fields}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in written.items()}


def make(staff: Client, workspace: Workspace, **fields: Any) -> str:
    """Makes a journey; the page that answers."""
    answer = staff.post(ADD, said(workspace=workspace.id, **{"key": "welcome", **fields}), follow=True)
    return answer.content.decode()
