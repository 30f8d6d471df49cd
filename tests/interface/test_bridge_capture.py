"""`POST /api/v1/sdk/bridge/capture`: a form in a message was submitted."""

from time import thread_time
from typing import Any

import pytest

from bridge.models import Interaction
from customers.models import Customer, Event
from tests.support.bridge_calls import refused_without_a_trace, submit
from tests.support.cases import each
from tests.support.clients import SdkClient

pytestmark = pytest.mark.ada(user_id="u-1", email="ada@example.com", attributes={"plan": "free"})

FORM = {"first_name": "Ada", "size": "M", "newsletter": True}


# What the submit action does -----------------------------------------------------------------------------------------


def test_track_event_creates_an_event_of_the_mapped_form_fields(sdk: SdkClient, ada: Customer) -> None:
    answer = submit(
        sdk,
        formData=FORM,
        submitAction={
            "type": "track_event",
            "eventName": "size_chosen",
            "eventProperties": {"chosen": "size", "name": "first_name"},
        },
    )
    event = Event.objects.get()
    assert (answer.status_code, answer.json()) == (
        200,
        {"success": True, "message": "Form captured.", "data": {"eventId": event.id, "attributesUpdated": []}},
    )
    assert (event.workspace, event.customer, event.name) == (ada.workspace, ada, "size_chosen")
    assert (event.properties, event.source) == ({"chosen": "M", "name": "Ada"}, "bridge_capture")
    assert Customer.objects.get().attributes == {"plan": "free"}


def test_update_profile_writes_the_mapped_form_fields_and_answers_no_event_id(sdk: SdkClient, ada: Customer) -> None:
    answer = submit(
        sdk,
        formData=FORM,
        submitAction={"type": "update_profile", "profileAttributes": {"shirt": "size", "given": "first_name"}},
    )
    assert (answer.status_code, answer.json()) == (
        200,
        {"success": True, "message": "Form captured.", "data": {"attributesUpdated": ["shirt", "given"]}},
    )
    assert Customer.objects.get().attributes == {"plan": "free", "shirt": "M", "given": "Ada"}
    assert not Event.objects.exists()


def test_a_profile_that_was_written_at_once_was_not_written_before_it_was_created(sdk: SdkClient) -> None:
    assert submit(sdk, userId="new", formData=FORM).status_code == 200
    new = Customer.objects.get(user_id="new")
    assert new.created_at <= new.updated_at


def test_both_does_both(sdk: SdkClient, ada: Customer) -> None:
    answer = submit(
        sdk,
        formData=FORM,
        submitAction={
            "type": "both",
            "eventName": "size_chosen",
            "eventProperties": {"chosen": "size"},
            "profileAttributes": {"given": "first_name"},
        },
    )
    event = Event.objects.get()
    assert answer.json()["data"] == {"eventId": event.id, "attributesUpdated": ["given"]}
    assert event.properties == {"chosen": "M"}
    assert Customer.objects.get().attributes == {"plan": "free", "given": "Ada"}


@each(
    "submit_action",
    [
        None,
        {},
        {"type": None},
        {"type": " "},
        {"eventName": " ", "eventProperties": None},
        {"unknown": {"x": "first_name"}},
    ],
)
def test_without_a_submit_action_every_form_field_becomes_an_attribute(
    sdk: SdkClient, ada: Customer, submit_action: dict[str, Any] | None
) -> None:
    answer = submit(sdk, formData=FORM, submitAction=submit_action)
    assert answer.json()["data"] == {"attributesUpdated": ["first_name", "size", "newsletter"]}
    assert Customer.objects.get().attributes == {"plan": "free", **FORM}
    assert not Event.objects.exists()


