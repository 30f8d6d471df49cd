"""Clicks on buttons in messages."""

from datetime import datetime

from bridge.form_values import with_form
from bridge.interactions.recording import MessageEvent, NewAttributes, RecordedInteraction, record_interaction
from bridge.messages.policy import asked_action
from bridge.models import Interaction
from bridge.requests import Action, BridgeCall
from customers.event_rules import refuse_reserved
from customers.models import Event
from engage.errors import MissingParameter, Refusal
from engage.json.mistakes import none_of
from engage.models import App

ACTION_TYPES = (
    Interaction.Kind.CLOSE,
    Interaction.Kind.TRACK_EVENT,
    Interaction.Kind.UPDATE_PROFILE,
    Interaction.Kind.LINK,
)


class InvalidActionType(Refusal):
    """The action type is not one of the four known types."""

    error = "Invalid action type"


def parse_action_type(text: str) -> Interaction.Kind:
    """The type that the text names. Raises InvalidActionType."""
    if mistake := none_of(ACTION_TYPES, text):
        raise InvalidActionType(f"actionType {mistake}")
    return Interaction.Kind(text)


def perform_action(*, app: App, call: BridgeCall, action: Action, now: datetime) -> RecordedInteraction:
    """Carries out the button's action and records it.

    `link` is only recorded, because the SDK opens the link. Raises InvalidRequest for attributes that cannot be
    written and for an event that is too large with its form, CustomersCreatedLimitExceeded, and what the message's
    definition does not allow: MessageNotRegistered, NotInMessage.
    """
    call, action = asked_action(app=app, call=call, action=action)
    if action.type is None:
        raise MissingParameter("actionType is required.")
    event, attributes = None, None
    if action.type is Interaction.Kind.TRACK_EVENT:
        refuse_reserved(action.event_name, field="actionData.eventName")
        properties = with_form(action.event_properties, form_data=call.form_data, named_in="actionData.eventProperties")
        event = MessageEvent(
            name=action.event_name,
            properties=properties,
            source=Event.Source.BRIDGE_ACTION,
            holds_form=properties.get("formData") is call.form_data,
        )
    elif action.type is Interaction.Kind.UPDATE_PROFILE:
        attributes = NewAttributes(values=action.profile_attributes, field="actionData.profileAttributes")
    return record_interaction(app=app, call=call, kind=action.type, event=event, attributes=attributes, now=now)
