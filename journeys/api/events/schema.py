"""The report of events in the OpenAPI document."""

from typing import Any

from customers.api.items import ItemFailed, ItemSent
from customers.api.path_ids import ADA
from customers.conditions.instants import GRAMMAR_WITH_OFFSET
from customers.event_times import IN_THE_FUTURE
from customers.identity.locks import TooManyAtOnce
from customers.identity.lookup import IDENTIFIER_NAMES
from engage.errors import InvalidRequest, MissingParameter
from engage.http.fields import BodySerializer
from engage.http.views import WorkspaceNotFound
from engage.json.keywords import STRICT
from engage.json.reading import ArraySizeExceeded
from engage.json.writing import written
from engage.schema.bodies import BLANK, EMAIL, NOT_BLANK, Body, at_least_one_of, body_reference, none_of, or_blank
from engage.schema.calls import WORKSPACE_ID, ServerCall
from engage.schema.responses import Answer
from engage.schema.shapes import Schema
from journeys.api.events import answers
from journeys.api.events.answers import EventItemRecorded, ReportedEventData, ReportedEventsData
from journeys.api.events.serializers import EventItemPart, EventsBody
from journeys.walking.recording import unknown_customer

_EVENT = "6a0b1c2de4b0a1d2c3e4f5e1"
_ORDERED = {"external_id": "ada", "eventName": "ordered", "eventProperties": {"orderId": "A-1042", "total": 59.9}}

_REPORTS = {
    "One event": {**_ORDERED, "occurredAt": "2026-11-20T19:07:58Z"},
    "Many events": {"events": [_ORDERED, {"email": "nobody@example.com", "eventName": "ordered"}]},
}
_UNKNOWN = unknown_customer("email")
_RECORDED = ReportedEventData(eventId=_EVENT, customerId=ADA)
_RESULTS: list[Any] = [
    written(EventItemRecorded(index=0, external_id="ada", event_id=_EVENT, customer_id=ADA)),
    written(ItemFailed.of(_UNKNOWN, ItemSent(index=1, external_id=None))),
]
_MANY_RECORDED = ReportedEventsData(recorded=1, failed=1, results=_RESULTS)

_NAMES = tuple(IDENTIFIER_NAMES.values())
_NULL: Schema = {"type": "null"}
_FORMS: dict[str, Schema] = {
    "email": EMAIL,
    "occurredAt": {"format": "date-time", STRICT: {"format": None, **or_blank(pattern=GRAMMAR_WITH_OFFSET)}},
}


def _of_somebody(serializer: type[BodySerializer]) -> Schema:
    return at_least_one_of(*_NAMES, serializer=serializer, value=NOT_BLANK)


_ITEMS: Schema = {
    "items": body_reference(EventItemPart),
    # Any other item is refused, without affecting the others.
    STRICT: {"items": {"anyOf": [body_reference(EventItemPart), {}]}},
}
_BODY = Body(
    EventsBody,
    properties={**_FORMS, "events": _ITEMS},
    rules={
        "oneOf": [
            {
                "title": "One event",
                "required": ["eventName"],
                "properties": {"eventName": NOT_BLANK},
                "allOf": [none_of("events", serializer=EventsBody, absent=_NULL)],
            }
            | _of_somebody(EventsBody),
            {
                "title": "Many events",
                "required": ["events"],
                "properties": {"events": {"type": "array"}},
                "allOf": [
                    none_of(*_NAMES, "eventName", "occurredAt", serializer=EventsBody, absent=BLANK),
                    none_of("eventProperties", serializer=EventsBody, absent=_NULL),
                ],
            },
        ]
    },
    parts=(Body(EventItemPart, properties=_FORMS, rules=_of_somebody(EventItemPart)),),
)

describe_report = ServerCall(
    operation_id="reportEvents",
    tag="Customers",
    summary="Report customer events",
    description="""
Records one event of one customer, or up to 1,000 events of any customers. An event may start journeys that are
triggered by events of its name, continue enrollments that wait for it, and end enrollments early. These effects are
committed together with the event.

**The customer** is identified by `customerId`, `external_id`, `email`, `phone` or `userId`. If you send more than one,
only the first in this order is used. No customer is created: an event of an unknown customer is refused.

**Many events:** send `events`. They are recorded and take effect in the order sent. If one is refused, the others are
still recorded.

The two forms cannot be mixed.

`occurredAt` is stored and displayed, but the event takes effect now, even if it happened in the past.
""",
    parameters=[WORKSPACE_ID],
    body=_BODY,
    requests=_REPORTS,
    answers=Answer(
        name="EventsAnswer",
        status=202,
        data=answers.Reported,
        description="The event and its effects are committed; workers do the rest. A call with many events returns "
        "one result per event, even if all of them failed.",
        examples={
            "One event": (answers.EVENT_MESSAGE, _RECORDED),
            "One recorded, one refused": ("1 recorded, 1 failed.", _MANY_RECORDED),
        },
    ),
    refusals=[
        MissingParameter("eventName is required."),
        InvalidRequest(IN_THE_FUTURE),
        InvalidRequest("events holds many events, and external_id is of one; send the one or the other."),
        ArraySizeExceeded("events holds 1001 items; its maximum is 1000."),
        WorkspaceNotFound(),
        _UNKNOWN,
        TooManyAtOnce(),
    ],
)
