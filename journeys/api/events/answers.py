"""The answer to a report, as the interface spells it."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict

from customers.api.items import ItemFailed, ItemSent
from engage.database.object_ids import ObjectId
from engage.errors import Refusal
from engage.http.spelling import spelled
from engage.json.keywords import OneOf
from engage.json.writing import written
from journeys.walking.recording import RecordedEvent

EVENT_MESSAGE = "The event is recorded."


class ReportedEventData(TypedDict):
    """One event, recorded."""

    eventId: Annotated[ObjectId, "The event's id."]
    customerId: Annotated[ObjectId, "The id of the customer whose event it is."]


@dataclass(frozen=True, kw_only=True)
class EventItemRecorded(ItemSent):
    """One of many events, recorded."""

    status: Literal["recorded"] = "recorded"
    event_id: Annotated[ObjectId, "The event's id."]
    customer_id: Annotated[ObjectId, "The id of the customer whose event it is."]


EventResult = Annotated[EventItemRecorded | ItemFailed, OneOf("EventResult")]


class ReportedEventsData(TypedDict):
    """What became of each of many events."""

    recorded: Annotated[int, "The number of events recorded."]
    failed: Annotated[int, "The number of events refused."]
    results: Annotated[list[EventResult], "One result per event, in the order sent."]


Reported = Annotated[ReportedEventData | ReportedEventsData, OneOf("Reported")]


def event_data(recorded: RecordedEvent) -> ReportedEventData:
    return spelled(ReportedEventData, recorded)


def events_answer(
    outcomes: Sequence[RecordedEvent | Refusal], sent: Sequence[ItemSent]
) -> tuple[str, ReportedEventsData]:
    """Message and data: how many of each, and a result per event in the order of the call."""
    results: list[Any] = [written(_result(outcome, item)) for outcome, item in zip(outcomes, sent, strict=True)]
    failed = sum(result["status"] == "failed" for result in results)
    data = ReportedEventsData(recorded=len(results) - failed, failed=failed, results=results)
    return f"{data['recorded']} recorded, {failed} failed.", data


def _result(outcome: RecordedEvent | Refusal, sent: ItemSent) -> EventResult:
    if isinstance(outcome, Refusal):
        return ItemFailed.of(outcome, sent)
    return EventItemRecorded(**vars(sent), event_id=outcome.event_id, customer_id=outcome.customer_id)
