"""What the calls about clicks and forms take."""

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar

from bridge.api.senders import IdempotencyKey, IdentityToken, Sender
from bridge.interactions.actions import ACTION_TYPES, parse_action_type
from bridge.interactions.capture import parse_submit_type
from bridge.models import MAX_ID_LENGTH, Interaction
from bridge.requests import Action, BridgeCall, SubmitAction, SubmitType
from customers.api.bodies import OCCURRED_AT, USER_ID, Email, ExternalId, Phone
from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_EVENT_PROPERTIES_BYTES
from customers.event_times import event_time
from customers.identity.identifiers import identifiers
from engage.calls.schema.bodies import NOT_BLANK, at_least_one_of
from engage.calls.schema.shapes import Schema
from engage.json.fields import Parsed, RequiredWithout, Stored, Text
from engage.json.keywords import Keywords, choice_of
from engage.json.reading import AtLeastOne, Problem, missing

NO_IDENTIFIER = "At least one of userId, external_id, email, phone must be present."
_OLDEST = timedelta(hours=24)
_ANY_TEXT = Text(longest=None, blank_is_absent=True)
_EventName = Annotated[
    str | None,
    "The event's name. Required if an event is to be created.",
    Text(longest=MAX_EVENT_NAME_LENGTH, blank_is_absent=True),
]


def _needs(field: str, value: Schema) -> Schema:
    return {"type": "object", "required": [field], "properties": {field: value}}


@dataclass(frozen=True, kw_only=True)
class _CallBody:
    """The fields that all calls share."""

    one_of: ClassVar = AtLeastOne(("userId", "external_id", "email", "phone"), NO_IDENTIFIER)

    message_id: Annotated[str, "The id of the message.", Text(longest=255, blank_is_absent=True)]
    user_id: Annotated[str | None, "The SDK's user id, or its anonymous id.", USER_ID] = None
    external_id: ExternalId = None
    email: Email = None
    phone: Phone = None
    delivery_id: Annotated[
        str | None,
        "The delivery that showed the message, if one did; it is then acted on or closed.",
        Text(longest=100, blank_is_absent=True),
    ] = None
    action_id: Annotated[
        str | None,
        "The id of the button, or of the form, in the message's definition, which then says what is done.",
        Text(longest=MAX_ID_LENGTH, blank_is_absent=True),
    ] = None
    idempotency_key: IdempotencyKey = None
    identity_token: IdentityToken = None
    occurred_at: Annotated[
        str | None,
        "When it happened, if the call was held up. Must be ISO 8601 with an offset, within the last 24 hours and at "
        "most 5 minutes ahead of the service's clock. Defaults to now.",
        Text(longest=64, blank_is_absent=True),
        OCCURRED_AT,
    ] = None

    def call(self, sender: Sender, *, form_data: dict[str, Any], now: datetime) -> BridgeCall:
        """Raises InvalidRequest."""
        at = self.occurred_at
        return sender.call(
            token=self.identity_token,
            message_id=self.message_id,
            occurred_at=event_time(at, now=now, oldest=_OLDEST, oldest_in_words="24 hours") if at else None,
            known_by=identifiers(
                user_id=self.user_id, external_id=self.external_id, email=self.email, phone=self.phone
            ),
            form_data=form_data,
            action_id=self.action_id or "",
            delivery_id=self.delivery_id or "",
        )


@dataclass(frozen=True, kw_only=True)
class ActionDataPart:
    """The data for `track_event` and `update_profile`; `close` and `link` need none."""

    event_name: _EventName = None
    event_properties: Annotated[
        dict[str, Any] | None,
        "Only for `track_event`: property name to value.",
        Stored(MAX_EVENT_PROPERTIES_BYTES),
    ] = None
    profile_attributes: Annotated[
        dict[str, Any] | None,
        "Required for `update_profile`: attribute name to value. null deletes the attribute.",
        Stored(),
    ] = None


def _if_action_is(kind: Interaction.Kind, *, data: Schema) -> Schema:
    return {
        "if": {**_needs("actionType", {"const": kind.value}), "not": _needs("actionId", NOT_BLANK)},
        "then": {"required": ["actionData"], "properties": {"actionData": data}},
    }


