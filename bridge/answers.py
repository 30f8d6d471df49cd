"""The bridge's answers, as the interface spells them."""

from typing import Annotated, Literal, NotRequired, TypedDict

from bridge.interactions import RecordedInteraction
from bridge.models import Interaction
from engage.object_ids import ObjectId

CLOSED_MESSAGE = "Message closed."
EVENT_MESSAGE = "Event tracked."
PROFILE_MESSAGE = "Profile updated."
LINK_MESSAGE = "Link recorded."
CAPTURED_MESSAGE = "Form captured."


class ClosedData(TypedDict):
    """After `close`."""

    closed: Literal[True]


class EventData(TypedDict):
    """After `track_event`."""

    eventId: Annotated[ObjectId, "The event that was created."]


class ProfileData(TypedDict):
    """After `update_profile`."""

    updated: Literal[True]
    attributes: Annotated[list[str], "The names of the attributes that were written."]


class LinkData(TypedDict):
    """After `link`: it is recorded; opening it is up to the SDK."""

    opened: Literal[True]


class CapturedData(TypedDict):
    """After a form was captured."""

    eventId: NotRequired[Annotated[ObjectId, "The event, where one was created."]]
    attributesUpdated: Annotated[list[str], "The names of the profile attributes that were written."]


ActionData = ClosedData | EventData | ProfileData | LinkData


def action_answer(recorded: RecordedInteraction) -> tuple[str, ActionData]:
    """Message and data for a button that was clicked."""
    if recorded.event_id is not None:
        return EVENT_MESSAGE, EventData(eventId=recorded.event_id)
    match recorded.kind:
        case Interaction.Kind.UPDATE_PROFILE:
            return PROFILE_MESSAGE, ProfileData(updated=True, attributes=recorded.attributes_written)
        case Interaction.Kind.LINK:
            return LINK_MESSAGE, LinkData(opened=True)
        case _:
            return CLOSED_MESSAGE, ClosedData(closed=True)


def captured_data(recorded: RecordedInteraction) -> CapturedData:
    data = CapturedData(attributesUpdated=recorded.attributes_written)
    if recorded.event_id is not None:
        data["eventId"] = recorded.event_id
    return data
