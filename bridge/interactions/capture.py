"""Submitted forms in messages."""

from collections.abc import Mapping
from datetime import datetime
from typing import Any

from bridge.form_values import mapped
from bridge.interactions.recording import MessageEvent, NewAttributes, RecordedInteraction, record_interaction
from bridge.messages.policy import asked_form
from bridge.models import Interaction
from bridge.requests import BridgeCall, SubmitAction, SubmitType
from customers.event_rules import refuse_reserved
from customers.models import Event
from engage.errors import Refusal
from engage.json.mistakes import none_of
from engage.models import App


class InvalidSubmitAction(Refusal):
    """The submit action's type is not one of the three known types."""

    error = "Invalid submit action"


def parse_submit_type(text: str) -> SubmitType:
    """The type that the text names. Raises InvalidSubmitAction."""
    if mistake := none_of([*SubmitType], text):
        raise InvalidSubmitAction(f"submitAction.type {mistake}")
    return SubmitType(text)


def capture_form(*, app: App, call: BridgeCall, submit: SubmitAction | None, now: datetime) -> RecordedInteraction:
    """Carries out and records the submit action; without one, every form field becomes a profile attribute.

    Raises InvalidRequest for attributes that cannot be written and for maps whose result is too large,
    CustomersCreatedLimitExceeded, and what the message's definition does not allow: MessageNotRegistered, NotInMessage.
    """
    call, submit = asked_form(app=app, call=call, submit=submit)
    event, attributes = None, None
    if submit and submit.type.makes_event:
        refuse_reserved(submit.event_name, field="submitAction.eventName")
        properties = mapped(submit.event_properties, form_data=call.form_data, named_in="submitAction.eventProperties")
        event = MessageEvent(
            name=submit.event_name,
            properties=properties,
            source=Event.Source.BRIDGE_CAPTURE,
            holds_form=submit.event_properties is None,
        )
    if submit is None or submit.type.writes_attributes:
        attributes = _attributes(submit.profile_attributes if submit else None, form_data=call.form_data)
    kind = Interaction.Kind.CAPTURE
    return record_interaction(app=app, call=call, kind=kind, event=event, attributes=attributes, now=now)


def _attributes(fields: Mapping[str, Any] | None, *, form_data: Mapping[str, Any]) -> NewAttributes:
    named_in = "formData" if fields is None else "submitAction.profileAttributes"
    return NewAttributes(values=mapped(fields, form_data=form_data, named_in=named_in), field=named_in)
