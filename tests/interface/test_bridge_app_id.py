"""`X-App-Id` identifies the application; no secret is sent with the bridge's calls."""

import logging
from typing import Any, Never

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from structlog.testing import capture_logs

from engage.models import App, Workspace
from tests.support.bridge_calls import ACTION, both_calls, both_calls_apart, call, refused_without_a_trace
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import ApiKeyFactory, AppFactory


@both_calls
@each("app_id", [None, "", "acme", "f" * 24, "F" * 24, "é", "' OR 1=1 --"])
def test_a_missing_or_unknown_app_id_is_refused(sdk: SdkClient, path: str, app_id: str | None) -> None:
    answer = call(sdk, path, {}, headers={"X-App-Id": app_id})
    refused_without_a_trace(answer, status=401, error="Invalid app id")
    assert answer.json() == {
        "success": False,
        "error": "Invalid app id",
        "message": "The header X-App-Id, or app in the query string, must hold the id of an enabled app.",
        "code": "invalid_app_id",
        "requestId": answer["X-Request-Id"],
    }


@both_calls
def test_an_app_that_is_switched_off_is_refused(sdk: SdkClient, path: str) -> None:
    App.objects.filter(id=sdk.app.id).update(enabled=False)
    refused_without_a_trace(call(sdk, path, {}), status=401, error="Invalid app id")


@both_calls
def test_the_app_is_checked_before_the_body_is_read(sdk: SdkClient, path: str) -> None:
    answer = sdk.post(path, b"no json", headers={"X-App-Id": None})
    refused_without_a_trace(answer, status=401, error="Invalid app id")


@both_calls_apart
@pytest.mark.parametrize("header", ["Authorization", "X-App-Id"])
def test_an_api_key_sent_to_the_bridge_is_refused_and_flagged(
    sdk: SdkClient, server: ServerClient, path: str, header: str, caplog: pytest.LogCaptureFixture
) -> None:
    secret = server.headers["Authorization"].removeprefix("Bearer ")
    value = {"Authorization": f"Bearer {secret}", "X-App-Id": secret}[header]
    with caplog.at_level(logging.INFO):
        message = refused_without_a_trace(call(sdk, path, {}, headers={header: value}))
    assert message == (
        "An API key was sent to the bridge. It has leaked into a client: revoke it, and send only X-App-Id."
    )
    lines = [str(vars(record)) for record in caplog.records]
    assert any("api_key_in_browser" in line for line in lines)
    assert not any(secret in line for line in lines)


@both_calls
@each("revoked", [False, True])
@each(
    "header, value",
    [("Authorization", "Bearer {}"), ("Authorization", "bearer  {} "), ("Authorization", "{}"), ("X-App-Id", "{}")],
)
def test_the_log_names_the_key_that_was_sent_to_the_bridge(
    sdk: SdkClient, acme: Workspace, rival: Workspace, path: str, header: str, value: str, revoked: bool
) -> None:
    key = ApiKeyFactory.create(workspace=acme, revoked_at=timezone.now() if revoked else None)
    ApiKeyFactory.create(workspace=rival)
    secret = vars(key)["secret"]
    with capture_logs() as lines, CaptureQueriesContext(connection) as queries:
        refused_without_a_trace(call(sdk, path, {}, headers={header: value.format(secret)}))
    (line,) = (line for line in lines if line["event"] == "api_key_in_browser")
    assert (line["api_key_id"], line["workspace_id"]) == (key.id, acme.id)
    assert secret not in str(lines)
    assert len([query for query in queries if "engage_apikey" in query["sql"]]) == 1
    key.refresh_from_db()
    assert key.last_used_at is None


@both_calls
def test_a_key_sent_to_the_bridge_is_flagged_without_a_database(
    sdk: SdkClient, server: ServerClient, path: str
) -> None:
    def cut(*_: Any) -> Never:
        raise OperationalError("server closed the connection")

    with capture_logs() as lines, connection.execute_wrapper(cut):
        answer = call(sdk, path, {}, headers={"Authorization": server.headers["Authorization"]})
    refused(answer, status=400, error="Invalid request")
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["api_key_in_browser"]


@both_calls
def test_what_only_looks_like_a_key_is_flagged_without_a_query(sdk: SdkClient, path: str) -> None:
    with capture_logs() as lines, CaptureQueriesContext(connection) as queries:
        refused_without_a_trace(call(sdk, path, {}, headers={"X-App-Id": f"engage_{'x' * 38}"}))
    (line,) = (line for line in lines if line["event"] == "api_key_in_browser")
    assert "api_key_id" not in line
    assert not [query for query in queries if "engage_apikey" in query["sql"]]


# Origins -------------------------------------------------------------------------------------------------------------


@both_calls
@each("origin", ["https://shop.example", "HTTPS://SHOP.EXAMPLE", "null", "http://[", None])
def test_without_a_list_an_app_allows_every_origin(sdk: SdkClient, path: str, origin: str | None) -> None:
    assert call(sdk, path, {}, headers={"Origin": origin}).status_code == 200


@both_calls
@each("origin", ["https://shop.example", "https://Shop.Example", "http://localhost:3000", None])
def test_an_origin_on_the_list_of_the_app_is_allowed(acme: Workspace, path: str, origin: str | None) -> None:
    sdk = SdkClient(
        AppFactory.create(workspace=acme, allowed_origins=["https://shop.example/", "http://localhost:3000"])
    )
    assert call(sdk, path, {}, headers={"Origin": origin}).status_code == 200


@both_calls
@each(
    "origin",
    [
        "https://evil.example",
        "http://shop.example",
        "https://shop.example:8443",
        "https://shop.example.evil.example",
        "null",
        "http://[",
        "",
    ],
)
def test_an_origin_that_is_not_on_the_list_is_refused(acme: Workspace, path: str, origin: str) -> None:
    sdk = SdkClient(AppFactory.create(workspace=acme, allowed_origins=["https://shop.example"]))
    answer = call(sdk, path, {}, headers={"Origin": origin})
    refused_without_a_trace(answer, status=403, error="Origin not allowed")
    assert (answer["X-RateLimit-Limit"], answer["X-RateLimit-Remaining"]) == ("600", "599")


def test_of_a_long_origin_only_the_beginning_is_repeated(acme: Workspace) -> None:
    sdk = SdkClient(AppFactory.create(workspace=acme, allowed_origins=["https://shop.example"]))
    answer = call(sdk, ACTION, {}, headers={"Origin": "https://" + "x" * 8000})
    assert len(refused(answer, status=403, error="Origin not allowed")) < 200


def test_the_list_of_one_app_says_nothing_about_another(acme: Workspace, rival_sdk: SdkClient) -> None:
    AppFactory.create(workspace=acme, allowed_origins=["https://shop.example"])
    assert call(rival_sdk, ACTION, {}, headers={"Origin": "https://elsewhere.example"}).status_code == 200


@both_calls
def test_only_post_is_served(sdk: SdkClient, path: str) -> None:
    for method in ("GET", "PUT", "DELETE", "OPTIONS"):
        refused(sdk.call(method, path), status=405, error="Method not allowed")


def test_a_trailing_slash_leads_nowhere(sdk: SdkClient) -> None:
    refused(sdk.post(ACTION + "/", {}), status=404, error="Not found")
