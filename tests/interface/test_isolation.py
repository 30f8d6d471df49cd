"""Workspaces isolate everything: every endpoint is crossed with every foreign id, and nothing is seen or changed."""

import json
import re
from collections.abc import Callable, Mapping
from types import NoneType
from typing import Any
from urllib.parse import unquote

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from customers.models import Customer, Segment
from engage.calls.call import Call
from engage.calls.queries import DryRun
from engage.http.views import FOREIGN_WORKSPACE
from engage.json.fields import snake_case
from engage.models import Workspace
from journeys.models import Journey
from tests.interface.tenants import CALLS, Tenant, body_of, everything_of, path_of, tenant
from tests.support.calls import data
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import CustomerFactory, SegmentFactory
from tests.support.tables import taken_back


@pytest.fixture
def us(acme: Workspace, server: ServerClient) -> Tenant:
    return tenant(acme, server)


@pytest.fixture
def them(rival: Workspace, rival_server: ServerClient) -> Tenant:
    return tenant(rival, rival_server)


ID = re.compile(r"(?<=psh_)\w+|[0-9a-f]{24,32}|\d{10,}|\d{4}-\d\d-[\dT:.]+Z")
# The feed's places are numbered by a sequence, which is not taken back.
PLACE = re.compile(r"(?<='next': ')[\w-]+")

# Every call of an SDK, for the identifiers of somebody.
SDK_CALLS: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "sdk/bridge/action": lambda known: {"messageId": "m", "actionType": "close", **known},
    "sdk/bridge/capture": lambda known: {"messageId": "m", "formData": {"hacked": "yes"}, **known},
    "sdk/bridge/batch": lambda known: {
        "calls": [{"call": "capture", "messageId": "m", "formData": {"hacked": "yes"}, **known}]
    },
    "sdk/identify": lambda known: {"userId": "u-1", "external_id": "ada", **known},
}
DELIVERIES = {"sdk/messages", "sdk/bridge/shown"}  # tests/bridge/in_app/test_strangers.py tries them


# What nobody has, also as a key, and in the form of a job's id.
NOBODYS = ("f" * 24, "nobodys-key", "not an id", "%00", "a" * 2000, f"enroll-{'a' * 24}-{'b' * 24}-1")


MISSING = {
    "customerId": {"This workspace has no customer with this customerId."},
    "segmentId": {"This workspace has no such segment."},
    "suppressionId": {"This workspace has no such suppression."},
    "journeyId": {"There is no journey * in this workspace.", "The journey * is not found or not active."},
}


def answers(us: Tenant, call: Call, ids: Mapping[str, str], asked: str) -> list[Any]:
    """To each example of its body, also as a dry run; without the id that was asked for."""
    found = []
    path = path_of(call, ids)
    rehearsed = [f"{path}?dryRun=true"] if issubclass(call.signature.query or NoneType, DryRun) else []
    for address in (path, *rehearsed):
        for body in call.requests.values() or [None]:
            answer = us.server.call(call.method, address, body)
            told = answer.json()
            told["message"] = told["message"].replace(repr(unquote(asked)[:100]), "*")
            found.append((answer.status_code, told | {"requestId": "*"}))
    return found


@pytest.mark.slow
def test_every_foreign_id_in_a_path_is_answered_like_one_that_nobody_has_and_changes_nothing(
    us: Tenant, them: Tenant, subtests: pytest.Subtests
) -> None:
    Journey.objects.filter(id=them.journey.id).update(key="only-theirs")
    Segment.objects.filter(id=them.segment.id).update(key="only-theirs")
    ours, theirs = us.ids(), them.ids()
    before = everything_of(us.workspace), everything_of(them.workspace)
    for call in CALLS:
        for name in [name for name in ours if name != "workspaceId" and f"{{{name}}}" in call.path]:
            with subtests.test(call=call.operation_id, name=name), taken_back():
                asked = (theirs[name], "only-theirs", *NOBODYS)
                foreign, *others = (answers(us, call, {**ours, name: id_}, id_) for id_ in asked)
                thing = name.removesuffix("Id").capitalize()
                assert {(status, told["error"]) for status, told in foreign} == {(404, f"{thing} not found")}
                assert {told["message"] for _, told in foreign} <= MISSING.get(
                    name, {f"There is no {thing.lower()} * in this workspace."}
                )
                for id_, told in zip(asked[1:], others, strict=True):
                    assert told == foreign, id_
                assert (everything_of(us.workspace), everything_of(them.workspace)) == before


# Whom or what a query or a body names, in the place of the star.
NAMED: dict[str, list[tuple[str, Any]]] = {
    "customerId": [
        ("PUT customers/{workspaceId}", {"customerId": "*", "email": "x@example.com"}),
        ("PUT customers/{workspaceId}/batch", {"customers": [{"customerId": "*", "attributes": {"plan": "stolen"}}]}),
        ("POST customers/{workspaceId}/merge", {"anonymous": {"customerId": "*"}, "into": {"external_id": "ada"}}),
        ("POST customers/{workspaceId}/merge", {"anonymous": {"userId": "anon-1"}, "into": {"customerId": "*"}}),
        ("POST customers/{workspaceId}/events", {"customerId": "*", "eventName": "seen"}),
        ("POST customers/{workspaceId}/events", {"events": [{"customerId": "*", "eventName": "seen"}]}),
        ("POST journeys/{workspaceId}/{journeyId}/trigger", {"customerId": "*"}),
        ("POST journeys/{workspaceId}/{journeyId}/entrances/order-1042/exit", {"customerId": "*"}),
    ],
    "external_id": [
        ("GET customers/{workspaceId}?external_id=*", None),
        ("POST customers/{workspaceId}/merge", {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "*"}}),
        ("POST customers/{workspaceId}/events", {"external_id": "*", "eventName": "seen"}),
        ("POST customers/{workspaceId}/segments/{segmentId}/members", {"add": ["*"]}),
        ("POST customers/{workspaceId}/segments/{segmentId}/members", {"remove": ["*"]}),
        ("POST journeys/{workspaceId}/{journeyId}/trigger", {"external_id": "*"}),
        ("POST journeys/{workspaceId}/{journeyId}/entrances/order-1042/exit", {"external_id": "*"}),
    ],
    "email": [
        ("GET customers/{workspaceId}?email=*", None),
        ("POST journeys/{workspaceId}/{journeyId}/trigger", {"email": "*"}),
    ],
    "segmentId": [
        ("POST journeys/{workspaceId}/{journeyId}/trigger", {"segment_ids": ["*"]}),
        ("POST journeys/{workspaceId}/{journeyId}/trigger", {"external_ids": ["ada"], "segment_ids": ["*"]}),
    ],
}


