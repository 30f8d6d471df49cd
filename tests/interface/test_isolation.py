"""Workspaces isolate everything: every endpoint is crossed with every foreign id, and nothing is seen or changed."""

import re
from collections.abc import Callable
from typing import Any

import pytest
from django.urls import URLPattern, URLResolver, get_resolver

from customers.models import Segment
from engage.http.views import FOREIGN_WORKSPACE
from engage.models import Workspace
from tests.interface.tenants import CALLS, Tenant, address, everything_of, tenant
from tests.support.calls import data, trigger
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.tables import taken_back


@pytest.fixture
def us(acme: Workspace, server: ServerClient) -> Tenant:
    return tenant(acme, server)


@pytest.fixture
def them(rival: Workspace, rival_server: ServerClient) -> Tenant:
    return tenant(rival, rival_server)


ID = re.compile(r"[0-9a-f]{24,32}|\d{10,}|\d{4}-\d\d-[\dT:.]+Z")
NAMED = re.compile(r"\{(\w+)\}")

# Every call of an SDK, for the identifiers of somebody.
SDK_CALLS: dict[str, Callable[[dict[str, str]], dict[str, Any]]] = {
    "sdk/bridge/action": lambda known: {"messageId": "m", "actionType": "close", **known},
    "sdk/bridge/capture": lambda known: {"messageId": "m", "formData": {"hacked": "yes"}, **known},
    "sdk/bridge/batch": lambda known: {
        "calls": [{"call": "capture", "messageId": "m", "formData": {"hacked": "yes"}, **known}]
    },
    "sdk/identify": lambda known: {"userId": "u-1", "external_id": "ada", **known},
}


def is_refused(answer: Answer) -> bool:
    return answer.status_code == 404 and answer.json()["success"] is False


def as_said(answer: Answer) -> str:
    """The answer without what differs from call to call."""
    return ID.sub("", str(answer.json()))


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


def test_a_key_stands_wherever_its_id_may(us: Tenant, subtests: pytest.Subtests) -> None:
    keys = {"workspace_id": us.workspace.key, "journey_id": us.journey.key, "segment_id": us.segment.key}
    for (method, path), body in CALLS.items():
        with subtests.test(call=f"{method} {path}"):
            answers = []
            for ids in (us.ids(), us.ids() | keys):
                with taken_back():
                    answers.append(us.server.call(method, address(method, path, ids), body))
            by_id, by_key = answers
            assert by_key.status_code == by_id.status_code
            assert as_said(by_key) == as_said(by_id)


def test_a_foreign_key_is_as_unknown_as_any(us: Tenant, them: Tenant, subtests: pytest.Subtests) -> None:
    for thing in (them.journey, them.segment):
        type(thing).objects.filter(id=thing.id).update(key="only-theirs")
    before = everything_of(us.workspace), everything_of(them.workspace)
    for (method, path), body in CALLS.items():
        for name in {"workspace_id", "journey_id", "segment_id"} & set(NAMED.findall(path)):
            with subtests.test(call=f"{method} {path}", name=name), taken_back():
                theirs = them.workspace.key if name == "workspace_id" else "only-theirs"
                foreign, unknown = (
                    us.server.call(method, address(method, path, {**us.ids(), name: key}), body)
                    for key in (theirs, "nobodys")
                )
                assert is_refused(foreign), foreign
                assert as_said(foreign).replace(theirs, "nobodys") == as_said(unknown)
                assert (everything_of(us.workspace), everything_of(them.workspace)) == before


@pytest.mark.parametrize(
    ("body", "status"),
    [
        (lambda them: {"segment_ids": [Segment.objects.create(workspace=them.workspace, key="theirs").key]}, 400),
        (lambda them: {"customerId": them.customer.id}, 404),
        (lambda them: {"segment_ids": [them.segment.id]}, 400),
        (lambda them: {"external_ids": ["ada"], "segment_ids": [them.segment.id]}, 400),
    ],
)
def test_every_foreign_id_in_a_trigger_s_body_is_refused(us: Tenant, them: Tenant, body: Any, status: int) -> None:
    sent = body(them)
    before = everything_of(us.workspace), everything_of(them.workspace)
    assert trigger(us.server, us.journey, sent).status_code == status
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
