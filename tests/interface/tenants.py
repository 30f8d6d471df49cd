"""Two tenants with one of everything, and every call of a server."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.apps import apps
from django.db import connection
from django.utils import timezone

import config.urls  # noqa: F401 (so that all calls are known)
from customers.contact.reach import suppress
from customers.contact.saving import CONTACT_POLICY
from customers.models import Customer, Segment, Suppression
from engage.calls.call import Call
from engage.models import Workspace
from journeys.models import Connection, Enrollment, Journey, Subscription
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, MessageFactory, SegmentFactory
from tests.support.one_of_each_kind import define_each_kind, ids_of_each_kind


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
    connection: Connection
    subscription: Subscription

    def ids(self) -> dict[str, str]:
        return {
            "workspaceId": self.workspace.id,
            "customerId": self.customer.id,
            **ids_of_each_kind(self.workspace),
            "segmentId": self.segment.id,  # tests make others
            "journeyId": self.journey.id,
            "triggerId": self.trigger_id,
            "jobId": self.job_id,
            "enrollmentId": self.enrollment_id,
            "suppressionId": Suppression.objects.filter(workspace=self.workspace).earliest("created_at").id,
        }


def tenant(workspace: Workspace, server: ServerClient) -> Tenant:
    workspace.feed = True
    workspace.save(update_fields=["feed"])
    customer = CustomerFactory.create(workspace=workspace, external_id="ada", email="ada@example.com")
    segment = SegmentFactory.create(workspace=workspace, key="vip", members=[customer])
    journey = JourneyFactory.create(
        workspace=workspace, key="welcome", steps=[{"id": "wait", "type": "delay", "for": "P1D"}]
    )
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    enrollment = Enrollment.objects.get(workspace=workspace, journey=journey)
    queued = data(trigger(server, journey, {"external_id": "ada"}))
    MessageFactory.create(workspace=workspace, key="sale")
    CONTACT_POLICY.save(workspace=workspace, key=CONTACT_POLICY.only, now=timezone.now(), require_topic=False)
    suppress(workspace_id=workspace.id, channel="email", address="eve@example.com", reason=Suppression.Reason.MANUAL)
    mail = Connection.objects.create(
        workspace=workspace, key="mail", name="Mail", definition={"url": "https://mail.example/"}
    )
    crm = Subscription.objects.create(
        workspace=workspace, key="crm", url="https://crm.example/", host="crm.example:443"
    )
    define_each_kind(workspace, name="sale")
    server.headers.update(OF_WHATEVER_IS_THERE)
    return Tenant(
        workspace, server, customer, segment, journey, queued["triggerId"], queued["jobId"], enrollment.id, mail, crm
    )


# Changing a definition needs its ETag, or this.
OF_WHATEVER_IS_THERE = {"If-Match": "*"}
# Every call of a server about a workspace.
CALLS = [call for call in Call.all() if call.signature.is_of_server and call.is_of_workspace]


def body_of(call: Call) -> Any:
    """The first example of its body."""
    return next(iter(call.requests.values()), None)


def path_of(call: Call, ids: Mapping[str, str]) -> str:
    query = "?external_id=ada" if call.operation_id == "findCustomer" else ""
    return f"/api/v1/{call.path.format(key='sale', entranceId='order-1042', **ids)}{query}"


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
