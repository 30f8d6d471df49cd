"""The two calls of the bridge, in the words of the interface."""

from typing import Any

import pytest

from bridge.models import Interaction
from customers.models import Customer, Event
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import Answer, SdkClient

ACTION = "/api/v1/sdk/bridge/action"
CAPTURE = "/api/v1/sdk/bridge/capture"
IDENTIFY = "/api/v1/sdk/identify"
ANON = "anon-7f3a"
SEEN: dict[str, Any] = {"actionType": "track_event", "actionData": {"eventName": "seen"}}
both_calls = each("path", [ACTION, CAPTURE])
both_calls_apart = pytest.mark.parametrize("path", [ACTION, CAPTURE])  # for what lasts longer than rows

# The least that each call needs.
LEAST: dict[str, dict[str, Any]] = {
    ACTION: {"messageId": "welcome", "userId": "u-1", "actionType": "close"},
    CAPTURE: {"messageId": "welcome", "userId": "u-1", "formData": {}},
}


def call(sdk: SdkClient, path: str, fields: dict[str, Any], **options: Any) -> Answer:
    """The least call to this path with these fields instead; None takes one away."""
    body = {name: value for name, value in {**LEAST[path], **fields}.items() if value is not None}
    return sdk.post(path, body, **options)


def click(sdk: SdkClient, **fields: Any) -> Answer:
    """A click on a button; `actionType` is `close` unless said."""
    return call(sdk, ACTION, fields)


def submit(sdk: SdkClient, **fields: Any) -> Answer:
    """A form submitted, by the customer whose `userId` is `u-1` unless said."""
    return call(sdk, CAPTURE, fields)


def refused_without_a_trace(answer: Answer, *, status: int = 400, error: str = "Invalid request") -> str:
    """The message of a refusal, which left neither a customer nor anything else behind."""
    message = refused(answer, status=status, error=error)
    assert not Customer.objects.exists()
    assert not Event.objects.exists()
    assert not Interaction.objects.exists()
    return message


def identify(sdk: SdkClient, *, user_id: str = ANON, **known: Any) -> Answer:
    return sdk.post(IDENTIFY, {"userId": user_id, **known})
