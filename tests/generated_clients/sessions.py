"""A program that makes a whole session with a generated client, against the running service."""

import json
import os
import subprocess
import time
from collections.abc import Mapping
from pathlib import Path

from engage.models import Workspace
from tests.generated_clients.programs import PATH
from tests.support.calls import let_workers_walk
from tests.support.factories import ApiKeyFactory, AppFactory, JourneyFactory, SegmentFactory
from tests.support.processes import web

_REST_SECONDS = 0.05
# What every session is refused, by code.
REFUSALS = {
    "array_size_exceeded": 400,
    "body_too_large": 413,
    "customer_not_found": 404,
    "definition_invalid": 422,
    "enrollment_already_ended": 409,
    "enrollment_not_found": 404,
    "error_resolving_segments": 400,
    "idempotency_key_reused": 422,
    "identifier_conflict": 409,
    "invalid_app_id": 401,
    "invalid_journey_type": 400,
    "invalid_message": 400,
    "invalid_request": 400,
    "job_already_decided": 409,
    "job_not_found": 404,
    "journey_not_found": 404,
    "message_not_found": 404,
    "missing_required_parameter": 400,
    "not_acceptable": 406,
    "origin_not_allowed": 403,
    "precondition_required": 428,
    "rate_limit_exceeded": 429,
    "segment_not_found": 404,
    "subscription_exists": 409,
    "subscription_not_found": 404,
    "trigger_not_found": 404,
    "unauthorized": 401,
    "workspace_not_found": 404,
}


def world_of(acme: Workspace, rival: Workspace) -> dict[str, str]:
    """What a session is told of Acme."""
    acme.feed = True
    acme.save(update_fields=["feed"])
    wait = [{"id": "wait", "type": "delay", "for": "P1D"}]
    return {
        "key": vars(ApiKeyFactory.create(workspace=acme))["secret"],
        "slowKey": vars(ApiKeyFactory.create(workspace=acme, rate_limit="1/d"))["secret"],
        "app": AppFactory.create(workspace=acme).id,
        "strictApp": AppFactory.create(workspace=acme, allowed_origins=["https://shop.example"]).id,
        "workspaceId": acme.id,
        "otherWorkspaceId": rival.id,
        "journeyId": JourneyFactory.create(workspace=acme, steps=wait).id,
        "eventJourneyId": JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered").id,
        "segmentId": SegmentFactory.create(workspace=acme).id,
    }


def refusals(*command: str | Path, world: Mapping[str, str], folder: Path) -> dict[str, int]:
    """Runs the session in the folder, while workers work here. Returns the refusals that it got, by code."""
    with web(log=folder / "web.log") as url:
        environment = {**os.environ, "PATH": PATH, "WORLD": json.dumps({**world, "url": url})}
        session = subprocess.Popen(
            command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        with session:
            try:
                while session.poll() is None:
                    let_workers_walk()
                    time.sleep(_REST_SECONDS)
            finally:
                session.kill()
            told, complaints = session.communicate()
    assert session.returncode == 0, complaints
    found: dict[str, int] = json.loads(told)
    return found
