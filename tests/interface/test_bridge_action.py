"""`POST /api/v1/sdk/bridge/action`: a button in a message was clicked."""

import re
from typing import Any

import pytest

from bridge.models import Interaction
from customers.conditions import Root, parse_condition
from customers.models import Customer, Event
from engage.models import Workspace
from journeys.models import EnrollmentJob
from tests.support.bridge_calls import click, refused_without_a_trace
from tests.support.calls import refused
from tests.support.cases import each
from tests.support.clients import SdkClient
from tests.support.factories import CustomerFactory, JourneyFactory

pytestmark = pytest.mark.ada(user_id="u-1", email="ada@example.com", attributes={"plan": "free"})

TRACKED = {"actionType": "track_event", "actionData": {"eventName": "offer_seen"}}
known_and_new = each("user_id", ["u-1", "new"])


# close and link ------------------------------------------------------------------------------------------------------


@each(
    "action_type, message, result",
    [("close", "Message closed.", {"closed": True}), ("link", "Link recorded.", {"opened": True})],
)
def test_closing_a_message_and_opening_a_link_are_recorded_and_nothing_else(
    sdk: SdkClient, ada: Customer, action_type: str, message: str, result: dict[str, bool]
) -> None:
    answer = click(sdk, actionType=action_type, actionData={"url": "https://shop.example", "eventName": "unasked"})
    assert (answer.status_code, answer.json()) == (200, {"success": True, "message": message, "data": result})
    interaction = Interaction.objects.get()
    assert (interaction.kind, interaction.message_id, interaction.app) == (action_type, "welcome", sdk.app)
    assert interaction.customer == ada
    assert interaction.event_id is None
    assert interaction.attributes_written == []
    assert not Event.objects.exists()
    assert Customer.objects.get().attributes == {"plan": "free"}


@each("action_type", ["close", "link"])
def test_closing_and_opening_create_whom_nobody_knows_like_every_call(sdk: SdkClient, action_type: str) -> None:
    assert click(sdk, actionType=action_type, userId="anonymous-7").status_code == 200
    interaction = Interaction.objects.get()
    assert interaction.created_customer
    assert interaction.customer.user_id == "anonymous-7"


# track_event ---------------------------------------------------------------------------------------------------------


def test_track_event_creates_an_event_and_answers_its_id(sdk: SdkClient, ada: Customer) -> None:
    answer = click(
        sdk,
        actionType="track_event",
        actionData={"eventName": "offer_seen", "eventProperties": {"offer": "spring", "position": 2}},
    )
    body, event = answer.json(), Event.objects.get()
    assert answer.status_code == 200
    assert body == {"success": True, "message": "Event tracked.", "data": {"eventId": event.id}}
    assert re.fullmatch(r"[0-9a-f]{24}", event.id)
    assert (event.workspace, event.customer, event.name) == (ada.workspace, ada, "offer_seen")
    assert (event.properties, event.source) == ({"offer": "spring", "position": 2}, "bridge_action")
    assert Interaction.objects.get().event == event


def test_event_properties_are_literal_values_of_every_kind(sdk: SdkClient, ada: Customer) -> None:
    properties = {"text": "email", "number": 1.5, "true": True, "nothing": None, "list": [1, {}], "": {"deep": {}}}
    click(sdk, actionType="track_event", actionData={"eventName": "e", "eventProperties": properties})
    assert Event.objects.get().properties == properties


def test_event_properties_are_optional(sdk: SdkClient, ada: Customer) -> None:
    click(sdk, **TRACKED)
    assert Event.objects.get().properties == {}


@known_and_new
@each("properties", [None, {"offer": "spring"}])
@each("journeys_started", [0, 1])
def test_the_form_around_a_button_is_stored_once_with_the_event(
    sdk: SdkClient, ada: Customer, user_id: str, properties: dict[str, Any] | None, journeys_started: int
) -> None:
    for _ in range(journeys_started):
        JourneyFactory.create(workspace=ada.workspace, trigger_type="event", event_name="answered")
    form = {"answer": "yes", "offer": "of the form"}
    data = {"eventName": "answered", "eventProperties": properties}
    assert click(sdk, userId=user_id, actionType="track_event", actionData=data, formData=form).status_code == 200
    assert EnrollmentJob.objects.count() == journeys_started
    assert Event.objects.get().properties == {**(properties or {}), "formData": form}
    assert Interaction.objects.get().form_data == {}


def test_a_property_called_form_data_leaves_the_form_to_the_interaction(sdk: SdkClient, ada: Customer) -> None:
    data = {"eventName": "answered", "eventProperties": {"formData": "mine"}}
    assert click(sdk, userId=ada.user_id, actionType="track_event", actionData=data, formData={"a": 1}).succeeded
    assert Event.objects.get().properties == {"formData": "mine"}
    assert Interaction.objects.get().form_data == {"a": 1}


