"""The events of a file that is imported (customers/files/importing.py)."""

from collections.abc import Callable, Sequence

from django.utils import timezone

from customers.event_rules import MAX_EVENT_NAME_LENGTH, MAX_EVENT_PROPERTIES_BYTES, refuse_reserved
from customers.event_times import reported_event_time
from customers.files.importing import Write
from customers.files.reading import Row
from customers.files.sets import Written
from customers.identity.locks import undisturbed
from customers.identity.lookup import NOBODY_NAMED, Reference
from engage.errors import InvalidRequest, MissingParameter, Refusal
from engage.json.compact import json_bytes
from engage.json.storable import unstorable
from journeys.engine.walking.recording import ReportedEvent, record_reported_events


def events_of(workspace_id: str, *, lead_to_nothing: bool) -> Write:
    """Records each row's event, in the transaction that notes the rows as done."""

    def write(rows: Sequence[Row], done: Callable[[Written], None]) -> None:
        events = {row.number: _event(row) for row in rows if row.data}

        def record() -> None:
            outcomes = record_reported_events(
                workspace_id=workspace_id, events=[*events.values()], lead_to_nothing=lead_to_nothing
            )
            refused = {
                number: outcome
                for number, outcome in zip(events, outcomes, strict=True)
                if isinstance(outcome, Refusal)
            }
            done(Written(created=[number for number in events if number not in refused], refused=refused))

        undisturbed(record)

    return write


def _event(row: Row) -> ReportedEvent | Refusal:
    try:
        return _read(row)
    except Refusal as refusal:
        return refusal.as_value()


def _read(row: Row) -> ReportedEvent:
    """Raises what is wrong with the row."""
    if isinstance(row.data, Refusal):
        raise row.data
    named = row.data.sent() if row.data else {}
    name, at = row.said.get("eventName", "").strip(), row.said.get("occurredAt")
    if not named:
        raise MissingParameter(NOBODY_NAMED)
    if not 0 < len(name) <= MAX_EVENT_NAME_LENGTH or unstorable(name):
        raise InvalidRequest(f"eventName must be text of 1 to {MAX_EVENT_NAME_LENGTH} characters.")
    refuse_reserved(name, field="eventName")
    properties = {name: value for name, value in row.data.attributes.items() if value is not None} if row.data else {}
    if json_bytes(properties) > MAX_EVENT_PROPERTIES_BYTES:
        raise InvalidRequest(f"The properties come to more than {MAX_EVENT_PROPERTIES_BYTES} bytes of JSON.")
    return ReportedEvent(
        customer=Reference(*next(iter(named.items()))),
        name=name,
        properties=properties,
        occurred_at=reported_event_time(at, now=timezone.now()) if at else None,
    )
