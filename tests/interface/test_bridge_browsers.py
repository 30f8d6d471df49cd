"""The bridge for browsers: a call that is text/plain, with the app in the address, needs no preflight."""

import json
from datetime import datetime, timedelta
from typing import Any

from django.utils import timezone
from pytest_django import DjangoAssertNumQueries

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.json.instants import iso_utc
from engage.models import Workspace
from tests.support.bridge_calls import ACTION, CAPTURE, LEAST, both_calls, call, refused_without_a_trace
from tests.support.calls import data, refused
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient, ServerClient
from tests.support.factories import AppFactory, CustomerFactory

TRACK = {"actionType": "track_event", "actionData": {"eventName": "seen"}}
CAPTURED = {"formData": {"city": "Ulm"}, "submitAction": {"type": "track_event", "eventName": "seen"}}


def simple(sdk: SdkClient, path: str, fields: dict[str, Any], *, app: str | None = None, **options: Any) -> Answer:
    """The call as a browser sends it without a preflight."""
    headers = {"X-App-Id": None, "Origin": "https://shop.example", **options.pop("headers", {})}
    body = json.dumps({**LEAST[path], **fields}).encode()
    content_type = "text/plain;charset=UTF-8"
    return sdk.post(f"{path}?app={app or sdk.app.id}", body, content_type=content_type, headers=headers, **options)


@both_calls
def test_a_call_may_come_as_plain_text_with_the_app_in_the_address(sdk: SdkClient, path: str) -> None:
    answer = simple(sdk, path, {})
    assert answer.status_code == 200
    assert answer["access-control-allow-origin"] == "*"
    assert Interaction.objects.get().app_id == sdk.app.id


@both_calls
def test_the_header_comes_before_the_address(sdk: SdkClient, rival_sdk: SdkClient, path: str) -> None:
    assert sdk.post(f"{path}?app={rival_sdk.app.id}", LEAST[path]).status_code == 200
    assert Interaction.objects.get().app_id == sdk.app.id


@both_calls
@each("app", ["nobody", "f" * 24])
def test_an_unknown_app_in_the_address_is_refused(sdk: SdkClient, path: str, app: str) -> None:
    refused_without_a_trace(simple(sdk, path, {}, app=app), status=401, error="Invalid app id")


@both_calls
def test_an_api_key_in_the_address_has_leaked(sdk: SdkClient, server: ServerClient, path: str) -> None:
    secret = server.headers["Authorization"].removeprefix("Bearer ")
    assert "has leaked" in refused_without_a_trace(simple(sdk, path, {}, app=secret))


@both_calls
def test_origins_and_sizes_hold_as_ever(acme: Workspace, path: str) -> None:
    choosy = SdkClient(AppFactory.create(workspace=acme, allowed_origins=["https://other.example"]))
    refused_without_a_trace(simple(choosy, path, {}), status=403, error="Origin not allowed")
    other = {"Origin": "https://other.example"}
    refused_without_a_trace(
        simple(choosy, path, {"more": "x" * 70_000}, headers=other), status=413, error="Body too large"
    )
    assert simple(choosy, path, {}, headers=other).status_code == 200


def test_servers_still_send_json_alone(server: ServerClient, acme: Workspace) -> None:
    answer = server.put(f"/api/v1/customers/{acme.id}", b'{"external_id": "a"}', content_type="text/plain")
    refused_without_a_trace(answer, status=415, error="Unsupported media type")


# Once per key --------------------------------------------------------------------------------------------------------


@both_calls
def test_a_key_in_the_body_is_that_of_the_header(sdk: SdkClient, path: str) -> None:
    first = simple(sdk, path, {"idempotencyKey": "k", "identityToken": "one"})
    assert "Idempotency-Replayed" not in first
    later = {"identityToken": "two", "occurredAt": iso_utc(timezone.now())}  # it is still the same call
    for again in (
        simple(sdk, path, {"idempotencyKey": "k", **later}),
        call(sdk, path, {}, headers={"Idempotency-Key": "k"}),
        call(sdk, path, {"idempotencyKey": "k"}, headers={"Idempotency-Key": "k"}),
    ):
        assert again["Idempotency-Replayed"] == "true"
        assert again.json() == first.json()
    assert Interaction.objects.count() == 1


