"""What tests do again and again, in the words of the interface."""

import json
from typing import Any

import redis

from engage.models import Workspace
from journeys.engine import wakeups
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.walking import walk_due
from journeys.models import Chunk, EnrollmentJob, Journey
from tests.support.clients import Answer, ServerClient


def trigger(server: ServerClient, journey: Journey, body: Any, **options: Any) -> Answer:
    """`POST …/trigger` for the journey, in its own workspace."""
    return server.post(f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/trigger", body, **options)


def data(answer: Answer, *, status: int = 202) -> dict[str, Any]:
    """The `data` of a successful answer."""
    body: dict[str, Any] = answer.json()
    assert answer.status_code == status, body
    assert body["success"] is True
    return dict(body["data"])


def refused(answer: Answer, *, status: int, error: str) -> str:
    """The message of a refusal with this status and title."""
    body: dict[str, Any] = answer.json()
    assert (answer.status_code, body.get("error")) == (status, error), body
    assert set(body) - {"details"} == {"success", "error", "message", "code", "requestId"}
    assert body["success"] is False
    assert body["requestId"] == answer["X-Request-Id"]
    return str(body["message"])


def job_of(server: ServerClient, workspace_id: str, job_id: str) -> dict[str, Any]:
    """The look-up of a job."""
    return data(server.get(f"/api/v1/journeys/{workspace_id}/jobs/{job_id}"), status=200)


def all_decided() -> bool:
    return not EnrollmentJob.objects.filter(status="queued").exists()


def let_workers_decide() -> None:
    """Does in this process what the workers would do, until nothing waits."""
    for lane in Chunk.Lane:
        serve_lane(lane=lane, named=None, seconds=60)


def let_workers_walk() -> None:
    """Decides what is queued and walks what is due, in this process, until nothing is."""
    moved = 1
    while moved:
        let_workers_decide()
        moved = walk_due(seconds=60).moved


def customers_path(workspace: Workspace, *below: str) -> str:
    """`/api/v1/customers/{workspaceId}`, and what stands below it."""
    return "/".join(["/api/v1/customers", workspace.id, *below])


def task_ids(queue: redis.Redis, lane: str) -> list[str]:
    """The ids of the tasks that wait in the queue, in the order in which they came."""
    wakeups.wake_now()
    messages: Any = queue.lrange(lane, 0, -1)
    return [json.loads(message)["headers"]["id"] for message in reversed(messages)]


def serve_until_empty() -> None:
    """One worker: serves both lanes, also while others hold the locks, until nothing waits."""
    while Chunk.objects.exists():
        for lane in Chunk.Lane:
            serve_lane(lane=lane, named=None, seconds=1)
