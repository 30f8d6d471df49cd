"""The body of a report: one event, or many, each read on its own."""

from datetime import datetime, timedelta
from typing import Any

from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_EVENT_PROPERTIES_BYTES
from customers.event_times import event_time
from customers.serializers import ReferenceBody, read_reference
from engage.errors import InvalidRequest, Refusal
from engage.http.fields import ArrayField, ObjectField, TextField, optional_text
from engage.json.storable import describe
from journeys.walking.recording import ReportedEvent

MAX_EVENTS = 1000
_OLDEST = timedelta(days=3653)


def _event_name(*, required: bool) -> TextField:
    return TextField(
        required=required, blank_is_absent=True, max_length=MAX_EVENT_NAME_LENGTH, help_text="The event's name."
    )


class _EventFields(ReferenceBody):
    """The fields of an event except its name."""

    eventProperties = ObjectField(
        required=False,
        max_bytes=MAX_EVENT_PROPERTIES_BYTES,
        help_text="Property name to value, available to templates as `event.properties.<key>`.",
    )
    occurredAt = optional_text(
        max_length=64,
        help_text="When the event happened. Must be ISO 8601 with an offset, within the last ten years and at most "
        "5 minutes ahead of the service's clock. Defaults to now.",
    )


class EventItemPart(_EventFields):
    """One event of one customer."""

    eventName = _event_name(required=True)


class EventsBody(_EventFields):
    """Either one event, or many."""

    eventName = _event_name(required=False)
    events = ArrayField(
        required=False, max_items=MAX_EVENTS, help_text="The events, in the order in which to record them."
    )


def read_report(body: Any, *, now: datetime) -> ReportedEvent | list[ReportedEvent | Refusal]:
    """The one event, or a list with each of the many, or with its refusal if it cannot be read.

    Raises MissingParameter, ArraySizeExceeded or InvalidRequest.
    """
    if body.get("events") is None:
        return _read_event(body, now=now)
    values = EventsBody.read(body)
    items = values.pop("events")
    if values:
        raise InvalidRequest(
            f"events holds many events, and {next(iter(values))} is of one; send the one or the other."
        )
    return [_read_item(item, now=now) for item in items]


def _read_item(item: Any, *, now: datetime) -> ReportedEvent | Refusal:
    try:
        return _read_event(item, now=now)
    except Refusal as refusal:
        return refusal.as_value()


def _read_event(body: Any, *, now: datetime) -> ReportedEvent:
    if not isinstance(body, dict):
        raise InvalidRequest(f"An event must be an object, but {describe(body)} came.")
    values = EventItemPart.read(body)
    return ReportedEvent(
        customer=read_reference(values),
        name=values["eventName"],
        properties=values.get("eventProperties", {}),
        occurred_at=_moment(values.get("occurredAt"), now),
    )


def _moment(text: str | None, now: datetime) -> datetime | None:
    return None if text is None else event_time(text, now=now, oldest=_OLDEST, oldest_in_words="ten years")