@pytest.mark.slow
def test_what_is_named_of_others_is_answered_like_what_nobody_has_and_changes_nothing(
    us: Tenant, them: Tenant, subtests: pytest.Subtests
) -> None:
    CustomerFactory.create(workspace=us.workspace, user_id="anon-1")
    theirs = CustomerFactory.create(workspace=them.workspace, external_id="theirs", email="theirs@example.com")
    SegmentFactory.create(workspace=them.workspace, members=[theirs])
    known = {
        "customerId": (theirs.id, "f" * 24),
        "external_id": ("theirs", "nobody"),
        "email": ("theirs@example.com", "nobody@example.com"),
        "segmentId": (them.segment.id, "f" * 24),
    }
    before = everything_of(us.workspace), everything_of(them.workspace)
    for name, calls in NAMED.items():
        for call, body in calls:
            told = []
            for value in known[name]:
                method, _, path = call.replace("*", value).format(**us.ids()).partition(" ")
                sent = json.dumps(body).replace("*", value)
                answer = us.server.call(method, f"/api/v1/{path}", None if body is None else json.loads(sent))
                assert (everything_of(us.workspace), everything_of(them.workspace)) == before, (call, body)
                masked = answer.content.decode().replace(value, "*")
                told.append((answer.status_code, json.loads(masked) | {"requestId": "*"}))
            with subtests.test(call=call, body=body):
                assert told[0][0] < 500
                assert told[0] == told[1]


@pytest.mark.slow
def test_a_foreign_workspace_is_answered_like_a_missing_one_and_nothing_changes(
    us: Tenant, them: Tenant, subtests: pytest.Subtests
) -> None:
    def told(call: Call, ids: Mapping[str, str]) -> Any:
        answer = us.server.call(call.method, path_of(call, ids), body_of(call))
        return answer.status_code, answer.json() | {"requestId": "*"}

    before = everything_of(us.workspace), everything_of(them.workspace)
    for call in CALLS:
        with subtests.test(call=call.operation_id), taken_back():
            for ids in (us.ids(), them.ids()):
                foreign, *nobodys = (
                    told(call, {**ids, "workspaceId": id_})
                    for id_ in (them.workspace.id, them.workspace.key, *NOBODYS[:2])
                )
                assert foreign[0] == 404
                assert foreign[1]["message"].endswith(f" {FOREIGN_WORKSPACE}")
                assert nobodys == [foreign] * 3
                assert foreign[1]["error"] == (call.missing("…").error if call.missing else "Workspace not found")
            assert (everything_of(us.workspace), everything_of(them.workspace)) == before
            assert FOREIGN_WORKSPACE not in str(told(call, us.ids()))


@pytest.mark.slow
def test_a_key_stands_wherever_its_id_may(us: Tenant, subtests: pytest.Subtests) -> None:
    keys = {"workspaceId": us.workspace.key, "journeyId": us.journey.key, "segmentId": us.segment.key}
    keys["connectionId"] = us.connection.key
    for call in CALLS:
        with subtests.test(call=call.operation_id):
            found = []
            for ids in (us.ids(), us.ids() | keys):
                with taken_back():
                    answer = us.server.call(call.method, path_of(call, ids), body_of(call))
                    found.append((answer.status_code, ID.sub("", PLACE.sub("", str(answer.json())))))
            assert found[0] == found[1]


@each("path", SDK_CALLS)
@each("named", [("userId",), ("external_id",), ("email",), ("phone",), ("external_id", "phone")])
def test_an_app_never_reaches_a_foreign_customer(
    us: Tenant, them: Tenant, sdk: SdkClient, path: str, named: tuple[str, ...]
) -> None:
    theirs = them.customer
    known = {"userId": theirs.id, "external_id": "x-1", "email": theirs.email, "phone": "+4915112345678"}
    Customer.objects.filter(pk=theirs.pk).update(external_id="x-1", phone="+4915112345678")
    before = everything_of(them.workspace)
    data(sdk.post(f"/api/v1/{path}", SDK_CALLS[path]({name: str(known[name]) for name in named})), status=200)
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
                found |= {
                    (method.upper(), route.replace("<str:", "{").replace("<path:", "{").replace(">", "}"))
                    for method in methods
                }
    return found


def test_no_call_is_left_out() -> None:
    calls = {(method, path.removeprefix("api/v1/")) for method, path in _calls(get_resolver().url_patterns)}
    known = {(call.method, re.sub(r"\{\w+\}", lambda name: snake_case(name[0]), call.path)) for call in CALLS}
    of_others = {
        (method, path) for method, path in calls if path.startswith(("sdk/", "schema", "docs")) or path == "me"
    }
    assert calls - of_others == known
    assert {path for _, path in of_others if path.startswith("sdk/")} == set(SDK_CALLS) | DELIVERIES
