"""The call that reports events: one, or up to 1,000 at once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import datetime
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Literal

from django.utils import timezone

from customers.api.bodies import OCCURRED_AT, ReferenceBody
from customers.api.items import ItemFailed, ItemSent, items_as_sent
from customers.api.path_ids import ADA
from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_EVENT_PROPERTIES_BYTES, refuse_reserved
from customers.event_times import IN_THE_FUTURE, reported_event_time
from customers.identity.locks import TooManyAtOnce
from customers.identity.lookup import IDENTIFIER_NAMES
from engage.calls.asked import Asked
from engage.calls.call import Answered, post
from engage.calls.queries import DRY_RUN_MESSAGE, DryRun
from engage.calls.schema.bodies import NOT_BLANK, at_least_one_of, none_of
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest, MissingParameter, Refusal
from engage.json.fields import Items, Member, RequiredWithout, Spelled, Stored, Text, members, spellings
from engage.json.keywords import BLANK, OneOf
from engage.json.reading import ArraySizeExceeded, Problem, read
from engage.json.storable import describe
from engage.notations.sizes import MAX_LIST_BYTES
from engage.scopes import Scope, require_scope
from journeys.engine.walking.event_dry_runs import TriedEvent, WouldCount, WouldEnd, WouldNotStart, try_reported_events
from journeys.engine.walking.recording import (
    RecordedEvent,
    ReportedEvent,
    record_reported_event,
    record_reported_events,
    unknown_customer,
)
from journeys.faces.path_ids import JOURNEY_ID
from journeys.trigger.recipients import ENTRANCE

_NAMES = (*IDENTIFIER_NAMES.values(), "externalId")
_NAME = Text(longest=MAX_EVENT_NAME_LENGTH, blank_is_absent=True)
_NULL = {"type": "null"}


@dataclass(frozen=True, kw_only=True)
class _EventFields(ReferenceBody):
    """The fields of an event except its name."""

    event_properties: Annotated[
        dict[str, Any] | None,
        "Property name to value, available to templates as `event.properties.<key>`.",
        Stored(most_bytes=MAX_EVENT_PROPERTIES_BYTES),
    ] = None
    occurred_at: Annotated[
        str | None,
        "When the event happened. Must be ISO 8601 with an offset, within the last ten years and at most 5 minutes "
        "ahead of the service's clock. Defaults to now.",
        Text(longest=64, blank_is_absent=True),
        OCCURRED_AT,
    ] = None

    entrance_id: Annotated[
        str | None,
        "Your own id of what the event is about, such as an order, at most 128 characters: whoever it enters into a "
        "journey enters that once for it.",
        ENTRANCE,
        Spelled("entranceId", also="entrance_id"),
    ] = None

    def event(self, name: str, *, country: str, now: datetime) -> ReportedEvent:
        """Raises MissingParameter or InvalidRequest."""
        refuse_reserved(name, field="eventName")
        at = self.occurred_at
        return ReportedEvent(
            customer=self.reference(country),
            name=name,
            properties=self.event_properties or {},
            occurred_at=reported_event_time(at, now=now) if at else None,
            entrance=self.entrance_id,
        )


@dataclass(frozen=True, kw_only=True)
class EventItemPart(_EventFields):
    """One event of one customer."""

    event_name: Annotated[str, "The event's name.", _NAME]


@dataclass(frozen=True, kw_only=True)
class EventsBody(_EventFields):
    """Either one event, or many."""

    rules: ClassVar = {
        "oneOf": [
            {
                "title": "One event",
                "required": ["eventName"],
                "properties": {"eventName": NOT_BLANK},
                "allOf": [none_of("events", absent=_NULL)],
            }
            | at_least_one_of(*_NAMES, value=NOT_BLANK),
            {
                "title": "Many events",
                "required": ["events"],
                "properties": {"events": {"type": "array"}},
                "allOf": [
                    none_of(*_NAMES, "eventName", "occurredAt", absent=BLANK),
                    none_of("eventProperties", absent=_NULL),
                ],
            },
        ]
    }

    event_name: Annotated[str, "The event's name.", _NAME, RequiredWithout("events")] = ""
    events: Annotated[
        list[Any] | None, "The events, in the order in which to record them.", Items(most=1000, of=EventItemPart)
    ] = None

    def problems(self) -> Iterator[Problem]:
        of_one = (member.spelling for member in members(EventsBody) if member.name != "events" and self._has(member))
        if self.events is not None and (name := next(of_one, None)):
            told = f"events holds many events, and {name} is of one; send the one or the other."
            yield Problem(name, told, is_sentence=True)

    def _has(self, member: Member) -> bool:
        return bool(getattr(self, member.name) != member.declared.default)


@dataclass(frozen=True, kw_only=True)
class EventItemRecorded(ItemSent):
    """One of many events, recorded."""

    status: Literal["recorded"] = "recorded"
    event_id: Annotated[ObjectId, "The event's id."]
    customer_id: Annotated[ObjectId, "The id of the customer whose event it is."]


EventResult = Annotated[EventItemRecorded | ItemFailed, OneOf("EventResult")]


@dataclass(frozen=True, kw_only=True)
class ReportedEventsData:
    """What became of each of many events."""

    recorded: Annotated[int, "The number of events recorded."]
    failed: Annotated[int, "The number of events refused."]
    results: Annotated[Sequence[EventResult], "One result per event, in the order sent."]


@dataclass(frozen=True, kw_only=True)
class EventItemTried(TriedEvent, ItemSent):
    """One of the events, tried: what it would do."""

    schema_name: ClassVar = "TriedEvent"

    status: Literal["tried"] = "tried"


TriedResult = Annotated[EventItemTried | ItemFailed, OneOf("TriedResult")]


@dataclass(frozen=True, kw_only=True)
class TriedEventsData:
    """What the events would do. Nothing was written."""

    status: Literal["dry_run"] = "dry_run"
    events: Annotated[Sequence[TriedResult], "One result per event, in the order sent; one if one event was sent."]


Reported = Annotated[RecordedEvent | ReportedEventsData | TriedEventsData, OneOf("Reported")]


@dataclass(frozen=True, kw_only=True)
class EventsQuery(DryRun):
    """Whether the events are recorded, or only tried."""

    from_bridge: Annotated[
        bool, "`true` in a dry run: what the events would do if in-app messages sent them, without a token."
    ] = False


def _tried(outcome: TriedEvent | Refusal, sent: ItemSent) -> TriedResult:
    return (
        ItemFailed.of(outcome, sent) if isinstance(outcome, Refusal) else EventItemTried(**vars(sent), **vars(outcome))
    )


def _result(outcome: RecordedEvent | Refusal, sent: ItemSent) -> EventResult:
    if isinstance(outcome, Refusal):
        return ItemFailed.of(outcome, sent)
    return EventItemRecorded(**vars(sent), event_id=outcome.event_id, customer_id=outcome.customer_id)


def _many(outcomes: Sequence[RecordedEvent | Refusal], items: Sequence[Any]) -> Answered[Reported]:
    """How many of each, and a result per event in the order of the call."""
    sent = items_as_sent(items, known=spellings(EventItemPart))
    results = [_result(outcome, item) for outcome, item in zip(outcomes, sent, strict=True)]
    failed = sum(isinstance(result, ItemFailed) for result in results)
    data = ReportedEventsData(recorded=len(results) - failed, failed=failed, results=results)
    return Answered(data=data, says=f"{data.recorded} recorded, {data.failed} failed.")


def _done(tried: Sequence[TriedResult]) -> Answered[Reported]:
    return Answered(data=TriedEventsData(events=tried), says=DRY_RUN_MESSAGE, status=HTTPStatus.OK)


_ONLY_DRY = InvalidRequest("fromBridge is for dry runs only: send dryRun=true as well.")
_RECORDED = RecordedEvent(event_id="6a0b1c2de4b0a1d2c3e4f5e1", customer_id=ADA)
_UNKNOWN = unknown_customer("email")
_ONE = ItemSent(index=0, external_id="ada")
_TRIED = TriedEvent(
    ends=[
        WouldEnd(
            journey_id=JOURNEY_ID.example,
            key="cart",
            enrollment_id="6a0b1c2fe4b0a1d2c3e4f504",
            reason="The event 'ordered' ends the journey.",
        )
    ],
    goals=[
        WouldCount(journey_id=JOURNEY_ID.example, key="cart", enrollment_id="6a0b1c2fe4b0a1d2c3e4f504", goal="bought")
    ],
    not_started=[
        WouldNotStart(
            journey_id="68a1f0c2e4b0a1d2c3e4f5a2",
            key="big-orders",
            reason="where_not_met",
            details=["event.properties.total is 59.9, wanted at least 100"],
        )
    ],
)
_ORDERED = {"external_id": "ada", "eventName": "ordered", "eventProperties": {"orderId": "A-1042", "total": 59.9}}
_EVENTS = [_ORDERED, {"email": "nobody@example.com", "eventName": "ordered"}]


@post(
    path="customers/{workspaceId}/events",
    scope=Scope.EVENTS,
    policy="events",
    tag="Customers",
    max_inflated_bytes=MAX_LIST_BYTES,
    status=HTTPStatus.ACCEPTED,
    says="The event is recorded.",
    answer={
        HTTPStatus.ACCEPTED: "The event and its effects are committed; workers do the rest. A call with many events "
        "returns one result per event, even if all of them failed.",
        HTTPStatus.OK: "The call was a dry run: nothing is recorded.",
    },
    answer_name="EventsAnswer",
    requests={"One event": {**_ORDERED, "occurredAt": "2026-11-20T19:07:58Z"}, "Many events": {"events": _EVENTS}},
    examples={
        "One event": _RECORDED,
        "One recorded, one refused": _many([_RECORDED, _UNKNOWN], _EVENTS),
        "Dry run": _done([_tried(_TRIED, _ONE)]),
    },
    refuses=[
        MissingParameter("eventName is required."),
        InvalidRequest(IN_THE_FUTURE),
        _ONLY_DRY,
        InvalidRequest("events holds many events, and external_id is of one; send the one or the other."),
        ArraySizeExceeded("events holds 1001 items; its maximum is 1000."),
        _UNKNOWN,
        TooManyAtOnce(),
    ],
    once=True,
    often=True,
)
def report_events(asked: Asked[EventsBody, EventsQuery]) -> Answered[Reported]:
    """Report customer events

    Records one event of one customer, or up to 1,000 events of any customers. An event may start journeys that are
    triggered by events of its name, continue enrollments that wait for it, and end enrollments early. These effects are
    committed together with the event.

    **The customer** is identified by `customerId`, `external_id`, `email`, `phone` or `userId`. If you send more than
    one, only the first in this order is used. No customer is created: an event of an unknown customer is refused.

    **Many events:** send `events`. They are recorded and take effect in the order sent. If one is refused, the others
    are still recorded.

    The two forms cannot be mixed.

    `occurredAt` is stored and displayed, but the event takes effect now, even if it happened in the past.

    **Dry run:** `?dryRun=true` returns what each event would start, move and end, which goals it would count, and why
    other journeys that listen to its name would not start: as the events would take effect now, in their order, and as
    a worker would decide now. Of what is walked between them, it follows waits that directly follow one another, and
    nothing else. Nothing is written. It needs the scope `customers:read` as well, and a key for certain
    journeys is told of these only. It counts towards the rate limit.
    """
    if asked.query.dry_run:
        return _try(asked)
    if asked.query.from_bridge:
        raise _ONLY_DRY
    body, workspace_id, now = asked.body, asked.workspace_id, timezone.now()
    country = asked.country
    if body.events is None:
        event = body.event(body.event_name, country=country, now=now)
        return Answered(data=record_reported_event(workspace_id=workspace_id, event=event))
    events = [_read_item(item, country=country, now=now) for item in body.events]
    return _many(record_reported_events(workspace_id=workspace_id, events=events), body.events)


def _try(asked: Asked[EventsBody, EventsQuery]) -> Answered[Reported]:
    require_scope(asked.key.scopes, Scope.CUSTOMERS_READ)  # it shows what is known of people
    body, country, now = asked.body, asked.country, timezone.now()
    one = [body.event(body.event_name, country=country, now=now)] if body.events is None else None
    outcomes = try_reported_events(
        workspace_id=asked.workspace_id,
        events=one or [_read_item(item, country=country, now=now) for item in body.events or ()],
        from_bridge=asked.query.from_bridge,
        journeys=asked.key.journeys,
    )
    if one and isinstance(outcomes[0], Refusal):
        raise outcomes[0]
    items = [{"external_id": body.external_id}] if body.events is None else body.events
    sent = items_as_sent(items, known=spellings(EventItemPart))
    return _done([_tried(outcome, item) for outcome, item in zip(outcomes, sent, strict=True)])


def _read_item(item: Any, *, country: str, now: datetime) -> ReportedEvent | Refusal:
    if not isinstance(item, dict):
        return InvalidRequest(f"An event must be an object, but {describe(item)} came.")
    try:
        part = read(EventItemPart, item)
        return part.event(part.event_name, country=country, now=now)
    except Refusal as refusal:
        return refusal.as_value()
