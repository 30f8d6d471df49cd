"""Submitted forms in messages."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum
from typing import Any

from bridge.interactions import Call, MessageEvent, NewAttributes, RecordedInteraction, record_interaction
from bridge.models import Interaction
from customers.event_rules import MAX_EVENT_PROPERTIES_BYTES
from customers.models import Event
from engage.compact_json import json_bytes_of_members
from engage.errors import InvalidRequest, Refusal
from engage.models import App

MAX_MAPPED_BYTES = MAX_EVENT_PROPERTIES_BYTES  # also for mapped attributes


class SubmitType(StrEnum):
    TRACK_EVENT = "track_event"
    UPDATE_PROFILE = "update_profile"
    BOTH = "both"


class InvalidSubmitAction(Refusal):
    """The submit action's type is not one of the three known types."""

    error = "Invalid submit action"
    code = "invalid_submit_action"


@dataclass(frozen=True, kw_only=True)
class SubmitAction:
    """What to do with a form. The maps go from a name to a form field's name; None means every field."""

    type: SubmitType
    event_name: str = ""
    event_properties: Mapping[str, Any] | None = None
    profile_attributes: Mapping[str, Any] | None = None


def submit_type(text: str) -> SubmitType:
    """The type that the text names. Raises InvalidSubmitAction."""
    try:
        return SubmitType(text)
    except ValueError:
        raise InvalidSubmitAction(f"submitAction.type must be one of {', '.join(SubmitType)}.") from None


def capture_form(*, app: App, call: Call, submit: SubmitAction | None, now: datetime) -> RecordedInteraction:
    """Carries out and records the submit action; without one, every form field becomes a profile attribute.

    Raises InvalidRequest for attributes that cannot be written and for maps whose result is too large,
    CustomersCreatedLimitExceeded and JourneysStartedLimitExceeded.
    """
    event, attributes = None, None
    if submit and submit.type in {SubmitType.TRACK_EVENT, SubmitType.BOTH}:
        properties = mapped(submit.event_properties, form_data=call.form_data, named_in="submitAction.eventProperties")
        event = MessageEvent(name=submit.event_name, properties=properties, source=Event.Source.BRIDGE_CAPTURE)
    if submit is None or submit.type in {SubmitType.UPDATE_PROFILE, SubmitType.BOTH}:
        attributes = _attributes(submit.profile_attributes if submit else None, form_data=call.form_data)
    kind = Interaction.Kind.CAPTURE
    return record_interaction(app=app, call=call, kind=kind, event=event, attributes=attributes, now=now)


def _attributes(fields: Mapping[str, Any] | None, *, form_data: Mapping[str, Any]) -> NewAttributes:
    named_in = "formData" if fields is None else "submitAction.profileAttributes"
    return NewAttributes(values=mapped(fields, form_data=form_data, named_in=named_in), field=named_in)


def mapped(fields: Mapping[str, Any] | None, *, form_data: Mapping[str, Any], named_in: str) -> dict[str, Any]:
    """Maps each name to the value of its form field; without a map, each form field keeps its own name.

    A value that is not a string, or that names no form field, is taken literally. Raises InvalidRequest, which names
    the request's field `named_in`, if the result exceeds MAX_MAPPED_BYTES: a short body can map one long form field
    to very many properties.
    """
    if fields is None:
        return dict(form_data)
    made = {name: form_data.get(field, field) if isinstance(field, str) else field for name, field in fields.items()}
    size = json_bytes_of_members(made)
    if size > MAX_MAPPED_BYTES:
        raise InvalidRequest(
            f"{named_in} comes to {size} bytes of JSON with the form's values; its maximum is {MAX_MAPPED_BYTES}."
        )
    return made
