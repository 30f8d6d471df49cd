"""The bridge's answers, in the shapes of the API."""

from typing import Annotated, Literal, NotRequired, TypedDict

from bridge.interactions import RecordedInteraction
from bridge.models import Interaction
from engage.database.object_ids import ObjectId

CLOSED_MESSAGE = "Message closed."
EVENT_MESSAGE = "Event tracked."
PROFILE_MESSAGE = "Profile updated."
LINK_MESSAGE = "Link recorded."
CAPTURED_MESSAGE = "Form captured."


class MessageClosedData(TypedDict):
    """The result of `close`."""

    closed: Literal[True]


class EventTrackedData(TypedDict):
    """The result of `track_event`."""

    eventId: Annotated[ObjectId, "The id of the event that was created."]


class ProfileUpdatedData(TypedDict):
    """The result of `update_profile`."""

    updated: Literal[True]
    attributes: Annotated[list[str], "The names of the attributes that were written."]


class LinkOpenedData(TypedDict):
    """The result of `link`: the click is recorded. The SDK opens the link."""

    opened: Literal[True]


class FormCapturedData(TypedDict):
    """The result of a captured form."""

    eventId: NotRequired[Annotated[ObjectId, "The id of the event; omitted if none was created."]]
    attributesUpdated: Annotated[list[str], "The names of the profile attributes that were written."]


ActionData = MessageClosedData | EventTrackedData | ProfileUpdatedData | LinkOpenedData


def action_answer(recorded: RecordedInteraction) -> tuple[str, ActionData]:
    """The message and the data that answer a click on a button."""
    if recorded.event_id is not None:
        return EVENT_MESSAGE, EventTrackedData(eventId=recorded.event_id)
    match recorded.kind:
        case Interaction.Kind.UPDATE_PROFILE:
            return PROFILE_MESSAGE, ProfileUpdatedData(updated=True, attributes=recorded.attributes_written)
        case Interaction.Kind.LINK:
            return LINK_MESSAGE, LinkOpenedData(opened=True)
        case _:
            return CLOSED_MESSAGE, MessageClosedData(closed=True)


def captured_data(recorded: RecordedInteraction) -> FormCapturedData:
    data = FormCapturedData(attributesUpdated=recorded.attributes_written)
    if recorded.event_id is not None:
        data["eventId"] = recorded.event_id
    return data
