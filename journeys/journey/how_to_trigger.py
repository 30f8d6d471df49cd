"""The calls that enter somebody into a journey, ready to paste: with curl, and in Python."""

import json
from typing import Any

from journeys.models import Journey
from journeys.steps.payloads import example_of

_EXAMPLE: dict[str, Any] = {"external_id": "ada"}
_CURL = """\
curl -sS {url} \\
    -H "Authorization: Bearer $ENGAGE_KEY" -H 'Content-Type: application/json' \\
    -d {body}"""
_PYTHON = """\
import json
import os
from urllib.request import Request, urlopen

body = {body}
headers = {{"Authorization": f"Bearer {{os.environ['ENGAGE_KEY']}}", "Content-Type": "application/json"}}
request = Request({url}, data=json.dumps(body).encode(), headers=headers)
print(json.load(urlopen(request)))"""


def ways_to_trigger(journey: Journey, *, base: str) -> list[tuple[str, str]]:
    """Names and texts of programs. `base` is the service's address; ENGAGE_KEY holds an API key of the workspace."""
    path, body = _call(journey)
    url = f"{base}/api/v1/{path}"
    quoted = "'" + json.dumps(body, ensure_ascii=False).replace("'", "'\\''") + "'"
    return [
        ("curl", _CURL.format(url=url, body=quoted)),
        ("Python", _PYTHON.format(url=json.dumps(url), body=repr(body))),
    ]


def _call(journey: Journey) -> tuple[str, dict[str, Any]]:
    if journey.trigger_type == Journey.TriggerType.EVENT:
        return f"customers/{journey.workspace_id}/events", {**_EXAMPLE, "eventName": journey.event_name}
    return f"journeys/{journey.workspace_id}/{journey.id}/trigger", {
        **_EXAMPLE,
        "payload": example_of(journey.payload_schema),
    }