@known_and_new
@each("action", [{"actionType": "close"}, {"actionType": "update_profile", "actionData": {"profileAttributes": {}}}])
def test_the_form_around_a_button_is_stored_with_the_interaction_also_without_an_event(
    sdk: SdkClient, ada: Customer, user_id: str, action: dict[str, Any]
) -> None:
    assert click(sdk, userId=user_id, formData={"answer": "yes"}, **action).status_code == 200
    assert Interaction.objects.get().form_data == {"answer": "yes"}


@each("levels, status", [(9, 200), (10, 400)])
def test_a_buttons_form_is_no_deeper_than_conditions_reach(
    sdk: SdkClient, ada: Customer, levels: int, status: int
) -> None:
    form: Any = "deepest"
    for _ in range(levels):
        form = {"a": form}
    data = {"eventName": "answered"}
    answer = click(sdk, userId="u-1", actionType="track_event", actionData=data, formData=form)
    if status == 400:
        message = refused(answer, status=400, error="Invalid request")
        assert message == "formData is nested more than 9 deep, too deep for an event's property."
        assert not Event.objects.exists()
    else:
        parse_condition(
            {"field": f"event.properties.formData{'.a' * levels}", "op": "exists"}, roots=list(Root), place="where"
        )
        assert Event.objects.get().properties == {"formData": form}


@known_and_new
def test_an_event_that_is_too_large_with_its_form_is_refused(sdk: SdkClient, ada: Customer, user_id: str) -> None:
    form = {"n": [1e20] * 2_500}  # stored with all its zeros
    data = {"eventName": "answered", "eventProperties": {"zeros": [1e20] * 2_500}}
    answer = click(sdk, userId=user_id, actionType="track_event", actionData=data, formData=form)
    message = refused(answer, status=400, error="Invalid request")
    assert message.startswith("actionData.eventProperties comes to ")
    assert message.endswith(" bytes of JSON with the form's values; its maximum is 65536.")
    assert (Event.objects.count(), Interaction.objects.count(), Customer.objects.count()) == (0, 0, 1)


# update_profile ------------------------------------------------------------------------------------------------------


def test_update_profile_writes_the_attributes_and_answers_their_names(sdk: SdkClient, ada: Customer) -> None:
    attributes = {"plan": "pro", "visits": 3, "tags": ["a", "b"]}
    answer = click(sdk, actionType="update_profile", actionData={"profileAttributes": attributes})
    assert (answer.status_code, answer.json()) == (
        200,
        {
            "success": True,
            "message": "Profile updated.",
            "data": {"updated": True, "attributes": ["plan", "visits", "tags"]},
        },
    )
    assert Customer.objects.get().attributes == attributes
    assert Interaction.objects.get().attributes_written == ["plan", "visits", "tags"]
    assert not Event.objects.exists()


def test_other_attributes_stay_and_null_deletes_one(sdk: SdkClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, user_id="u-1", attributes={"plan": "free", "city": "Berlin", "age": 30})
    answer = click(sdk, actionType="update_profile", actionData={"profileAttributes": {"plan": "pro", "age": None}})
    assert answer.json()["data"] == {"updated": True, "attributes": ["plan", "age"]}
    assert Customer.objects.get().attributes == {"plan": "pro", "city": "Berlin"}


def test_an_attribute_called_email_leaves_the_identifier_alone(sdk: SdkClient, ada: Customer) -> None:
    click(sdk, actionType="update_profile", actionData={"profileAttributes": {"email": "eve@example.com"}})
    stored = Customer.objects.get()
    assert (stored.email, stored.attributes["email"]) == ("ada@example.com", "eve@example.com")


def test_no_attributes_at_all_are_written_without_complaint(sdk: SdkClient, ada: Customer) -> None:
    answer = click(sdk, actionType="update_profile", actionData={"profileAttributes": {}})
    assert answer.json()["data"] == {"updated": True, "attributes": []}


def test_the_form_around_a_button_never_becomes_attributes(sdk: SdkClient, ada: Customer) -> None:
    click(
        sdk,
        actionType="update_profile",
        actionData={"profileAttributes": {"answer": "answer"}},
        formData={"answer": "yes"},
    )
    assert Customer.objects.get().attributes == {"plan": "free", "answer": "answer"}


# What is missing -----------------------------------------------------------------------------------------------------


@each("nothing", [None, "", "  "])
@each("field", ["messageId", "actionType"])
def test_a_call_without_message_or_type_is_refused(sdk: SdkClient, field: str, nothing: str | None) -> None:
    message = refused_without_a_trace(click(sdk, **{field: nothing}), error="Missing required parameter")
    assert message == f"{field} is required."


@each("data", [None, {}, {"eventName": None}, {"eventName": " "}, {"eventProperties": {}}])
def test_track_event_needs_an_event_name(sdk: SdkClient, data: dict[str, Any] | None) -> None:
    answer = click(sdk, actionType="track_event", actionData=data)
    message = refused_without_a_trace(answer, error="Missing required parameter")
    assert message == "actionData.eventName is required."


