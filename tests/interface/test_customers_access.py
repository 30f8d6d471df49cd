"""Who may make the customers' calls, and how often."""

from typing import Any

import pytest

from config.docs.documentation import openapi_document
from customers.models import Customer
from engage.models import Workspace
from tests.support.calls import customers_path, refused
from tests.support.clients import ServerClient
from tests.support.factories import ApiKeyFactory

NOBODY = "0" * 24
CALLS: list[tuple[str, list[str], Any]] = [
    ("PUT", [], {"external_id": "new"}),
    ("GET", [], None),
    ("POST", ["batch"], {"customers": [{"external_id": "new"}]}),
    ("POST", ["events"], {"external_id": "ada", "eventName": "seen"}),
    ("POST", ["merge"], {"anonymous": {"userId": "u-1"}, "into": {"external_id": "ada"}}),
    ("GET", [NOBODY], None),
    ("DELETE", [NOBODY], None),
    ("GET", [NOBODY, "export"], None),
    ("GET", [NOBODY, "journeys"], None),
    ("POST", ["segments", NOBODY, "members"], {"add": ["ada"]}),
]
every_call = pytest.mark.parametrize(("method", "below", "body"), CALLS)


def test_no_call_about_customers_is_left_out() -> None:
    documented = [
        (method.upper(), [NOBODY if part.startswith("{") else part for part in path.split("/")[5:]])
        for path, operations in openapi_document()["paths"].items()
        for method in operations
        if path.startswith("/api/v1/customers/")
    ]
    assert sorted(documented) == sorted((method, below) for method, below, _ in CALLS)


@every_call
def test_a_call_needs_a_valid_key(
    acme: Workspace, server: ServerClient, method: str, below: list[str], body: Any
) -> None:
    for sent in (None, "Bearer engage_wrong", "Basic abc"):
        answer = server.call(method, customers_path(acme, *below), body, headers={"Authorization": sent})
        refused(answer, status=401, error="Unauthorized")
        assert answer["WWW-Authenticate"] == "Bearer"
    assert not Customer.objects.exists()


@pytest.mark.parametrize("scheme", ["Bearer", "bearer", "BEARER"])
def test_the_scheme_may_be_written_in_any_case(acme: Workspace, server: ServerClient, scheme: str) -> None:
    sent = server.headers["Authorization"].replace("Bearer", scheme)
    answer = server.put(customers_path(acme), {"external_id": "ada"}, headers={"Authorization": sent})
    assert answer.status_code == 201


@every_call
def test_every_answer_tells_the_limit_also_a_refusal(
    acme: Workspace, server: ServerClient, method: str, below: list[str], body: Any
) -> None:
    answer = server.call(method, customers_path(acme, *below), body)
    limit = 10_000_000
    assert answer["X-RateLimit-Limit"] == str(limit)
    assert answer["X-RateLimit-Remaining"] == str(limit - 1)
    policy = {"events": "events", "journeys": "lookup"}.get("".join(below[-1:]), "customers")
    assert answer["RateLimit-Policy"] == f'"{policy}";q={limit};w=60'


@pytest.mark.parametrize(
    ("limits", "allowed"), [({"rate_limit": "1/h"}, 10), ({"rate_limit": "9/h", "customers_rate_limit": "2/h"}, 2)]
)
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


@pytest.mark.parametrize(
    ("method", "below"),
    [("POST", []), ("DELETE", []), ("PUT", ["batch"]), ("PATCH", [NOBODY]), ("GET", ["segments", NOBODY, "members"])],
)
def test_a_method_that_a_path_does_not_have_is_refused(
    acme: Workspace, server: ServerClient, method: str, below: list[str]
) -> None:
    refused(server.call(method, customers_path(acme, *below), {}), status=405, error="Method not allowed")