@dataclass(frozen=True, kw_only=True)
class ActionBody(_CallBody):
    """A click on a button."""

    rules: ClassVar = {
        "allOf": [
            at_least_one_of("actionType", "actionId", value=NOT_BLANK),
            _if_action_is(Interaction.Kind.TRACK_EVENT, data=_needs("eventName", NOT_BLANK)),
            _if_action_is(Interaction.Kind.UPDATE_PROFILE, data=_needs("profileAttributes", {"type": "object"})),
        ]
    }

    action_type: Annotated[
        Interaction.Kind | None,
        "What the button does. Required without `actionId`.",
        Parsed(parse_action_type),
        _ANY_TEXT,
        RequiredWithout("actionId"),
        Keywords(**choice_of(ACTION_TYPES)),
    ] = None
    action_data: Annotated[ActionDataPart, "The data for `track_event` or `update_profile`."] = ActionDataPart()
    form_data: Annotated[
        dict[str, Any] | None,
        "Form field name to value, if the button is part of a form. It is stored. For `track_event` it is also the "
        "event's property `formData`, unless `eventProperties` has one of that name.",
        Stored(),
    ] = None

    def problems(self) -> Iterator[Problem]:
        if self.action_id is not None:
            return
        if self.action_type is Interaction.Kind.TRACK_EVENT and self.action_data.event_name is None:
            yield missing("actionData.eventName")
        if self.action_type is Interaction.Kind.UPDATE_PROFILE and self.action_data.profile_attributes is None:
            yield missing("actionData.profileAttributes")

    def action(self) -> Action:
        return Action(
            type=self.action_type,
            event_name=self.action_data.event_name or "",
            event_properties=self.action_data.event_properties or {},
            profile_attributes=self.action_data.profile_attributes or {},
        )


@dataclass(frozen=True, kw_only=True)
class SubmitActionPart:
    """What to do with a form's data. If it is empty, every field becomes a profile attribute."""

    rules: ClassVar = {
        "allOf": [
            {
                "if": _needs("type", {"enum": [str(SubmitType.TRACK_EVENT), str(SubmitType.BOTH)]}),
                "then": _needs("eventName", NOT_BLANK),
            },
            {
                "if": {
                    "anyOf": [
                        _needs("eventName", NOT_BLANK),
                        _needs("eventProperties", {"type": "object"}),
                        _needs("profileAttributes", {"type": "object"}),
                    ]
                },
                "then": _needs("type", NOT_BLANK),
            },
        ]
    }

    type: Annotated[
        SubmitType | None,
        "Whether to create an event, update the profile, or both. Required if any other field is sent.",
        Parsed(parse_submit_type),
        _ANY_TEXT,
        Keywords(**choice_of(SubmitType)),
    ] = None
    event_name: _EventName = None
    event_properties: Annotated[
        dict[str, Any] | None,
        "Property name to form field name. If absent, every field becomes a property. A value that names no field is "
        "taken literally. The resulting properties must also fit into 64 KiB of JSON.",
        Stored(),
    ] = None
    profile_attributes: Annotated[
        dict[str, Any] | None,
        "Attribute name to form field name. If absent, every field becomes an attribute. A value that names no field "
        "is taken literally, so null deletes the attribute. The resulting attributes must also fit into 64 KiB of "
        "JSON.",
        Stored(),
    ] = None

    def problems(self) -> Iterator[Problem]:
        if self.type is None and self != SubmitActionPart():  # or what it says would be ignored
            yield missing("type")

    def asked(self) -> SubmitAction | None:
        """None if every field becomes an attribute."""
        if self.type is None:
            return None
        return SubmitAction(
            type=self.type,
            event_name=self.event_name or "",
            event_properties=self.event_properties,
            profile_attributes=self.profile_attributes,
        )


@dataclass(frozen=True, kw_only=True)
class CaptureBody(_CallBody):
    """A form that was submitted."""

    form_data: Annotated[
        dict[str, Any],
        "Form field name to value. If a field becomes an attribute, null deletes that attribute.",
        Stored(),
    ]
    submit_action: Annotated[SubmitActionPart, "What to do with the form data."] = SubmitActionPart()

    def problems(self) -> Iterator[Problem]:
        submit = self.submit_action
        if submit.type and submit.type.makes_event and submit.event_name is None:
            yield missing("submitAction.eventName")


@dataclass(frozen=True, kw_only=True)
class ShownBody(_CallBody):
    """A message that was shown."""

    delivery_id: Annotated[str, "The delivery that was shown.", Text(longest=100, blank_is_absent=True)]
