"""The bodies of the two bridge calls, read into the domain's types."""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from typing import Any, ClassVar, Never

from rest_framework.exceptions import ErrorDetail, ValidationError

from bridge.interactions.actions import action_type
from bridge.interactions.capture import submit_type
from bridge.models import MAX_ID_LENGTH, Interaction
from bridge.requests import Action, BridgeCall, SubmitAction, SubmitType
from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_EVENT_PROPERTIES_BYTES
from customers.event_times import event_time
from customers.identifier_rules import DESCRIPTIONS
from customers.identity.identifiers import identifiers_of
from engage.errors import InvalidRequest, MissingParameter
from engage.http.fields import ArrayField, BodySerializer, ObjectField, TextField, optional_text
from engage.json.storable import describe
from engage.models import App

NO_IDENTIFIER = "At least one of userId, external_id, email, phone must be present."
# What a call says about being sent. It may differ when the call is sent again.
ABOUT_SENDING = frozenset({"idempotencyKey", "identityToken", "occurredAt"})
MAX_CALLS = 50
_OLDEST = timedelta(hours=24)


@dataclass(frozen=True, kw_only=True)
class Sender:
    """Whom a call came from; `identity_token` is for calls that have none in their bodies.

    `origin` is the page's, "" outside browsers.
    """

    app: App
    address: str
    identity_token: str | None = None
    origin: str = ""


def key_field() -> TextField:
    return TextField(
        required=False,
        max_length=255,
        help_text="The same as the header `Idempotency-Key`, for callers that send no headers.",
    )


def identity_token_field() -> TextField:
    return optional_text(
        "The same as the header `X-Identity-Token`: a token from your server that says who the person is."
    )


def _event_name() -> TextField:
    said = "The event's name. Required if an event is to be created."
    return optional_text(said, max_length=MAX_EVENT_NAME_LENGTH)


