"""The bodies of the two bridge calls, read into the domain's types."""

import json
from typing import Any, ClassVar, Never

from rest_framework.exceptions import ErrorDetail, ValidationError

from bridge.actions import action_type
from bridge.capture import submit_type
from bridge.interactions import BridgeCall
from bridge.models import MAX_ID_LENGTH, Interaction
from bridge.requests import Action, SubmitAction, SubmitType
from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_EVENT_PROPERTIES_BYTES
from customers.identifier_rules import DESCRIPTIONS
from customers.identity import identifiers_of
from engage.http.fields import BodySerializer, ObjectField, TextField

NO_IDENTIFIER = "At least one of userId, external_id, email, phone must be present."


def _identifier(help_text: str) -> TextField:
    """An identifier field without a length limit, which `identifiers_of` checks."""
    return TextField(required=False, blank_is_absent=True, max_length=None, help_text=help_text)


def _event_name() -> TextField:
    return TextField(
        required=False,
        blank_is_absent=True,
        max_length=MAX_EVENT_NAME_LENGTH,
        help_text="The event's name. Required if an event is to be created.",
    )


class _CallBody(BodySerializer):
    """The fields that both calls share."""

    aliases: ClassVar = {"externalId": "external_id"}
    one_of: ClassVar = ("userId", "external_id", "email", "phone")
    none_of: ClassVar = NO_IDENTIFIER

    messageId = TextField(blank_is_absent=True, max_length=255, help_text="The id of the message.")
    userId = _identifier("The SDK's user id, or its anonymous id.")
    external_id = _identifier(DESCRIPTIONS["external_id"])
    email = _identifier(DESCRIPTIONS["email"])
    phone = _identifier(DESCRIPTIONS["phone"])
    actionId = TextField(
        required=False,
        blank_is_absent=True,
        max_length=MAX_ID_LENGTH,
        help_text="The id of the button, or of the form, in the message's definition, which then says what is done.",
    )


class ActionDataPart(BodySerializer):
    """The data for `track_event` and `update_profile`; `close` and `link` need none."""

    eventName = _event_name()
    eventProperties = ObjectField(
        required=False,
        max_bytes=MAX_EVENT_PROPERTIES_BYTES,
        help_text="Only for `track_event`: property name to value.",
    )
    profileAttributes = ObjectField(
        required=False,
        help_text="Required for `update_profile`: attribute name to value. null deletes the attribute.",
    )


class ActionBody(_CallBody):
    """A click on a button."""

    required_unless: ClassVar = {"actionType": "actionId"}

    actionType = TextField(
        required=False,
        blank_is_absent=True,
        max_length=None,
        help_text="What the button does. Required without `actionId`.",
    )
    actionData = ActionDataPart(required=False, help_text="The data for `track_event` or `update_profile`.")
    formData = ObjectField(
        required=False,
        help_text="Form field name to value, if the button is part of a form. It is stored. For `track_event` it is "
        "also the event's property `formData`, unless `eventProperties` has one of that name.",
    )

    def validate_actionType(self, text: str) -> Interaction.Kind:  # noqa: N802 (DRF finds it by the field's name)
        return action_type(text)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        kind, data = attrs.get("actionType"), attrs.setdefault("actionData", {})
        if "actionId" in attrs:
            return attrs
        if kind is Interaction.Kind.TRACK_EVENT and "eventName" not in data:
            _require("eventName", of="actionData")
        if kind is Interaction.Kind.UPDATE_PROFILE and "profileAttributes" not in data:
            _require("profileAttributes", of="actionData")
        return attrs


class SubmitActionPart(BodySerializer):
    """What to do with a form's data. If it is empty, every field becomes a profile attribute."""

    type = TextField(
        required=False,
        blank_is_absent=True,
        max_length=None,
        help_text="Whether to create an event, update the profile, or both. Required if any other field is sent.",
    )
    eventName = _event_name()
    eventProperties = ObjectField(
        required=False,
        help_text="Property name to form field name. If absent, every field becomes a property. A value that names no "
        "field is taken literally. The resulting properties must also fit into 64 KiB of JSON.",
    )
    profileAttributes = ObjectField(
        required=False,
        help_text="Attribute name to form field name. If absent, every field becomes an attribute. A value that names "
        "no field is taken literally, so null deletes the attribute. The resulting attributes must also fit into "
        "64 KiB of JSON.",
    )

    def validate_type(self, text: str) -> SubmitType:
        return submit_type(text)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        if attrs and "type" not in attrs:  # or what it says would be ignored
            _require("type")
        return attrs


class CaptureBody(_CallBody):
    """A form that was submitted."""

    formData = ObjectField(
        help_text="Form field name to value. If a field becomes an attribute, null deletes that attribute."
    )
    submitAction = SubmitActionPart(required=False, help_text="What to do with the form data.")

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        submit = attrs.setdefault("submitAction", {})
        if submit.get("type") in {SubmitType.TRACK_EVENT, SubmitType.BOTH} and "eventName" not in submit:
            _require("eventName", of="submitAction")
        return attrs


def _require(field: str, *, of: str | None = None) -> Never:
    missing = {field: [ErrorDetail("is required.", code="required")]}
    raise ValidationError({of: missing} if of else missing)


def identifiers_as_sent(body: Any) -> str:
    """The identifiers in a body, whatever is wrong with them, as one text; both spellings of a field are the same."""
    sent = {**body, "external_id": body.get("external_id") or body.get("externalId")}
    return json.dumps([sent.get(name) for name in _CallBody.one_of])


def read_action(body: Any, *, address: str) -> tuple[BridgeCall, Action]:
    """The call from this address, and its action. Raises MissingParameter, InvalidActionType or InvalidRequest."""
    values = ActionBody.read(body)
    data = values["actionData"]
    return _call(values, address), Action(
        type=values.get("actionType"),
        event_name=data.get("eventName", ""),
        event_properties=data.get("eventProperties", {}),
        profile_attributes=data.get("profileAttributes", {}),
    )


def read_capture(body: Any, *, address: str) -> tuple[BridgeCall, SubmitAction | None]:
    """The call from this address, and its submit action, or None if that has no type.

    Raises MissingParameter, InvalidSubmitAction or InvalidRequest.
    """
    values = CaptureBody.read(body)
    submit = values["submitAction"]
    if "type" not in submit:
        return _call(values, address), None
    return _call(values, address), SubmitAction(
        type=submit["type"],
        event_name=submit.get("eventName", ""),
        event_properties=submit.get("eventProperties"),
        profile_attributes=submit.get("profileAttributes"),
    )


def _call(values: dict[str, Any], address: str) -> BridgeCall:
    return BridgeCall(
        message_id=values["messageId"],
        known_by=identifiers_of(values),
        form_data=values.get("formData", {}),
        action_id=values.get("actionId", ""),
        address=address,
    )
