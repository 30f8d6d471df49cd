"""A journey is steered, as a server does it."""

from typing import Any

from journeys.models import Journey
from tests.support.calls import data
from tests.support.clients import Answer, ServerClient

NOTE = {"id": "note", "type": "update_profile", "attributes": {"noted": True}}
REASON = "The mail provider is down."


def steer(server: ServerClient, journey: Journey, act: str, body: Any = None, *, dry_run: bool = False) -> Answer:
    query = "?dryRun=true" if dry_run else ""
    return server.post(f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/{act}{query}", body or {})


def steered(server: ServerClient, journey: Journey, act: str, *, dry_run: bool = False, **body: Any) -> dict[str, Any]:
    return data(steer(server, journey, act, body, dry_run=dry_run), status=200)
