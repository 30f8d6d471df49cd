"""The bridge's answers, in the shapes of the API."""

from collections.abc import Sequence
from http import HTTPStatus
from typing import Annotated, Literal, NotRequired, TypedDict, cast

from rest_framework.response import Response

from bridge.interactions.recording import RecordedInteraction
from bridge.models import Interaction
from engage.database.object_ids import ObjectId
from engage.errors import FailureDetail
from engage.json.keywords import OneOf

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


ActionData = Annotated[MessageClosedData | EventTrackedData | ProfileUpdatedData | LinkOpenedData, OneOf("ActionDone")]
RecordedCall = Annotated[ActionData | FormCapturedData, OneOf("RecordedCall")]


class CallDone(TypedDict):
    """A call of a batch that was done, with the answer that it would get alone."""

    status: Annotated[int, "The status that it would have alone."]
    success: Annotated[Literal[True], "Whether it was done."]
    message: str
    data: RecordedCall


class CallRefused(TypedDict):
    """A call of a batch that was refused, with the failure that it would get alone."""

    status: Annotated[int, "The status that it would have alone."]
    success: Literal[False]
    error: str
    message: str
    code: str
    requestId: str
    details: NotRequired[list[FailureDetail]]


CallResult = Annotated[CallDone | CallRefused, OneOf("CallResult")]


class BatchDone(TypedDict):
    """The results of a batch."""

    results: Annotated[list[CallResult], "One result per call, in the order sent."]


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


def batch_answer(answers: Sequence[Response]) -> tuple[str, BatchDone]:
    """The message and the data that answer a batch."""
    done = sum(one.status_code < HTTPStatus.BAD_REQUEST for one in answers)
    results = [cast("CallResult", {"status": one.status_code, **one.data}) for one in answers]
    return f"{done} of {len(answers)} calls done.", BatchDone(results=results)