def test_the_interaction_records_what_was_sent_and_what_came_of_it(sdk: SdkClient, ada: Customer) -> None:
    submit(
        sdk,
        messageId="survey-1",
        formData=FORM,
        submitAction={"type": "both", "eventName": "e", "eventProperties": {}, "profileAttributes": {"shirt": "size"}},
    )
    interaction = Interaction.objects.get()
    assert (interaction.workspace, interaction.app, interaction.customer) == (ada.workspace, sdk.app, ada)
    assert (interaction.kind, interaction.message_id, interaction.form_data) == ("capture", "survey-1", FORM)
    assert (interaction.event, interaction.attributes_written) == (Event.objects.get(), ["shirt"])
    assert not interaction.created_customer


def test_a_form_that_its_event_holds_is_stored_there_alone(sdk: SdkClient, ada: Customer) -> None:
    submit(sdk, formData=FORM, submitAction={"type": "track_event", "eventName": "e"})
    assert (Interaction.objects.get().form_data, Event.objects.get().properties) == ({}, FORM)


# Maps ----------------------------------------------------------------------------------------------------------------

LITERALS = {
    "from form": "size",
    "source": "in-app",
    "score": 10,
    "list": ["size"],
    "object": {"a": "size"},
    "no": False,
}
RESOLVED = {**LITERALS, "from form": "M"}


def test_a_mapped_value_that_names_no_form_field_stands_for_itself(sdk: SdkClient, ada: Customer) -> None:
    submit(
        sdk,
        formData={**FORM, "10": "a field that no number names", "False": "nor a boolean"},
        submitAction={"type": "both", "eventName": "e", "eventProperties": LITERALS, "profileAttributes": LITERALS},
    )
    assert Event.objects.get().properties == RESOLVED
    assert Customer.objects.get().attributes == {"plan": "free", **RESOLVED}


def test_without_maps_every_form_field_is_taken(sdk: SdkClient, ada: Customer) -> None:
    answer = submit(sdk, formData=FORM, submitAction={"type": "both", "eventName": "e", "eventProperties": None})
    assert Event.objects.get().properties == FORM
    assert answer.json()["data"]["attributesUpdated"] == list(FORM)


def test_empty_maps_take_no_form_field(sdk: SdkClient, ada: Customer) -> None:
    answer = submit(
        sdk,
        formData=FORM,
        submitAction={"type": "both", "eventName": "e", "eventProperties": {}, "profileAttributes": {}},
    )
    assert Event.objects.get().properties == {}
    assert answer.json()["data"]["attributesUpdated"] == []
    assert Customer.objects.get().attributes == {"plan": "free"}


def test_null_in_a_mapping_is_taken_literally_and_deletes_the_attribute(sdk: SdkClient, ada: Customer) -> None:
    mapping = {"plan": None, "city": "town"}
    action = {"type": "update_profile", "profileAttributes": mapping}
    answer = submit(sdk, formData={"town": "Rome"}, submitAction=action)
    assert answer.json()["data"] == {"attributesUpdated": ["plan", "city"]}
    assert Customer.objects.get().attributes == {"city": "Rome"}


def test_a_form_field_that_is_null_deletes_the_attribute(sdk: SdkClient, ada: Customer) -> None:
    answer = submit(sdk, formData={"plan": None})
    assert answer.json()["data"] == {"attributesUpdated": ["plan"]}
    assert Customer.objects.get().attributes == {}


def test_a_form_without_fields_is_captured(sdk: SdkClient) -> None:
    assert submit(sdk, formData={}).json()["data"] == {"attributesUpdated": []}
    assert Interaction.objects.get().created_customer


# What is missing -----------------------------------------------------------------------------------------------------


@each("field, nothing", [("messageId", None), ("messageId", " "), ("formData", None)])
def test_a_call_without_message_or_form_is_refused(sdk: SdkClient, field: str, nothing: str | None) -> None:
    message = refused_without_a_trace(submit(sdk, **{field: nothing}), error="Missing required parameter")
    assert message == f"{field} is required."


@each("nothing", [None, "", " "])
@each("submit_type", ["track_event", "both"])
def test_an_event_needs_a_name(sdk: SdkClient, submit_type: str, nothing: str | None) -> None:
    answer = submit(sdk, formData=FORM, submitAction={"type": submit_type, "eventName": nothing})
    message = refused_without_a_trace(answer, error="Missing required parameter")
    assert message == "submitAction.eventName is required."


