"""Who may make the calls of servers, and how often."""

import re
from typing import Any

import pytest

import config.urls  # noqa: F401 (so that all calls are known)
from customers.models import Customer
from engage.calls.call import Call
from engage.models import Workspace
from tests.support.calls import customers_path, refused
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import ApiKeyFactory
from tests.support.tables import taken_back

NOBODY = "0" * 24
CALLS = [call for call in Call.all() if call.signature.is_of_server]


def make(call: Call, workspace: Workspace, server: ServerClient, **options: Any) -> Answer:
    """Makes the call with the first example of its body, of what the workspace does not have."""
    path = re.sub(r"\{\w+\}", NOBODY, call.path.replace("{workspaceId}", workspace.id))
    return server.call(call.method, f"/api/v1/{path}", next(iter(call.requests.values()), None), **options)


def test_a_call_needs_a_valid_key(acme: Workspace, server: ServerClient, subtests: pytest.Subtests) -> None:
    for call in CALLS:
        with subtests.test(call=call.operation_id):
            for sent in (None, "Bearer engage_wrong", "Basic abc"):
                answer = make(call, acme, server, headers={"Authorization": sent})
                refused(answer, status=401, error="Unauthorized")
                assert answer["WWW-Authenticate"] == "Bearer"
    assert not Customer.objects.exists()


@each("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_written_in_any_case(acme: Workspace, server: ServerClient, scheme: str) -> None:
    sent = server.headers["Authorization"].replace("Bearer", scheme)
    answer = server.put(customers_path(acme), {"external_id": "ada"}, headers={"Authorization": sent})
    assert answer.status_code == 201


def test_every_answer_tells_the_limit_also_a_refusal(acme: Workspace, subtests: pytest.Subtests) -> None:
    for call in CALLS:
        with subtests.test(call=call.operation_id), taken_back():
            key = ApiKeyFactory.create(workspace=acme)
            limit, seconds = key.rate_for(call.policy, reads=call.method == "GET")
            answer = make(call, acme, ServerClient(key))
            assert answer["X-RateLimit-Limit"] == str(limit)
            assert answer["X-RateLimit-Remaining"] == str(limit - 1)
            assert answer["RateLimit-Policy"] == f'"{call.policy}";q={limit};w={seconds}'


@each("limits, allowed", [({"rate_limit": "1/h"}, 10), ({"rate_limit": "9/h", "customers_rate_limit": "2/h"}, 2)])
def test_calls_about_customers_have_limits_of_their_own(acme: Workspace, limits: dict[str, str], allowed: int) -> None:
    server = ServerClient(ApiKeyFactory.create(workspace=acme, **limits))
    written = [server.put(customers_path(acme), {"external_id": f"ada-{number}"}) for number in range(allowed + 1)]
    assert [answer.status_code for answer in written] == [201] * allowed + [429]
    refused(written[-1], status=429, error="Rate limit exceeded")
    assert int(written[-1]["Retry-After"]) >= 1
    assert written[0]["RateLimit-Policy"] == f'"customers";q={allowed};w=3600'
    read = [server.get(f"{customers_path(acme)}?external_id=ada-0") for _ in range(allowed + 1)]
    assert [answer.status_code for answer in read] == [200] * allowed + [429]
    assert Customer.objects.count() == allowed


@each(
    "method, below",
    [("POST", []), ("DELETE", []), ("PUT", ["batch"]), ("PATCH", [NOBODY]), ("PUT", ["segments", NOBODY, "members"])],
)
def test_a_method_that_a_path_does_not_have_is_refused(
    acme: Workspace, server: ServerClient, method: str, below: list[str]
) -> None:
    refused(server.call(method, customers_path(acme, *below), {}), status=405, error="Method not allowed")
