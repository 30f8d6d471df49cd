"""Workspaces isolate everything: every endpoint is crossed with every foreign id, and nothing is seen or changed."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import pytest
from django.apps import apps
from django.db import connection
from django.urls import URLPattern, URLResolver, get_resolver

from customers.models import Customer, Segment
from engage.http.views import FOREIGN_WORKSPACE
from engage.models import Workspace
from journeys.models import Enrollment, Journey
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory, MessageFactory, SegmentFactory
from tests.support.tables import taken_back


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


@pytest.fixture
def us(acme: Workspace, server: ServerClient) -> Tenant:
    return tenant(acme, server)


@pytest.fixture
def them(rival: Workspace, rival_server: ServerClient) -> Tenant:
    return tenant(rival, rival_server)


# Every call of a server, with a body that would do something if the ids in the path were its own.
CALLS: dict[tuple[str, str], Any] = {
    ("POST", "journeys/{workspace_id}/{journey_id}/trigger"): {"external_id": "ada"},
    ("GET", "journeys/{workspace_id}/{journey_id}/graph"): None,
    ("GET", "journeys/{workspace_id}/{journey_id}/stats"): None,
    ("POST", "journeys/{workspace_id}/{journey_id}/hold"): {"reason": "hacked"},
    ("POST", "journeys/{workspace_id}/{journey_id}/resume"): {"perMinute": 1},
    ("POST", "journeys/{workspace_id}/{journey_id}/close"): {},
    ("POST", "journeys/{workspace_id}/{journey_id}/activate"): {},
    ("POST", "journeys/{workspace_id}/{journey_id}/abort"): {"reason": "hacked"},
    ("GET", "journeys/{workspace_id}/jobs/{job_id}"): None,
    ("DELETE", "journeys/{workspace_id}/jobs/{job_id}"): None,
    ("GET", "journeys/{workspace_id}/enrollments/{enrollment_id}"): None,
    ("POST", "journeys/{workspace_id}/enrollments/{enrollment_id}/exit"): {"reason": "hacked"},
    ("GET", "journeys/{workspace_id}/triggers/{trigger_id}"): None,
    ("GET", "journeys/{workspace_id}/triggers/{trigger_id}/jobs"): None,
    ("POST", "journeys/{workspace_id}/triggers/{trigger_id}/cancel"): {"reason": "hacked"},
    ("PUT", "customers/{workspace_id}"): {"external_id": "ada", "attributes": {"hacked": True}},
    ("POST", "customers/{workspace_id}/batch"): {"customers": [{"external_id": "ada", "attributes": {"hacked": True}}]},
    ("POST", "customers/{workspace_id}/events"): {"external_id": "ada", "eventName": "hacked"},
    ("POST", "customers/{workspace_id}/merge"): {"anonymous": {"userId": "u-1"}, "into": {"external_id": "ada"}},
    ("GET", "customers/{workspace_id}"): None,
    ("GET", "customers/{workspace_id}/{customer_id}"): None,
    ("DELETE", "customers/{workspace_id}/{customer_id}"): None,
    ("GET", "customers/{workspace_id}/{customer_id}/export"): None,
    ("GET", "customers/{workspace_id}/{customer_id}/journeys"): None,
    ("POST", "customers/{workspace_id}/segments/{segment_id}/members"): {"remove": ["ada"]},
    ("GET", "audit/{workspace_id}"): None,
    ("GET", "messages/{workspace_id}"): None,
    ("PUT", "messages/{workspace_id}/{key}"): {"status": "active"},
    ("GET", "messages/{workspace_id}/{key}"): None,
    ("DELETE", "messages/{workspace_id}/{key}"): None,
}


# Every call of an SDK, for the identifiers of somebody.
SDK_CALLS: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "sdk/bridge/action": lambda known: {"messageId": "m", "actionType": "close", **known},
    "sdk/bridge/capture": lambda known: {"messageId": "m", "formData": {"hacked": "yes"}, **known},
    "sdk/bridge/batch": lambda known: {
        "calls": [{"call": "capture", "messageId": "m", "formData": {"hacked": "yes"}, **known}]
    },
    "sdk/identify": lambda known: {"userId": "u-1", "external_id": "ada", **known},
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


def is_refused(answer: Answer) -> bool:
    return answer.status_code == 404 and answer.json()["success"] is False


def test_every_foreign_id_in_a_path_is_not_found_and_changes_nothing(
    us: Tenant, them: Tenant, subtests: pytest.Subtests
) -> None:
    ours, theirs = us.ids(), them.ids()
    before = everything_of(us.workspace), everything_of(them.workspace)
    for (method, path), body in CALLS.items():
        with subtests.test(call=f"{method} {path}"), taken_back():
            names = [name for name in ours if f"{{{name}}}" in path]
            crossings = [{**ours, name: theirs[name]} for name in names] + [theirs]
            for ids in crossings:
                answer = us.server.call(method, address(method, path, ids), body)
                assert is_refused(answer), (ids, answer)
            assert (everything_of(us.workspace), everything_of(them.workspace)) == before


def test_a_foreign_workspace_looks_like_a_missing_one(us: Tenant, them: Tenant, subtests: pytest.Subtests) -> None:
    def answer(method: str, path: str, workspace_id: str, body: Any) -> Any:
        asked = address(method, path, {**us.ids(), "workspace_id": workspace_id})
        return us.server.call(method, asked, body).json() | {"requestId": ""}

    for (method, path), body in CALLS.items():
        with subtests.test(call=f"{method} {path}"), taken_back():
            own, foreign, *missing = (
                answer(method, path, workspace_id, body)
                for workspace_id in (us.workspace.id, them.workspace.id, "f" * 24, "not-an-id")
            )
            assert FOREIGN_WORKSPACE not in str(own)
            assert foreign["message"].endswith(f" {FOREIGN_WORKSPACE}")
            if path.startswith("customers/"):
                assert (foreign["error"], foreign["code"]) == ("Workspace not found", "workspace_not_found")
            assert missing == [foreign] * 2


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (lambda them: {"customerId": them.customer.id}, 404),
        (lambda them: {"segment_ids": [them.segment.id]}, 400),
        (lambda them: {"external_ids": ["ada"], "segment_ids": [them.segment.id]}, 400),
    ],
)
def test_every_foreign_id_in_a_trigger_s_body_is_refused(us: Tenant, them: Tenant, body: Any, status: int) -> None:
    before = everything_of(us.workspace), everything_of(them.workspace)
    assert trigger(us.server, us.journey, body(them)).status_code == status
    assert (everything_of(us.workspace), everything_of(them.workspace)) == before


def test_a_foreign_customer_id_in_a_put_is_not_found(us: Tenant, them: Tenant) -> None:
    before = everything_of(them.workspace)
    answer = us.server.put(f"/api/v1/customers/{us.workspace.id}", {"customerId": them.customer.id, "email": "x@y.zz"})
    assert is_refused(answer)
    assert everything_of(them.workspace) == before


@pytest.mark.parametrize("path", SDK_CALLS)
@pytest.mark.parametrize("identifier", ["userId", "external_id", "email"])
def test_an_app_never_reaches_a_foreign_customer(
    us: Tenant, them: Tenant, sdk: SdkClient, path: str, identifier: str
) -> None:
    before = everything_of(them.workspace)
    value = {"userId": them.customer.id, "external_id": "ada", "email": "ada@example.com"}[identifier]
    data(sdk.post(f"/api/v1/{path}", SDK_CALLS[path]({identifier: value})), status=200)
    assert everything_of(them.workspace) == before


def _calls(patterns: list[Any], prefix: str = "") -> set[tuple[str, str]]:
    """Method and route of everything below the patterns."""
    found: set[tuple[str, str]] = set()
    for pattern in patterns:
        route = prefix + str(pattern.pattern)
        match pattern:
            case URLResolver():
                found |= _calls(pattern.url_patterns, route)
            case URLPattern() if route.startswith("api/v1/"):
                view = getattr(pattern.callback, "view_class", None)
                methods = [name for name in getattr(view, "http_method_names", ()) if hasattr(view, name)]
                found |= {(method.upper(), route.replace("<str:", "{").replace(">", "}")) for method in methods}
    return found


def test_no_call_is_left_out() -> None:
    calls = {(method, path.removeprefix("api/v1/")) for method, path in _calls(get_resolver().url_patterns)}
    of_others = {
        (method, path) for method, path in calls if path.startswith(("sdk/", "schema", "docs")) or path == "me"
    }
    assert calls - of_others == set(CALLS)
    assert {path for _, path in of_others if path.startswith("sdk/")} == set(SDK_CALLS)