@both_calls
@each("key", ["", " ", "é", "x" * 256, 7, ["k"]])
def test_a_malformed_key_is_refused(sdk: SdkClient, path: str, key: Any) -> None:
    assert "Idempotency" in refused_without_a_trace(simple(sdk, path, {"idempotencyKey": key})).replace("idem", "Idem")


@both_calls
def test_two_keys_that_differ_are_refused(sdk: SdkClient, path: str) -> None:
    message = refused_without_a_trace(call(sdk, path, {"idempotencyKey": "a"}, headers={"Idempotency-Key": "b"}))
    assert message == "The header Idempotency-Key and idempotencyKey are one field, but their values differ."


# When it happened ----------------------------------------------------------------------------------------------------


def moments() -> tuple[list[datetime], list[datetime]]:
    return (
        list(Interaction.objects.values_list("created_at", flat=True)),
        list(Event.objects.values_list("occurred_at", flat=True)),
    )


@each("path, fields", [(ACTION, TRACK), (CAPTURE, CAPTURED)])
@each("known", [True, False])
def test_the_event_and_the_interaction_happened_when_the_call_says(
    sdk: SdkClient, acme: Workspace, path: str, fields: dict[str, Any], known: bool
) -> None:
    if known:  # the call is then one statement
        CustomerFactory.create(workspace=acme, user_id="u-1")
    moment = timezone.now().replace(microsecond=0) - timedelta(hours=23)
    data(call(sdk, path, {**fields, "occurredAt": iso_utc(moment)}), status=200)
    assert moments() == ([moment], [moment])


def test_without_a_time_it_happened_now(sdk: SdkClient) -> None:
    before = timezone.now()
    data(call(sdk, ACTION, TRACK), status=200)
    (interaction,), (event,) = moments()
    assert before <= event <= timezone.now()
    assert abs(interaction - event) < timedelta(seconds=5)


@both_calls
@each(
    "ago, message",
    [
        (timedelta(hours=24, seconds=5), "occurredAt is more than 24 hours ago."),
        (timedelta(minutes=-5, seconds=-5), "occurredAt is more than 5 minutes in the future."),
    ],
)
def test_a_time_out_of_bounds_is_refused(sdk: SdkClient, path: str, ago: timedelta, message: str) -> None:
    said = {"occurredAt": iso_utc(timezone.now() - ago)}
    assert refused_without_a_trace(call(sdk, path, said)) == message


@both_calls
@each("said", ["yesterday", "2026-11-20", "2026-11-20T19:08:00", 7])
def test_a_time_that_is_none_is_refused(sdk: SdkClient, path: str, said: Any) -> None:
    assert refused_without_a_trace(call(sdk, path, {"occurredAt": said})).startswith("occurredAt must be")


# What it costs -------------------------------------------------------------------------------------------------------


def test_a_call_as_plain_text_costs_the_same_two_queries(
    sdk: SdkClient, acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    CustomerFactory.create(workspace=acme, user_id="u-1")
    with django_assert_num_queries(2):
        assert simple(sdk, ACTION, {**TRACK, "occurredAt": iso_utc(timezone.now())}).status_code == 200


def test_another_app_does_not_get_the_answer(sdk: SdkClient, rival_sdk: SdkClient) -> None:
    for one in (sdk, rival_sdk):
        assert "Idempotency-Replayed" not in simple(one, ACTION, {"idempotencyKey": "k"})
    assert Customer.objects.count() == 2
    refused(
        simple(sdk, ACTION, {"idempotencyKey": "k", "messageId": "another"}), status=422, error="Idempotency key reused"
    )