@each(
    "submit_action",
    [
        {"eventName": "size_chosen"},
        {"eventProperties": {"x": "first_name"}},
        {"profileAttributes": {"x": "first_name"}},
        {"type": " ", "profileAttributes": {}},
    ],
)
def test_a_submit_action_that_says_what_but_not_which_is_refused(sdk: SdkClient, submit_action: dict[str, Any]) -> None:
    answer = submit(sdk, formData=FORM, submitAction=submit_action)
    message = refused_without_a_trace(answer, error="Missing required parameter")
    assert message == "submitAction.type is required."


# What is wrong -------------------------------------------------------------------------------------------------------


@each("submit_type", ["close", "Both", "track_event "])
def test_an_unknown_submit_action_is_refused_with_the_three(sdk: SdkClient, submit_type: str) -> None:
    answer = submit(sdk, submitAction={"type": submit_type})
    refused_without_a_trace(answer, error="Invalid submit action")
    assert answer.json() == {
        "success": False,
        "error": "Invalid submit action",
        "message": f"submitAction.type must be one of track_event, update_profile, both, not {submit_type!r}.",
        "code": "invalid_submit_action",
        "requestId": answer["X-Request-Id"],
    }


@each(
    "fields, message",
    [
        ({"formData": ["Ada"]}, "formData must be an object, but an array came."),
        ({"submitAction": "both"}, "submitAction must be an object, but a string came."),
        ({"submitAction": {"type": 1}}, "submitAction.type must be a string, but a number came."),
        (
            {"submitAction": {"type": "both", "eventName": {}}},
            "submitAction.eventName must be a string, but an object came.",
        ),
        (
            {"submitAction": {"type": "both", "eventName": "e" * 256}},
            "submitAction.eventName must be at most 255 characters long, not 256.",
        ),
        (
            {"submitAction": {"type": "both", "eventName": "e", "eventProperties": "size"}},
            "submitAction.eventProperties must be an object, but a string came.",
        ),
        (
            {"submitAction": {"type": "update_profile", "profileAttributes": ["size"]}},
            "submitAction.profileAttributes must be an object, but an array came.",
        ),
        (
            {"submitAction": {"type": "both", "eventName": "e", "profileAttributes": {"": "size"}}},
            "The attribute name '' in submitAction.profileAttributes is empty.",
        ),
        ({"formData": {"constructor": "x"}}, "The attribute name 'constructor' in formData is reserved."),
        (
            {"formData": {"x" * 256: "y"}},
            f"The attribute name '{'x' * 80}' in formData is 256 characters long; its maximum is 255.",
        ),
    ],
)
def test_a_wrong_value_is_refused_by_its_field(sdk: SdkClient, fields: dict[str, Any], message: str) -> None:
    assert refused_without_a_trace(submit(sdk, **fields)) == message


def test_a_form_field_that_could_be_no_attribute_may_be_mapped_to_one(sdk: SdkClient) -> None:
    answer = submit(
        sdk, formData={"$size": "M"}, submitAction={"type": "update_profile", "profileAttributes": {"size": "$size"}}
    )
    assert answer.status_code == 200
    assert Customer.objects.get().attributes == {"size": "M"}


@each("map_", ["eventProperties", "profileAttributes"])
def test_a_map_cannot_make_much_of_a_short_form(sdk: SdkClient, map_: str) -> None:
    many = {f"{number:x}": "answer" for number in range(2_000)}
    started = thread_time()
    answer = submit(
        sdk,
        formData={"answer": "x" * 20_000},
        submitAction={
            "type": "both",
            "eventName": "answered",
            "eventProperties": {},
            "profileAttributes": {},
            map_: many,
        },
    )
    assert thread_time() - started < 1.0
    assert refused_without_a_trace(answer) == (
        f"submitAction.{map_} comes to 40017729 bytes of JSON with the form's values; its maximum is 65536."
    )
