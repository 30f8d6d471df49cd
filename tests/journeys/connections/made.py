"""Connections of the tests, and the journeys that send by them."""

from typing import Any

from django.utils import timezone

from engage.models import Workspace
from engage.resources.resource import Saved
from journeys.connection.resource import CONNECTIONS
from journeys.journey.authoring import save_journey
from journeys.models import Connection, Enrollment, Journey, StepRun
from journeys.tasks import walk
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient

INPUTS: dict[str, Any] = {
    "type": "object",
    "required": ["to", "text"],
    "properties": {"to": {"type": "string"}, "text": {"type": "string", "maxLength": 40}, "n": {"type": "integer"}},
}
BODY = {"To": "{{ inputs.to }}", "Text": "{{ inputs.text }}", "n": {"$value": "inputs.n"}}
STEP: dict[str, Any] = {
    "id": "mail",
    "type": "send",
    "connection": "mailer",
    "inputs": {"to": "{{ customer.email }}", "text": "Hello {{ customer.name }}", "n": {"$value": "api.payload.n"}},
}


def definition(url: str, **fields: Any) -> dict[str, Any]:
    return {"url": url, "headers": {"X-Token": "hush"}, "body": BODY, "inputs": INPUTS, **fields}


def connect(
    workspace: Workspace, url: str, *, key: str = "mailer", confirmed: bool = False, **fields: Any
) -> Saved[Connection]:
    columns = {name: fields.pop(name) for name in ("name", "channel", "per_second") if name in fields}
    written = definition(url, **fields)
    return CONNECTIONS.save(
        workspace=workspace, key=key, now=timezone.now(), confirmed=confirmed, definition=written, **columns
    )


def journey_of(workspace: Workspace, *steps: Any, key: str = "welcome", **fields: Any) -> Journey:
    return save_journey(workspace=workspace, key=key, now=timezone.now(), steps=[*steps], **fields).journey


def enter(server: ServerClient, journey: Journey, payload: Any = None) -> Enrollment:
    data(trigger(server, journey, {"external_id": "ada", **({"payload": payload} if payload else {})}))
    let_workers_decide()
    walk()
    return Enrollment.objects.filter(journey=journey).latest("entered_at")


def history(enrollment: Enrollment) -> list[tuple[str, str]]:
    runs = StepRun.objects.filter(enrollment=enrollment).order_by("ordinal")
    return list(runs.values_list("step_id", "state"))
