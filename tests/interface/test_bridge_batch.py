"""`POST /api/v1/sdk/bridge/batch`: calls that waited, each of them as if it had come alone."""

from typing import Any

import pytest
from django.db import connection
from pytest_django import DjangoAssertNumQueries, Settings

from bridge.models import Interaction
from customers.models import Customer, Event
from engage.models import Workspace
from tests.support.bridge_calls import ACTION, CAPTURE, refused_without_a_trace
from tests.support.calls import data
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient
from tests.support.factories import AppFactory, CustomerFactory

BATCH = "/api/v1/sdk/bridge/batch"


def click(name: str = "seen", **fields: Any) -> dict[str, Any]:
    return {
        "call": "action",
        "messageId": "welcome",
        "userId": "u-1",
        "actionType": "track_event",
        "actionData": {"eventName": name},
        **fields,
    }


def form(**fields: Any) -> dict[str, Any]:
    return {"call": "capture", "messageId": "welcome", "userId": "u-1", "formData": {"city": "Ulm"}, **fields}


def send(sdk: SdkClient, *calls: Any, **options: Any) -> Answer:
    return sdk.post(BATCH, {"calls": list(calls)}, **options)


def statuses(answer: Answer) -> list[int]:
    return [one["status"] for one in data(answer, status=200)["results"]]


def test_each_call_is_done_in_its_order_and_answered_as_if_alone(sdk: SdkClient) -> None:
    answer = send(sdk, click("a"), form(), click("b"))
    assert answer.json()["message"] == "3 of 3 calls done."
    first, captured, last = data(answer, status=200)["results"]
    events = list(Event.objects.order_by("serial").values_list("id", "name"))
    assert [(first["data"]["eventId"], "a"), (last["data"]["eventId"], "b")] == events
    assert captured == {
        "status": 200,
        "success": True,
        "message": "Form captured.",
        "data": {"attributesUpdated": ["city"]},
    }
    assert Customer.objects.get().attributes == {"city": "Ulm"}


@each(
    "bad, message",
    [
        ("click", "A call must be an object, but a string came."),
        ({}, "call is required."),
        ({"call": "batch"}, "call must be one of action, capture, shown."),
        ({"call": ["action"]}, "call must be one of action, capture, shown."),
        (click(messageId=None), "messageId is required."),
        (form(formData={"": 1}), None),
        (click(idempotencyKey="é"), "idempotencyKey must be 1 to 255 visible ASCII characters."),
        (click(email="nobody"), "email must be an e-mail address."),
    ],
)
def test_one_that_is_refused_leaves_the_others_alone(sdk: SdkClient, bad: Any, message: str | None) -> None:
    answer = send(sdk, click("a"), bad, click("b"))
    assert statuses(answer) == [200, 400, 200]
    refused = data(answer, status=200)["results"][1]
    assert message is None or refused["message"] == message
    assert list(Event.objects.order_by("serial").values_list("name", flat=True)) == ["a", "b"]
    assert Interaction.objects.count() == 2


def test_a_call_has_the_same_key_alone_and_in_a_batch(sdk: SdkClient) -> None:
    keyed = click(idempotencyKey="k")
    alone = {name: value for name, value in keyed.items() if name != "call"}
    alone_form = {name: value for name, value in form(idempotencyKey="k").items() if name != "call"}
    first = data(sdk.post(ACTION, alone), status=200)
    results = data(send(sdk, keyed, keyed, form(idempotencyKey="k")), status=200)["results"]
    assert [one["data"].get("eventId") for one in results] == [first["eventId"], first["eventId"], None]
    assert "Idempotency-Replayed" in sdk.post(CAPTURE, alone_form)
    assert (Event.objects.count(), Interaction.objects.count()) == (1, 2)


def test_the_calls_are_counted_one_by_one_and_keep_their_order(acme: Workspace, settings: Settings) -> None:
    settings.BRIDGE_RATE_LIMIT = "3/d"
    sdk = SdkClient(AppFactory.create(workspace=acme))
    answer = send(sdk, *(click(str(number)) for number in range(5)))
    assert statuses(answer) == [200, 200, 200, 429, 429]
    assert answer["X-RateLimit-Remaining"] == "0"
    assert int(answer["Retry-After"]) > 0
    assert Interaction.objects.count() == 3


def test_calls_count_towards_the_days_quota(acme: Workspace, settings: Settings) -> None:
    settings.BRIDGE_APP_DAILY_CALLS = 4
    sdk = SdkClient(AppFactory.create(workspace=acme))
    assert statuses(send(sdk, *(click() for _ in range(3)))) == [200, 200, 200]
    assert statuses(send(sdk, *(click() for _ in range(3)))) == [200, 429, 429]


@pytest.mark.django_db(transaction=True)
def test_what_may_be_tried_again_holds_up_those_after_it(sdk: SdkClient, acme: Workspace) -> None:
    """Else they would overtake it."""
    CustomerFactory.create(workspace=acme, user_id="u-1")
    with connection.cursor() as cursor:
        cursor.execute("ALTER TABLE customers_event RENAME TO elsewhere")
        try:
            answer = send(sdk, click("a", actionType="close"), click("b"), click("c", actionType="close"))
        finally:
            cursor.execute("ALTER TABLE elsewhere RENAME TO customers_event")
    assert statuses(answer) == [200, 503, 503]
    assert Interaction.objects.count() == 1


def test_at_most_fifty_and_64_kib(sdk: SdkClient) -> None:
    message = refused_without_a_trace(send(sdk, *([click()] * 51)), error="Array size exceeded")
    assert message == "calls holds 51 items; its maximum is 50."
    refused_without_a_trace(send(sdk, form(more="x" * 65_536)), status=413, error="Body too large")
    refused_without_a_trace(sdk.post(BATCH, {}), error="Missing required parameter")
    assert statuses(send(sdk, *([click()] * 50))) == [200] * 50


def test_nothing_to_do_is_done(sdk: SdkClient) -> None:
    assert statuses(send(sdk)) == []


def test_it_comes_as_plain_text_too(sdk: SdkClient) -> None:
    raw = b'{"calls": [{"call": "action", "messageId": "m", "userId": "u", "actionType": "link"}]}'
    answer = sdk.post(f"{BATCH}?app={sdk.app.id}", raw, content_type="text/plain", headers={"X-App-Id": None})
    assert statuses(answer) == [200]


def test_an_app_reaches_its_own_workspace_alone(sdk: SdkClient, rival_sdk: SdkClient) -> None:
    send(sdk, form())
    send(rival_sdk, form())
    assert {one.workspace_id for one in Customer.objects.all()} == {sdk.app.workspace_id, rival_sdk.app.workspace_id}


def test_a_call_costs_no_more_queries_than_alone(
    sdk: SdkClient, acme: Workspace, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    CustomerFactory.create(workspace=acme, user_id="u-1")
    with django_assert_num_queries(1 + 20):  # the app, and one statement each
        assert statuses(send(sdk, *([click()] * 20))) == [200] * 20
