"""The report of events in the OpenAPI document."""

from customers.conditions.instants import GRAMMAR_WITH_OFFSET
from customers.lookup import IDENTIFIER_NAMES
from engage.errors import InvalidRequest, MissingParameter
from engage.fields import ArraySizeExceeded, BodySerializer
from engage.schema.bodies import BLANK, NOT_BLANK, Body, at_least_one_of, none_of
from engage.schema.calls import WORKSPACE_ID, ServerCall
from engage.schema.responses import Answer
from engage.schema.shapes import Schema
from engage.views import WorkspaceNotFound
from journeys.reported_events import answers, examples
from journeys.reported_events.serializers import IN_THE_FUTURE, EventBody, EventsBody

_NAMES = tuple(IDENTIFIER_NAMES.values())
_NULL: Schema = {"type": "null"}
_FORMS: dict[str, Schema] = {
    "email": {"format": "email"},
    "occurredAt": {"format": "date-time", "pattern": f"{BLANK['pattern']}|{GRAMMAR_WITH_OFFSET}"},
}


def _of_somebody(serializer: type[BodySerializer]) -> Schema:
    return at_least_one_of(*_NAMES, serializer=serializer, value=NOT_BLANK)


_ITEMS = {"anyOf": [{"$ref": "#/components/schemas/EventBody"}, {"description": "Whatever else comes fails alone."}]}
_BODY = Body(
    EventsBody,
    properties={**_FORMS, "events": {"items": _ITEMS}},
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
    parts=(Body(EventBody, properties=_FORMS, rules=_of_somebody(EventBody)),),
)

describe_report = ServerCall(
    operation_id="reportEvents",
    tag="Customers",
    summary="Report events of customers",
    description="""
Records an event of one customer, or up to 1,000 of many. An event may start journeys that are entered by events of its
name, move customers on who wait for it in a journey, and end journeys early. What it leads to is committed with it.

**The customer** is named by `customerId`, `external_id`, `email`, `phone` or `userId`; where more than one of them
comes, the first in this order decides alone. Nobody is created: an event of an unknown customer is refused.

**Many events** come in `events`, and are recorded in their order. One that is refused fails alone.

The two forms cannot be mixed.

`occurredAt` is kept and shown; what the event leads to happens now, also where it tells of the past.
""",
    parameters=[WORKSPACE_ID],
    body=_BODY,
    requests=examples.REPORTS,
    answers=[
        Answer(
            status=202,
            data=answers.ReportedEventData | answers.ReportedEventsData,
            description="Recorded, and committed with what it leads to; workers do the rest. Of many events every one "
            "has its result, also where all of them failed.",
            examples={
                "One event": (answers.EVENT_MESSAGE, examples.RECORDED),
                "One recorded, one refused": ("1 recorded, 1 failed.", examples.MANY_RECORDED),
            },
        )
    ],
    refusals=[
        MissingParameter("eventName is required."),
        InvalidRequest(IN_THE_FUTURE),
        InvalidRequest("events holds many events, and external_id is of one; send the one or the other."),
        ArraySizeExceeded("events holds 1001 items; its maximum is 1000."),
        WorkspaceNotFound(),
        examples.UNKNOWN,
    ],
)
