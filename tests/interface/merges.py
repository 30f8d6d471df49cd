"""Merges by servers, and entries of those who are merged."""

from typing import Any

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Journey
from tests.support.calls import customers_path, data, trigger
from tests.support.clients import Answer, ServerClient

NOTHING = dict.fromkeys(
    ["events", "interactions", "attributes", "segments", "jobs", "jobsCancelled", "enrollments", "enrollmentsExited"], 0
)


def merge(server: ServerClient, workspace: Workspace, **body: Any) -> Answer:
    return server.post(
        customers_path(workspace, "merge"), {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "ada"}, **body}
    )


def merged(server: ServerClient, workspace: Workspace, **body: Any) -> dict[str, Any]:
    """What was moved; only what is not 0."""
    answer = data(merge(server, workspace, **body), status=200)
    assert answer["merged"]
    return {name: number for name, number in answer["moved"].items() if number}


def entered(server: ServerClient, journey: Journey, customer: Customer) -> str:
    """The job id of a single call for the customer."""
    return str(data(trigger(server, journey, {"customerId": customer.id}))["jobId"])
