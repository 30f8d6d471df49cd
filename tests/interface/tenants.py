"""Two tenants with one of everything, and every call of a server."""

import re
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection

import config.urls  # noqa: F401 (so that all calls are known)
from customers.models import Customer, Segment
from engage.calls.call import Call
from engage.json.fields import snake_case
from engage.models import Workspace
from journeys.models import Enrollment, Journey
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, MessageFactory, SegmentFactory


@dataclass(frozen=True)
class Tenant:
    """A workspace with one of everything, an enrollment under way, and a job in the queue.

    Both tenants' people and things have the same names.
    """

    workspace: Workspace
    server: ServerClient
    customer: Customer
    segment: Segment
    journey: Journey
    trigger_id: str
    job_id: str
    enrollment_id: str

    def ids(self) -> dict[str, str]:
        return {
            "workspace_id": self.workspace.id,
            "customer_id": self.customer.id,
            "segment_id": self.segment.id,
            "journey_id": self.journey.id,
            "trigger_id": self.trigger_id,
            "job_id": self.job_id,
            "enrollment_id": self.enrollment_id,
        }


def tenant(workspace: Workspace, server: ServerClient) -> Tenant:
    customer = CustomerFactory.create(workspace=workspace, external_id="ada", email="ada@example.com")
    segment = SegmentFactory.create(workspace=workspace, key="vip", members=[customer])
    journey = JourneyFactory.create(
        workspace=workspace, key="welcome", steps=[{"id": "wait", "type": "delay", "for": "P1D"}]
    )
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    enrollment = Enrollment.objects.get(workspace=workspace)
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    MessageFactory.create(workspace=workspace, key="sale")
    return Tenant(workspace, server, customer, segment, journey, queued["triggerId"], queued["jobId"], enrollment.id)


# Every call of a server about a workspace, with the first example of its body.
CALLS: dict[tuple[str, str], Any] = {
    (call.method, re.sub(r"\{\w+\}", lambda name: snake_case(name[0]), call.path)): next(
        iter(call.requests.values()), None
    )
    for call in Call.all()
    if call.signature.is_of_server and call.is_of_workspace
}


def address(method: str, path: str, ids: dict[str, str]) -> str:
    query = "?external_id=ada" if (method, path) == ("GET", "customers/{workspace_id}") else ""
    return f"/api/v1/{path.format(key='sale', **ids)}{query}"


def everything_of(workspace: Workspace) -> dict[str, Any]:
    """Every row of the workspace, in every table that has workspaces."""
    found = {}
    with connection.cursor() as cursor:
        for model in apps.get_models():
            if any(field.column == "workspace_id" for field in model._meta.local_concrete_fields):
                table = model._meta.db_table
                cursor.execute(
                    f"SELECT to_jsonb(t) - 'last_used_at' FROM {table} t WHERE workspace_id = %s ORDER BY id",
                    [workspace.id],
                )
                found[table] = cursor.fetchall()
    return found