@each("data", [None, {}, {"profileAttributes": None}, {"eventName": "e"}])
def test_update_profile_needs_attributes(sdk: SdkClient, data: dict[str, Any] | None) -> None:
    answer = click(sdk, actionType="update_profile", actionData=data)
    message = refused_without_a_trace(answer, error="Missing required parameter")
    assert message == "actionData.profileAttributes is required."


def test_all_that_is_missing_is_told_at_once(sdk: SdkClient) -> None:
    answer = click(sdk, messageId=None, actionType=None, userId=None)
    refused_without_a_trace(answer, error="Missing required parameter")
    assert answer.json() == {
        "success": False,
        "error": "Missing required parameter",
        "message": "messageId is required. actionType is required. "
        "At least one of userId, external_id, email, phone must be present.",
        "code": "missing_required_parameter",
        "requestId": answer["X-Request-Id"],
        "details": [
            {"field": "messageId", "message": "messageId is required."},
            {"field": "actionType", "message": "actionType is required."},
            {"field": "userId", "message": "At least one of userId, external_id, email, phone must be present."},
        ],
    }


def test_what_is_wrong_comes_before_what_is_missing(sdk: SdkClient) -> None:
    answer = click(sdk, messageId=None, userId=7)
    refused_without_a_trace(answer, error="Invalid request")
    assert answer.json()["details"] == [
        {"field": "messageId", "message": "messageId is required."},
        {"field": "userId", "message": "userId must be a string, but a number came."},
    ]


# What is wrong -------------------------------------------------------------------------------------------------------


@each("action_type", ["open", "CLOSE", " close", "capture"])
def test_an_unknown_action_type_is_refused_with_the_four(sdk: SdkClient, action_type: str) -> None:
    answer = click(sdk, actionType=action_type)
    refused_without_a_trace(answer, error="Invalid action type")
    assert answer.json() == {
        "success": False,
        "error": "Invalid action type",
        "message": f"actionType must be one of close, track_event, update_profile, link, not {action_type!r}.",
        "code": "invalid_action_type",
        "requestId": answer["X-Request-Id"],
    }


@each(
    "fields, message",
    [
        ({"messageId": 7}, "messageId must be a string, but a number came."),
        ({"messageId": "m" * 256}, "messageId must be at most 255 characters long, not 256."),
        ({"actionType": ["close"]}, "actionType must be a string, but an array came."),
        ({"actionData": "close"}, "actionData must be an object, but a string came."),
        ({"actionData": []}, "actionData must be an object, but an array came."),
        ({"formData": "a=b"}, "formData must be an object, but a string came."),
        (
            {"actionType": "track_event", "actionData": {"eventName": True}},
            "actionData.eventName must be a string, but a boolean came.",
        ),
        (
            {"actionType": "track_event", "actionData": {"eventName": "e" * 256}},
            "actionData.eventName must be at most 255 characters long, not 256.",
        ),
        (
            {"actionType": "track_event", "actionData": {"eventName": "e", "eventProperties": ["a"]}},
            "actionData.eventProperties must be an object, but an array came.",
        ),
        (
            {"actionType": "update_profile", "actionData": {"profileAttributes": "plan"}},
            "actionData.profileAttributes must be an object, but a string came.",
        ),
        (
            {"actionType": "update_profile", "actionData": {"profileAttributes": {"ok": 1, "$set": 2}}},
            (
                "The attribute name '$set' in actionData.profileAttributes starts with $, "
                "which is kept for the service's own names."
            ),
        ),
        (
            {"actionType": "update_profile", "actionData": {"profileAttributes": {"__proto__": {}}}},
            "The attribute name '__proto__' in actionData.profileAttributes is reserved.",
        ),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(sdk: SdkClient, fields: dict[str, Any], message: str) -> None:
    assert refused_without_a_trace(click(sdk, **fields)) == message


def test_more_than_messages_may_write_of_one_customer_is_refused(sdk: SdkClient, acme: Workspace) -> None:
    CustomerFactory.create(workspace=acme, user_id="u-1", attributes={"own": "x" * 60_000})
    answer = click(sdk, actionType="update_profile", actionData={"profileAttributes": {"one-more": "x" * 17_000}})
    message = refused(answer, status=400, error="Invalid request")
    assert message == "In-app messages cannot write as much as this about one customer."
    assert set(Customer.objects.get().attributes) == {"own"}


def test_the_longest_message_id_and_event_name_are_kept(sdk: SdkClient) -> None:
    answer = click(sdk, messageId="m" * 255, actionType="track_event", actionData={"eventName": "e" * 255})
    assert answer.status_code == 200
    assert (Interaction.objects.get().message_id, Event.objects.get().name) == ("m" * 255, "e" * 255)


def test_unknown_fields_are_ignored(sdk: SdkClient) -> None:
    answer = click(sdk, sdkVersion="1.2", actionType="track_event", actionData={"eventName": "e", "color": "red"})
    assert answer.status_code == 200
    assert Event.objects.get().properties == {}
