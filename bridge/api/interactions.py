"""The calls about what happens in messages: clicks and forms."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal

from django.utils import timezone

from bridge.api.in_app import DELIVERY, DeliveryView, Due
from bridge.api.interaction_bodies import NO_IDENTIFIER, ActionBody, CaptureBody, ShownBody
from bridge.api.senders import OF_IDENTITY, Sender
from bridge.caps import TOO_MANY_NEW
from bridge.interactions.actions import InvalidActionType, perform_action
from bridge.interactions.capture import InvalidSubmitAction
from bridge.interactions.capture import capture_form as capture
from bridge.interactions.recording import RecordedInteraction, record_shown
from bridge.messages.problems import MessageNotRegistered, NotInMessage, Reason
from bridge.messages.problems import Problem as MessageProblem
from bridge.models import Interaction
from customers.event_times import IN_THE_FUTURE
from customers.identity.locks import TooManyAtOnce
from customers.tombstones import CustomerErased
from engage.calls.asked import AskedBySdk
from engage.calls.call import Answered, post
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest, MissingParameter
from engage.json.fields import LEFT_OUT
from engage.json.keywords import OneOf
from journeys.engine.in_app.transitions import DeliveryNotFound

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
    TooManyAtOnce(),
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
        InvalidActionType("actionType must be one of close, track_event, update_profile, link, not 'jump'."),
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
        MissingParameter(NO_IDENTIFIER),
        InvalidSubmitAction("submitAction.type must be one of track_event, update_profile, both, not 'none'."),
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
