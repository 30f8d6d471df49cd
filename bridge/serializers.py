"""The bodies of the two bridge calls, read into what the domain takes."""

from typing import Any, ClassVar, Never

from rest_framework.exceptions import ErrorDetail, ValidationError

from bridge.actions import Action, action_type
from bridge.capture import SubmitAction, SubmitType, submit_type
from bridge.interactions import Call
from bridge.models import Interaction
from customers.events import MAX_EVENT_NAME_LENGTH
from customers.identity import identifiers
from engage.errors import MissingParameter
from engage.fields import BodySerializer, ObjectField, TextField
from engage.parsing import KIB


def _identifier() -> TextField:
    """How long each may be is known to `identifiers()`."""
    return TextField(required=False, blank_is_absent=True, max_length=64 * KIB)


def _event_name() -> TextField:
    return TextField(required=False, blank_is_absent=True, max_length=MAX_EVENT_NAME_LENGTH)


class _CallBody(BodySerializer):
    """What both calls have."""

    aliases: ClassVar = {"externalId": "external_id"}

    messageId = TextField(blank_is_absent=True, max_length=255)
    userId = _identifier()
    external_id = _identifier()
    email = _identifier()
    phone = _identifier()


class ActionDataBody(BodySerializer):
    eventName = _event_name()
    eventProperties = ObjectField(required=False)
    profileAttributes = ObjectField(required=False)


class ActionBody(_CallBody):
    actionType = TextField(blank_is_absent=True)
    actionData = ActionDataBody(required=False)
    formData = ObjectField(required=False)

    def validate_actionType(self, text: str) -> Interaction.Kind:  # noqa: N802 (DRF finds it by the field's name)
        return action_type(text)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        kind, data = attrs["actionType"], attrs.setdefault("actionData", {})
        if kind is Interaction.Kind.TRACK_EVENT and "eventName" not in data:
            _require("actionData", "eventName")
        if kind is Interaction.Kind.UPDATE_PROFILE and "profileAttributes" not in data:
            _require("actionData", "profileAttributes")
        return attrs


class SubmitActionBody(BodySerializer):
    type = TextField(required=False, blank_is_absent=True)
    eventName = _event_name()
    eventProperties = ObjectField(required=False)
    profileAttributes = ObjectField(required=False)

    def validate_type(self, text: str) -> SubmitType:
        return submit_type(text)


class CaptureBody(_CallBody):
    formData = ObjectField()
    submitAction = SubmitActionBody(required=False)

    def validate(self, attrs: dict[str, Any]) -> dict[str, Any]:
        submit = attrs.setdefault("submitAction", {})
        if submit.get("type") in {SubmitType.TRACK_EVENT, SubmitType.BOTH} and "eventName" not in submit:
            _require("submitAction", "eventName")
        return attrs


def _require(parent: str, field: str) -> Never:
    raise ValidationError({parent: {field: [ErrorDetail("is required.", code="required")]}})


def read_action(body: Any) -> tuple[Call, Action]:
    """The call and its action. Raises MissingParameter, InvalidActionType or InvalidRequest."""
    values = ActionBody.read(body)
    data = values["actionData"]
    return _call(values), Action(
        type=values["actionType"],
        event_name=data.get("eventName", ""),
        event_properties=data.get("eventProperties", {}),
        profile_attributes=data.get("profileAttributes", {}),
    )


def read_capture(body: Any) -> tuple[Call, SubmitAction | None]:
    """The call and its submit action, which is None without a type.

    Raises MissingParameter, InvalidSubmitAction or InvalidRequest.
    """
    values = CaptureBody.read(body)
    submit = values["submitAction"]
    if "type" not in submit:
        return _call(values), None
    return _call(values), SubmitAction(
        type=submit["type"],
        event_name=submit.get("eventName", ""),
        event_properties=submit.get("eventProperties"),
        profile_attributes=submit.get("profileAttributes"),
    )


def _call(values: dict[str, Any]) -> Call:
    known_by = identifiers(
        user_id=values.get("userId"),
        external_id=values.get("external_id"),
        email=values.get("email"),
        phone=values.get("phone"),
    )
    if not known_by.present():
        raise MissingParameter("At least one of userId, external_id, email, phone must be present.")
    return Call(message_id=values["messageId"], known_by=known_by, form_data=values.get("formData", {}))
