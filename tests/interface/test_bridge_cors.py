"""Browsers call the bridge from any page: they ask first (a preflight), and read an answer only with CORS headers."""

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries, Settings

from customers.models import Customer
from engage.models import Workspace
from tests.support.bridge_calls import both_calls, both_calls_apart, call
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient
from tests.support.factories import AppFactory

ORIGIN = {"Origin": "https://shop.example"}


def preflight(sdk: SdkClient, path: str, **headers: str) -> Answer:
    """What a browser sends first; it does not carry the app's id."""
    asked = {
        **ORIGIN,
        "Access-Control-Request-Method": "POST",
        "Access-Control-Request-Headers": "content-type,x-app-id",
        "X-App-Id": None,
        **headers,
    }
    return sdk.call("OPTIONS", path, headers=asked)


@both_calls
def test_a_preflight_is_answered_without_the_database(
    sdk: SdkClient, path: str, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    with django_assert_num_queries(0):
        answer = preflight(sdk, path)
    assert (answer.status_code, answer.content) == (200, b"")
    assert answer["access-control-allow-origin"] == "*"
    assert "POST" in answer["access-control-allow-methods"]
    assert answer["access-control-max-age"] == "86400"


@both_calls
def test_a_page_may_pack_its_bodies_and_name_its_requests(sdk: SdkClient, path: str) -> None:
    allowed = preflight(sdk, path)["access-control-allow-headers"].split(", ")
    of_every_call = {"accept", "content-type", "x-app-id", "authorization"}
    of_tracing = {"traceparent", "tracestate", "baggage", "sentry-trace"}
    of_libraries = {"x-requested-with", "cache-control"}
    ours = {"content-encoding", "x-request-id", "idempotency-key", "x-identity-token", "if-none-match"}
    assert set(allowed) == of_every_call | ours | of_tracing | of_libraries


@both_calls_apart
def test_a_preflight_counts_against_no_limit(sdk: SdkClient, path: str, settings: Settings) -> None:
    settings.BRIDGE_RATE_LIMIT = "2/d"
    for _ in range(3):
        answer = preflight(sdk, path, **sdk.headers)
        assert answer.status_code == 200
        assert "X-RateLimit-Limit" not in answer
    assert call(sdk, path, {})["X-RateLimit-Remaining"] == "1"


@both_calls
@each("origin", ["https://shop.example", "null"])
def test_an_answer_may_be_read_from_every_origin(sdk: SdkClient, path: str, origin: str) -> None:
    answer = call(sdk, path, {}, headers={"Origin": origin})
    assert answer.status_code == 200
    assert answer["access-control-allow-origin"] == "*"
    assert "access-control-allow-credentials" not in answer
    exposed = answer["access-control-expose-headers"].split(", ")
    limits = {name for name in answer.headers if "RateLimit" in name}
    assert len(limits) == 5
    assert limits | {"X-Request-Id", "Retry-After"} <= set(exposed)


@both_calls
def test_a_page_may_read_that_an_answer_is_the_first_once_more(sdk: SdkClient, path: str) -> None:
    for _ in range(2):
        answer = call(sdk, path, {}, headers={**ORIGIN, "Idempotency-Key": "1"})
    assert answer["Idempotency-Replayed"] == "true"
    assert "Idempotency-Replayed" in answer["access-control-expose-headers"].split(", ")


@both_calls_apart
def test_refusals_may_be_read_too(sdk: SdkClient, path: str, acme: Workspace, settings: Settings) -> None:
    choosy = SdkClient(AppFactory.create(workspace=acme, allowed_origins=["https://other.example"]))
    answers = {
        400: call(sdk, path, {"messageId": None}, headers=ORIGIN),
        401: call(sdk, path, {}, headers={**ORIGIN, "X-App-Id": "unknown"}),
        403: call(choosy, path, {}, headers=ORIGIN),
        404: sdk.post(path + "/more", {}, headers=ORIGIN),
        405: sdk.get(path, headers=ORIGIN),
        413: call(sdk, path, {"padding": "x" * 70_000}, headers=ORIGIN),
        415: sdk.post(path, b"{}", headers=ORIGIN, content_type="text/html"),
    }
    settings.BRIDGE_RATE_LIMIT = "1/d"
    fresh = SdkClient(AppFactory.create(workspace=acme))
    answers[429] = [call(fresh, path, {}, headers=ORIGIN) for _ in range(2)][1]
    for status, answer in answers.items():
        assert (status, answer.status_code) == (status, status)
        assert answer["access-control-allow-origin"] == "*"


TRACK = {"actionType": "track_event", "actionData": {"eventName": "seen"}}  # a capture has no such fields: ignored


@both_calls_apart
@pytest.mark.django_db(transaction=True)
def test_failures_of_ours_may_be_read_too_and_leave_nothing_behind(sdk: SdkClient, path: str) -> None:
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE bridge_interaction RENAME TO elsewhere")
        try:
            answer = call(sdk, path, TRACK, headers=ORIGIN)
        finally:
            cursor.execute("ALTER TABLE elsewhere RENAME TO bridge_interaction")
    assert answer.json() == {
        "success": False,
        "error": "Service unavailable",
        "message": "The database is not set up for this version of the service. Nothing was done; try again later.",
        "code": "service_unavailable",
        "requestId": answer["X-Request-Id"],
    }
    assert (answer.status_code, answer["access-control-allow-origin"]) == (503, "*")
    assert not Customer.objects.exists()


def test_the_calls_of_servers_are_not_for_browsers(sdk: SdkClient, acme: Workspace) -> None:
    answer = sdk.call(
        "OPTIONS",
        f"/api/v1/journeys/{acme.id}/{'f' * 24}/trigger",
        headers={**ORIGIN, "Access-Control-Request-Method": "POST"},
    )
    assert "access-control-allow-origin" not in answer