class _CallBody(BodySerializer):
    """The fields that both calls share. How long identifiers may be, `identifiers_of` checks."""

    aliases: ClassVar = {"externalId": "external_id"}
    one_of: ClassVar = ("userId", "external_id", "email", "phone")
    none_of: ClassVar = NO_IDENTIFIER

    messageId = TextField(blank_is_absent=True, max_length=255, help_text="The id of the message.")
    userId = optional_text("The SDK's user id, or its anonymous id.")
    external_id = optional_text(DESCRIPTIONS["external_id"])
    email = optional_text(DESCRIPTIONS["email"])
    phone = optional_text(DESCRIPTIONS["phone"])
    actionId = optional_text(
        "The id of the button, or of the form, in the message's definition, which then says what is done.",
        max_length=MAX_ID_LENGTH,
    )
    idempotencyKey = key_field()
    identityToken = identity_token_field()
    occurredAt = optional_text(
        max_length=64,
        help_text="When it happened, if the call was held up. Must be ISO 8601 with an offset, within the last 24 "
        "hours and at most 5 minutes ahead of the service's clock. Defaults to now.",
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

    actionType = optional_text("What the button does. Required without `actionId`.")
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

    type = optional_text(
        "Whether to create an event, update the profile, or both. Required if any other field is sent."
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


class CallsBody(BodySerializer):
    """Calls that waited, each read and done on its own."""

    calls = ArrayField(max_items=MAX_CALLS, help_text="The calls, in the order in which they are to be done.")
    identityToken = optional_text("For those calls that have none of their own.")


def read_batch(body: Any, *, sender: Sender) -> tuple[list[Any], Sender]:
    """The calls, as they came, and the sender with the batch's own identity token.

    Raises MissingParameter, ArraySizeExceeded or InvalidRequest.
    """
    values = CallsBody.read(body)
    return values["calls"], replace(sender, identity_token=values.get("identityToken") or sender.identity_token)


def call_of(item: Any, *, known: Iterable[str]) -> tuple[str, dict[str, Any]]:
    """Which call an item of a batch is, and its body. Raises MissingParameter or InvalidRequest."""
    if not isinstance(item, dict):
        raise InvalidRequest(f"A call must be an object, but {describe(item)} came.")
    called = item.get("call")
    if called is None:
        raise MissingParameter("call is required.")
    if called not in tuple(known):
        raise InvalidRequest(f"call must be one of {', '.join(known)}.")
    return called, {name: value for name, value in item.items() if name != "call"}


def _require(field: str, *, of: str | None = None) -> Never:
    missing = {field: [ErrorDetail("is required.", code="required")]}
    raise ValidationError({of: missing} if of else missing)


def read_sent_again(body: Any, *, sender: Sender) -> BridgeCall:
    """Who calls, of a body that has been read before."""
    external_id = body.get("external_id") or body.get("externalId")
    return BridgeCall(
        message_id="",
        known_by=identifiers_of({**body, "external_id": external_id}),
        form_data={},
        address=sender.address,
        identity_token=body.get("identityToken") or sender.identity_token,
        origin=sender.origin,
    )


def identifiers_as_sent(body: Any) -> str:
    """The identifiers in a body, whatever is wrong with them, as one text; both spellings of a field are the same."""
    sent = {**body, "external_id": body.get("external_id") or body.get("externalId")}
    return json.dumps([sent.get(name) for name in _CallBody.one_of])


def idempotency_key(body: Any, *, header: str | None) -> str | None:
    """The call's key, from the header or from the body; None if it has none. Raises InvalidRequest if they differ."""
    key = body.get("idempotencyKey")
    if key is None:
        return header
    if not isinstance(key, str):
        raise InvalidRequest(f"idempotencyKey must be a string, but {describe(key)} came.")
    if header not in {None, key}:
        raise InvalidRequest("The header Idempotency-Key and idempotencyKey are one field, but their values differ.")
    return key


def without_sending(body: Any) -> Mapping[str, Any]:
    """The body without what it says about being sent."""
    return body if ABOUT_SENDING.isdisjoint(body) else {k: v for k, v in body.items() if k not in ABOUT_SENDING}


def read_action(body: Any, *, sender: Sender, now: datetime) -> tuple[BridgeCall, Action]:
    """The sender's call, and its action. Raises MissingParameter, InvalidActionType or InvalidRequest."""
    values = ActionBody.read(body)
    data = values["actionData"]
    return _call(values, sender, now), Action(
        type=values.get("actionType"),
        event_name=data.get("eventName", ""),
        event_properties=data.get("eventProperties", {}),
        profile_attributes=data.get("profileAttributes", {}),
    )


def read_capture(body: Any, *, sender: Sender, now: datetime) -> tuple[BridgeCall, SubmitAction | None]:
    """The sender's call, and its submit action, or None if that has no type.

    Raises MissingParameter, InvalidSubmitAction or InvalidRequest.
    """
    values = CaptureBody.read(body)
    submit = values["submitAction"]
    if "type" not in submit:
        return _call(values, sender, now), None
    return _call(values, sender, now), SubmitAction(
        type=submit["type"],
        event_name=submit.get("eventName", ""),
        event_properties=submit.get("eventProperties"),
        profile_attributes=submit.get("profileAttributes"),
    )


def _call(values: dict[str, Any], sender: Sender, now: datetime) -> BridgeCall:
    said, occurred_at = values.get("occurredAt"), None
    if said is not None:
        occurred_at = event_time(said, now=now, oldest=_OLDEST, oldest_in_words="24 hours")
    return BridgeCall(
        message_id=values["messageId"],
        known_by=identifiers_of(values),
        form_data=values.get("formData", {}),
        action_id=values.get("actionId", ""),
        address=sender.address,
        occurred_at=occurred_at,
        identity_token=values.get("identityToken") or sender.identity_token,
        origin=sender.origin,
    )
