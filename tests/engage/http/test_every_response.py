"""What holds for every response: the request id, JSON also where Django itself answers, 503 without the database."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test import Client

from engage.models import Workspace
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient


@each("sent", ["abc", "A-b_9", "x" * 64])
def test_a_request_id_that_fits_is_taken_and_echoed(server: ServerClient, sent: str) -> None:
    answer = server.get("/api/v1/nothing", headers={"X-Request-Id": sent})
    assert answer["X-Request-Id"] == sent == answer.json()["requestId"]


@each("sent", ["", "x" * 65, "a b", "a\nb", "é", "{}", "a/b", "a.b", "a:b", "a~b"])
def test_another_request_id_is_replaced(server: ServerClient, sent: str) -> None:
    answer = server.get("/api/v1/nothing", headers={"X-Request-Id": sent})
    assert re.fullmatch(r"[0-9a-f]{32}", answer["X-Request-Id"])
    assert answer.json()["requestId"] == answer["X-Request-Id"]


@each("path", ["/adminx", "/api", "/api/v1/", "/api/v1/journeys", "/api/v2/journeys/a/b/trigger", "/%00"])
def test_an_unknown_address_is_a_404_in_json(server: ServerClient, path: str) -> None:
    refused(server.get(path), status=404, error="Not found")


TRIGGER = "/api/v1/journeys/{workspaceId}/{journeyId}/trigger"
EXIT = "/api/v1/journeys/{workspaceId}/enrollments/{enrollmentId}/exit"


@each(
    "path, hint",
    [
        ("/api/v1/journeys/w/j/trigger/", f" Is {TRIGGER} meant, without a slash at its end?"),
        ("/api/v1//journeys/w/j/trigger", f" Is {TRIGGER} meant?"),
        ("/api/v1/journeys/enrollments/e/exit", f" Is {EXIT} meant?"),
        ("/api/v1/journeys/enrollments/e/exit/", f" Is {EXIT} meant, without a slash at its end?"),
        ("/api/journeys/w/j/trigger", f" Is {TRIGGER} meant?"),
        ("/api/v2/journeys/w/j/trigger", f" Is {TRIGGER} meant?"),
        ("/journeys/w/j/trigger", f" Is {TRIGGER} meant?"),
        ("/api/v1/api/v1/journeys/w/j/trigger", f" Is {TRIGGER} meant?"),
        ("/api/v1/journeys", " Is /api/v1/journeys/{workspaceId} meant?"),
        ("/api/v1/customers", " Is /api/v1/customers/{workspaceId} meant?"),
        ("/api/v1/sdk/bridge/action/", " Is /api/v1/sdk/bridge/action meant, without a slash at its end?"),
        ("/sdk/bridge/capture", " Is /api/v1/sdk/bridge/capture meant?"),
        ("/schema", " Is /api/v1/schema meant?"),
        ("/api/v1/journeys/w/j/start", ""),
        ("/wp-login.php", ""),
        ("/%00/%2e%2e/", ""),
        ("/a" * 4000, ""),
    ],
)
@each("method", ["POST", "GET"])
def test_an_address_that_is_nearly_one_gets_a_hint(server: ServerClient, path: str, hint: str, method: str) -> None:
    message = refused(server.call(method, path, {}), status=404, error="Not found")
    assert message == f"There is nothing at this address.{hint}"


@each(
    "method, path, taken",
    [("GET", "journeys/w/j/trigger", "POST"), ("PATCH", "journeys/w/jobs/j", "GET, DELETE, HEAD")],
)
def test_another_method_is_told_which_ones_there_are(server: ServerClient, method: str, path: str, taken: str) -> None:
    answer = server.call(method, f"/api/v1/{path}", {})
    message = refused(answer, status=405, error="Method not allowed")
    assert message == f'Method "{method}" not allowed; this address takes {taken}.'
    assert answer["Allow"] == taken


def test_the_front_door_names_the_documentation_and_the_admin(server: ServerClient) -> None:
    answer = server.get("/")
    assert (answer.status_code, answer["Content-Type"]) == (200, "application/json")
    assert answer.json()["data"] == {"documentation": "/api/v1/docs", "schema": "/api/v1/schema", "admin": "/admin/"}
    refused(server.post("/", {}), status=405, error="Method not allowed")


@each("path, address", [("/admin", "/admin/"), ("/api/v1/docs/", "/api/v1/docs")])
def test_a_slash_too_many_or_too_few_leads_on_without_html(path: str, address: str) -> None:
    answer = Client().get(path)
    assert (answer.status_code, answer["Location"], answer.content) == (301, address, b"")
    assert "Content-Type" not in answer
    refused(Answer.of(Client().post(path)), status=405, error="Method not allowed")


@each("path", ["/", "/admin", "/api/v1/docs", "/api/v1/docs/", "/api/v1/schema"])
def test_what_is_not_served_is_not_said_to_be_allowed(path: str) -> None:
    answer = Answer.of(Client().options(path))
    refused(answer, status=405, error="Method not allowed")
    assert "OPTIONS" not in answer["Allow"]


@each("accepted", ["", " ", ",", "*", "*; q=.2", "text/html, image/gif, *; q=.2", "*/*",
                   "application/json;q=0.5", "application/*;q=0, application/json", "text/html;q=0, */*"])  # fmt: skip
def test_json_is_served_to_who_accepts_anything(server: ServerClient, acme: Workspace, accepted: str) -> None:
    answer = server.get(f"/api/v1/journeys/{acme.id}/jobs/none", headers={"Accept": accepted})
    refused(answer, status=404, error="Job not found")


@each("accepted", ["text/html", "text/*", "*html", "*/html", "text/html;*", "application/json;q=0",
                   "application/json; q=0.000, */*", "*/*;q=0", "*;q=0", "application/*;q=0 , */*;q=1"])  # fmt: skip
def test_who_accepts_no_json_is_told_so(server: ServerClient, acme: Workspace, accepted: str) -> None:
    answer = server.get(f"/api/v1/journeys/{acme.id}/jobs/none", headers={"Accept": accepted})
    assert refused(answer, status=406, error="Not acceptable") == "The service answers in application/json only."


def test_a_format_in_the_query_is_a_parameter_that_nobody_knows(server: ServerClient) -> None:
    answer = server.get("/api/v1/journeys/a/jobs/b?format=yaml")
    refused(answer, status=404, error="Job not found")


@each("headers", [{}, {"Idempotency-Key": "1"}])
def test_more_parameters_than_django_reads_are_a_400(
    server: ServerClient, acme: Workspace, headers: dict[str, str]
) -> None:
    many = "&".join(f"a{number}=1" for number in range(1001))
    path = f"/api/v1/journeys/{acme.id}/{'a' * 24}/trigger?{many}"
    answer = server.post(path, {"external_id": "ada"}, headers=headers)
    assert refused(answer, status=400, error="Invalid request") == "The request could not be understood."
    refused(server.get(f"/api/v1/customers/{acme.id}?{many}"), status=400, error="Invalid request")


def test_a_bad_host_is_a_400_in_json(server: ServerClient, settings: Any) -> None:
    settings.ALLOWED_HOSTS = ["engage.example"]
    answer = Answer.of(Client().get("/api/v1/nothing", headers={"Host": "evil.example"}))
    assert answer["Content-Type"] == "application/json"
    refused(answer, status=400, error="Invalid request")


@each(
    "method, path",
    [
        ("GET", "journeys/{}/jobs/x"),
        ("DELETE", "journeys/{}/jobs/x"),
        ("GET", "journeys/{}/triggers/x"),
        ("GET", "customers/{}/x"),
        ("DELETE", "customers/{}/x"),
    ],
)
def test_a_bad_host_is_a_documented_400_everywhere(
    server: ServerClient, acme: Workspace, method: str, path: str
) -> None:
    answer = server.call(method, f"/api/v1/{path.format(acme.id)}", headers={"Host": "a_b"})
    assert refused(answer, status=400, error="Invalid request") == "The request could not be understood."


@pytest.fixture
def database_is_away(db: None) -> Iterator[None]:
    """Every statement fails as if the server had gone."""

    def fail(*_: object) -> None:
        raise OperationalError("server closed the connection; it was about ada@example.com")

    with connection.execute_wrapper(fail):
        yield


def test_without_the_database_the_answer_is_503_and_claims_nothing(
    server: ServerClient, database_is_away: None
) -> None:
    answer = server.get("/api/v1/journeys/a/jobs/b")
    message = refused(answer, status=503, error="Service unavailable")
    assert "Nothing is known to have been done" in message
    assert "ada" not in message
    assert answer["Retry-After"] == "1"
