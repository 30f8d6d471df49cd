"""The calls about what happens in messages: clicks and forms."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Annotated, Any, ClassVar, Literal

from django.utils import timezone

from bridge.api.in_app import DeliveryView, Due
from bridge.api.senders import OF_IDENTITY, IdempotencyKey, IdentityToken, Sender
from bridge.caps import TOO_MANY_NEW
from bridge.interactions.actions import ACTION_TYPES, InvalidActionType, parse_action_type, perform_action
from bridge.interactions.capture import InvalidSubmitAction, parse_submit_type
from bridge.interactions.capture import capture_form as capture
from bridge.interactions.recording import RecordedInteraction, record_shown
from bridge.messages.problems import MessageNotRegistered, NotInMessage, Reason
from bridge.messages.problems import Problem as MessageProblem
from bridge.models import MAX_ID_LENGTH, Interaction
from bridge.requests import Action, BridgeCall, SubmitAction, SubmitType
from customers.api.bodies import OCCURRED_AT, USER_ID, Email, ExternalId, Phone
from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_EVENT_PROPERTIES_BYTES
from customers.event_times import IN_THE_FUTURE, event_time
from customers.identity.identifiers import identifiers
from customers.tombstones import CustomerErased
from engage.calls.asked import AskedBySdk
from engage.calls.call import Answered, post
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest, MissingParameter
from engage.json.fields import LEFT_OUT, Parsed, RequiredWithout, Stored, Text
from engage.json.keywords import Keywords, OneOf
from engage.json.reading import AtLeastOne, Problem, missing
from engage.schema.bodies import NOT_BLANK, at_least_one_of, choice_of
from engage.schema.shapes import Schema
from journeys.in_app.transitions import DeliveryNotFound

_NO_IDENTIFIER = "At least one of userId, external_id, email, phone must be present."
_OLDEST = timedelta(hours=24)
_ANY_TEXT = Text(longest=None, blank_is_absent=True)
_EventName = Annotated[
    str | None,
    "The event's name. Required if an event is to be created.",
    Text(longest=MAX_EVENT_NAME_LENGTH, blank_is_absent=True),
]


def _needs(field: str, value: Schema) -> Schema:
    return {"type": "object", "required": [field], "properties": {field: value}}


# What is sent ---------------------------------------------------------------------------------------------------------


DELIVERY = "6a0b1c2de4b0a1d2c3e4f507"  # in examples


@dataclass(frozen=True, kw_only=True)
class _CallBody:
    """The fields that all calls share."""

    one_of: ClassVar = AtLeastOne(("userId", "external_id", "email", "phone"), _NO_IDENTIFIER)

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


# What is answered -----------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class MessageClosed:
    """The result of `close`."""

    closed: Literal[True] = True
    due: Annotated[Due | None, LEFT_OUT] = None


@dataclass(frozen=True)
class EventTracked:
    """The result of `track_event`."""

    event_id: Annotated[ObjectId, "The id of the event that was created."]
    due: Annotated[Due | None, LEFT_OUT] = None


@dataclass(frozen=True, kw_only=True)
class ProfileUpdated:
    """The result of `update_profile`."""

    updated: Literal[True] = True
    attributes: Annotated[Sequence[str], "The names of the attributes that were written."]
    due: Annotated[Due | None, LEFT_OUT] = None


@dataclass(frozen=True)
class LinkOpened:
    """The result of `link`: the click is recorded. The SDK opens the link."""

    opened: Literal[True] = True
    due: Annotated[Due | None, LEFT_OUT] = None


@dataclass(frozen=True, kw_only=True)
class FormCaptured:
    """The result of a captured form."""

    attributes_updated: Annotated[Sequence[str], "The names of the profile attributes that were written."]
    event_id: Annotated[ObjectId | None, "The id of the event; omitted if none was created.", LEFT_OUT] = None
    due: Annotated[Due | None, LEFT_OUT] = None


@dataclass(frozen=True)
class MessageShown:
    """The delivery counts as shown."""

    shown: Literal[True] = True
    due: Annotated[Due | None, LEFT_OUT] = None


ActionDone = Annotated[MessageClosed | EventTracked | ProfileUpdated | LinkOpened, OneOf("ActionDone")]


def _done(recorded: RecordedInteraction) -> Answered[ActionDone]:
    if recorded.event_id is not None:
        return Answered(data=EventTracked(recorded.event_id), says="Event tracked.")
    match recorded.kind:
        case Interaction.Kind.UPDATE_PROFILE:
            return Answered(data=ProfileUpdated(attributes=recorded.attributes_written), says="Profile updated.")
        case Interaction.Kind.LINK:
            return Answered(data=LinkOpened(), says="Link recorded.")
        case _:
            return Answered(data=MessageClosed(), says="Message closed.")


def _captured(*, attributes: Sequence[str], event_id: str | None = None) -> Answered[FormCaptured]:
    return Answered(data=FormCaptured(attributes_updated=attributes, event_id=event_id), says="Form captured.")


# The calls ------------------------------------------------------------------------------------------------------------

EVENT, MESSAGE = "6a0b1c2de4b0a1d2c3e4f506", "spring-sale-banner"  # in examples
_bridge: dict[str, Any] = {
    "scope": None,
    "policy": "bridge",
    "tag": "In-app messages",
    "view": DeliveryView,
    "once": True,
    "often": True,
}
_REFUSES = [
    InvalidRequest(IN_THE_FUTURE),
    TOO_MANY_NEW,
    *OF_IDENTITY,
    MessageNotRegistered(),
    NotInMessage(
        [MessageProblem(reason=Reason.VALUE, field="actionData.eventProperties.discount", why="must be at most 10.")]
    ),
    CustomerErased(),
    DeliveryNotFound(),
]


@post(
    path="sdk/bridge/action",
    **_bridge,
    answer="The action was carried out and recorded.",
    answer_name="ActionAnswer",
    requests={
        "Close": {"messageId": MESSAGE, "userId": "anon-7f3a", "actionType": "close"},
        "Track an event": {
            "messageId": MESSAGE,
            "userId": "u-1",
            "actionType": "track_event",
            "actionData": {"eventName": "offer_accepted", "eventProperties": {"offer": "spring", "discount": 20}},
        },
        "Update the profile": {
            "messageId": MESSAGE,
            "external_id": "ada",
            "actionType": "update_profile",
            "actionData": {"profileAttributes": {"newsletter": True}},
        },
        "Link": {"messageId": MESSAGE, "userId": "u-1", "actionType": "link"},
        "As the message's definition says": {"messageId": MESSAGE, "userId": "u-1", "actionId": "cta"},
    },
    examples={
        "Close": Answered(data=MessageClosed(), says="Message closed."),
        "Track an event": Answered(data=EventTracked(EVENT), says="Event tracked."),
        "Update the profile": Answered(data=ProfileUpdated(attributes=["newsletter"]), says="Profile updated."),
        "Link": Answered(data=LinkOpened(), says="Link recorded."),
    },
    refuses=[
        MissingParameter("actionData.eventName is required."),
        InvalidActionType("actionType must be one of close, track_event, update_profile, link."),
        *_REFUSES,
    ],
)
def record_action(asked: AskedBySdk[ActionBody, None]) -> Answered[ActionDone]:
    """Record a button click

    Records a click on a button in a message, and carries out the button's action.

    Send at least one identifier. The customer is looked up by `userId`, `external_id`, `email` and `phone`, in this
    order. The first identifier that matches a customer is used. If none matches, a customer is created with all of
    them. The identifiers of an existing customer are not changed, and two customers are not merged: as long as an
    anonymous `userId` is sent, it comes before the other identifiers. Once the person has logged in, call `identify`.
    To give a customer more identifiers, use `putCustomer` on a server.
    """
    now = timezone.now()
    call = asked.body.call(Sender.of(asked), form_data=asked.body.form_data or {}, now=now)
    return _done(perform_action(app=asked.app, call=call, action=asked.body.action(), now=call.occurred_at or now))


@post(
    path="sdk/bridge/capture",
    **_bridge,
    answer="The form was processed and recorded.",
    requests={
        "Every field becomes an attribute": {
            "messageId": MESSAGE,
            "userId": "u-1",
            "formData": {"city": "Ulm", "size": "M"},
        },
        "An event and an attribute": {
            "messageId": MESSAGE,
            "email": "ada@example.com",
            "formData": {"city": "Ulm", "rating": "5"},
            "submitAction": {
                "type": "both",
                "eventName": "survey_answered",
                "eventProperties": {"stars": "rating"},
                "profileAttributes": {"home_town": "city"},
            },
        },
    },
    examples={
        "Every field becomes an attribute": _captured(attributes=["city", "size"]),
        "An event and an attribute": _captured(attributes=["home_town"], event_id=EVENT),
    },
    refuses=[
        MissingParameter(_NO_IDENTIFIER),
        InvalidSubmitAction("submitAction.type must be one of track_event, update_profile, both."),
        *_REFUSES,
    ],
)
def capture_form(asked: AskedBySdk[CaptureBody, None]) -> Answered[FormCaptured]:
    """Record a submitted form

    Records a form submitted in a message, and turns it into an event, profile attributes, or both.
    A field that is called like an identifier, such as `email`, becomes an attribute and nothing else.

    Send at least one identifier. The customer is looked up by `userId`, `external_id`, `email` and `phone`, in this
    order. The first identifier that matches a customer is used. If none matches, a customer is created with all of
    them. The identifiers of an existing customer are not changed, and two customers are not merged: as long as an
    anonymous `userId` is sent, it comes before the other identifiers. Once the person has logged in, call `identify`.
    To give a customer more identifiers, use `putCustomer` on a server.
    """
    now = timezone.now()
    call = asked.body.call(Sender.of(asked), form_data=asked.body.form_data, now=now)
    submit = asked.body.submit_action.asked()
    recorded = capture(app=asked.app, call=call, submit=submit, now=call.occurred_at or now)
    return _captured(attributes=recorded.attributes_written, event_id=recorded.event_id)


@post(
    path="sdk/bridge/shown",
    **_bridge,
    says="Message shown.",
    answer="The delivery counts as shown.",
    requests={"Shown": {"messageId": MESSAGE, "deliveryId": DELIVERY, "userId": "anon-7f3a"}},
    examples={"Shown": MessageShown()},
    refuses=[MissingParameter("deliveryId is required."), *_REFUSES],
)
def record_shown_message(asked: AskedBySdk[ShownBody, None]) -> MessageShown:
    """Record that a message was shown

    Says that the person has seen what a journey has delivered to them. Said again, or of what is over, it changes
    nothing. Nobody is created.
    """
    now = timezone.now()
    call = asked.body.call(Sender.of(asked), form_data={}, now=now)
    record_shown(app=asked.app, call=call, now=call.occurred_at or now)
    return MessageShown()
