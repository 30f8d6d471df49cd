"""Writing the results of a batch of walks: one statement per kind, whatever the number of enrollments."""

import json
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from customers.contact.rings import NewRing, write_rings
from customers.events import NewEvent
from customers.models import Event
from customers.profile import ProfileChange, merge_attributes
from customers.watching import watch
from engage.database.object_ids import new_object_id
from engage.database.sql import Rows, Statement
from journeys.engine.counts.counting import write_counts
from journeys.engine.due import Due
from journeys.engine.enrollments.transitions import EnrollmentStop, go_on, note_heard
from journeys.engine.enrollments.withdrawing import withdraw_of_exited
from journeys.engine.walking.counts import counts_of
from journeys.engine.walking.positions import Position, Walked
from journeys.engine.walking.reactions import record_and_react
from journeys.engine.webhooks.sources import source_of_connection, source_of_step
from journeys.models import Enrollment
from journeys.models.credentials import stored_headers
from journeys.steps.results import (
    AwaitChange,
    AwaitEvent,
    Ended,
    InAppDelivery,
    Pause,
    Send,
    StepRecord,
    TrackedEvent,
    Wait,
    WebhookRequest,
)
from journeys.steps.wait_for_event import WaitForEvent

_EXITED, _COMPLETED = Enrollment.State.EXITED.value, Enrollment.State.COMPLETED.value


class _NewRun(NamedTuple):
    """One step record with its place in the enrollment's history, and the event that it recorded."""

    position: Position
    ordinal: int
    step_record: StepRecord
    event: NewEvent | None

    @property
    def event_id(self) -> str | None:
        """The event that it recorded, or that had come before its wait began."""
        heard = self.step_record.heard
        return self.event.id if self.event else heard.event_id if heard else None


def write_walks(walks: Sequence[Walked]) -> Due:
    """Writes attributes, events with what they lead to, the history, webhooks to be sent, and the new stops."""
    entries = [entry for walked in walks for entry in _entries(walked)]
    merge_attributes(_profile_changes(entries))
    events = [entry.event for entry in entries if entry.event]
    due = record_and_react(events, except_for={walked.position.claimed.id for walked in walks}) if events else Due()
    _end_waiting(entry for entry in entries if entry.step_record.resumed)
    _insert_runs([entry for entry in entries if not entry.step_record.resumed])
    requests = [(entry, entry.step_record.request) for entry in entries if entry.step_record.request]
    _insert_deliveries(requests)
    _insert_in_app([(entry, entry.step_record.in_app) for entry in entries if entry.step_record.in_app])
    _write_rings(entries)
    withdraw_of_exited([walked.position.claimed.id for walked in walks if walked.walk.withdraws])
    go_on([_stop(walked) for walked in walks])
    watch({one.position.customer_id for one in walks if one.walk.may_exit or isinstance(one.walk.stop, AwaitChange)})
    heard = [(entry.position.claimed.id, event) for entry in entries if (event := entry.step_record.heard)]
    note_heard({enrollment_id: (event.event_id, event.chain) for enrollment_id, event in heard})
    write_counts(counts_of(walks))
    return due | Due(webhooks=bool(requests))


def _entries(walked: Walked) -> Iterable[_NewRun]:
    ordinal = walked.position.steps_begun
    for step_record in walked.walk.step_records:
        if step_record.resumed:
            yield _NewRun(walked.position, ordinal - 1, step_record, None)
            continue
        tracked = step_record.tracked
        yield _NewRun(walked.position, ordinal, step_record, _event(walked.position, tracked) if tracked else None)
        ordinal += 1


def _event(position: Position, tracked: TrackedEvent) -> NewEvent:
    return NewEvent(
        workspace_id=position.workspace_id,
        customer_id=position.customer_id,
        name=tracked.name,
        properties=tracked.properties,
        source=Event.Source.JOURNEY,
        chain=tracked.chain,
        trail=position.trail,
    )


def _profile_changes(entries: Iterable[_NewRun]) -> list[ProfileChange]:
    """What each customer's walk wrote; later writes override earlier ones. A batch walks a customer once."""
    changes: dict[str, dict[str, Any]] = {}
    workspaces: dict[str, str] = {}
    for entry in entries:
        if entry.step_record.writes:
            changes.setdefault(entry.position.customer_id, {}).update(entry.step_record.writes)
            workspaces[entry.position.customer_id] = entry.position.workspace_id
    return [
        ProfileChange(workspace_id=workspaces[customer_id], customer_id=customer_id, attributes=attributes)
        for customer_id, attributes in changes.items()
    ]


def _write_rings(entries: Iterable[_NewRun]) -> None:
    """What was sent is counted in the transaction that has the customer locked: so caps are exact."""
    rings = [
        NewRing(entry.position.workspace_id, entry.position.customer_id, cap, times)
        for entry in entries
        if entry.step_record.asked
        for cap, times in entry.step_record.asked.rings.items()
    ]
    if rings:
        write_rings(rings)


# Rows are updated by key (docs/sql.md).
_END_WAITING = Statement(
    """
UPDATE journeys_steprun run
SET state = ended.state, detail = ended.detail, event_id = ended.event_id,
    policy = coalesce(ended.policy, run.policy), ended_at = CASE WHEN ended.state <> 'waiting' THEN now() END
FROM {ended} WHERE run.enrollment_id = ANY(ARRAY[ended.enrollment_id]) AND run.ordinal = ended.ordinal
""",
    ended=Rows(
        "ended",
        {
            "enrollment_id": "text", "ordinal": "int", "state": "text", "detail": "text", "event_id": "text",
            "policy": "jsonb",
        },
    ),
)  # fmt: skip


def _end_waiting(entries: Iterable[_NewRun]) -> None:
    rows = [
        (
            entry.position.claimed.id,
            entry.ordinal,
            entry.step_record.state,
            entry.step_record.detail,
            _event_that_came(entry),
            _policy(entry.step_record),
        )
        for entry in entries
    ]
    if rows:
        _END_WAITING.execute(ended=rows)


def _policy(record: StepRecord) -> str | None:
    return json.dumps(record.asked.policy) if record.asked else None


def _event_that_came(entry: _NewRun) -> str | None:
    """The event that ended the wait; None if the step waited for none, or if its time was up."""
    position = entry.position
    return position.event_id if entry.step_record.type == WaitForEvent.type and position.heard else None


_INSERT_RUNS = Statement(
    """
INSERT INTO journeys_steprun
    (workspace_id, enrollment_id, ordinal, step_id, type, state, detail, missing, because, event_id, policy, began_at,
     ended_at)
SELECT workspace_id, enrollment_id, ordinal, step_id, type, state, detail,
       ARRAY(SELECT jsonb_array_elements_text(missing)), because, event_id, policy, now(),
       CASE WHEN state <> 'waiting' THEN now() END
FROM {runs}
""",
    runs=Rows(
        "run",
        {
            "workspace_id": "text", "enrollment_id": "text", "ordinal": "int", "step_id": "text", "type": "text",
            "state": "text", "detail": "text", "missing": "jsonb", "because": "jsonb", "event_id": "text",
            "policy": "jsonb",
        },
    ),
)  # fmt: skip


def _insert_runs(entries: Iterable[_NewRun]) -> None:
    rows = [
        (
            entry.position.workspace_id,
            entry.position.claimed.id,
            entry.ordinal,
            record.step_id,
            record.type,
            record.state,
            record.detail,
            json.dumps(record.missing) if record.missing else "[]",
            json.dumps(record.because) if record.because else None,
            entry.event_id,
            _policy(record),
        )
        for entry in entries
        for record in (entry.step_record,)
    ]
    if rows:
        _INSERT_RUNS.execute(runs=rows)


_INSERT_DELIVERIES = Statement(
    """
INSERT INTO journeys_webhookdelivery
    (workspace_id, enrollment_id, ordinal, source, host, method, url, headers, body, answer_rules, contact,
     give_up_at, state, result, attempts, due_at, again)
SELECT workspace_id, enrollment_id, ordinal, source, host, method, url, headers, body, answer_rules, contact,
       now() + seconds * interval '1 second', 'waiting', '', 0, now(), false
FROM {requests}
""",
    requests=Rows(
        "request",
        {
            "workspace_id": "text", "enrollment_id": "text", "ordinal": "int", "source": "text", "host": "text",
            "method": "text", "url": "text", "headers": "jsonb", "body": "text", "answer_rules": "jsonb",
            "contact": "jsonb",
            "seconds": "float",
        },
    ),
)  # fmt: skip


def _insert_deliveries(requests: Sequence[tuple[_NewRun, WebhookRequest]]) -> None:
    if requests:
        _INSERT_DELIVERIES.execute(
            requests=[
                (
                    entry.position.workspace_id,
                    entry.position.claimed.id,
                    entry.ordinal,
                    _source(entry, request),
                    request.host,
                    request.method,
                    request.url,
                    json.dumps(stored_headers(request.headers, request.secret_url)),
                    request.body,
                    None if request.answer_rules is None else json.dumps(request.answer_rules),
                    json.dumps(entry.step_record.asked.of_delivery) if entry.step_record.asked else None,
                    None if request.give_up_after is None else request.give_up_after.total_seconds(),
                )
                for entry, request in requests
            ]
        )


_INSERT_IN_APP = Statement(
    """
INSERT INTO journeys_inappdelivery
    (id, workspace_id, customer_id, journey_id, revision_id, enrollment_id, ordinal, step_id, message_id, values,
     priority, withdraw_on_exit, state, action_id, because, expires_at)
SELECT id, workspace_id, customer_id, journey_id, revision_id, enrollment_id, ordinal, step_id, message_id, values,
       priority, withdraw_on_exit, 'due', '', '', now() + seconds * interval '1 second'
FROM {deliveries}
""",
    deliveries=Rows(
        "delivery",
        {
            "id": "text", "workspace_id": "text", "customer_id": "text", "journey_id": "text", "revision_id": "bigint",
            "enrollment_id": "text", "ordinal": "int", "step_id": "text", "message_id": "text", "values": "jsonb",
            "priority": "smallint", "withdraw_on_exit": "bool", "seconds": "float",
        },
    ),
)  # fmt: skip


def _insert_in_app(deliveries: Sequence[tuple[_NewRun, InAppDelivery]]) -> None:
    if deliveries:
        _INSERT_IN_APP.execute(
            deliveries=[
                (
                    new_object_id(),
                    entry.position.workspace_id,
                    entry.position.customer_id,
                    entry.position.journey_id,
                    entry.position.revision_id,
                    entry.position.claimed.id,
                    entry.ordinal,
                    entry.step_record.step_id,
                    delivery.message,
                    json.dumps(delivery.values),
                    delivery.priority,
                    delivery.withdraw_on_exit,
                    delivery.expires_after.total_seconds(),
                )
                for entry, delivery in deliveries
            ]
        )


def _source(entry: _NewRun, request: WebhookRequest) -> str:
    if request.connection_id is not None:
        return source_of_connection(request.connection_id)
    return source_of_step(journey_id=entry.position.journey_id, step_id=entry.step_record.step_id)


def _stop(walked: Walked) -> EnrollmentStop:
    position, (records, stop, *_) = walked
    begun = position.steps_begun + len(records) - sum(record.resumed for record in records[:1])  # no other one is
    if isinstance(stop, Ended):
        state, reason = (_EXITED, stop.reason) if stop.exited else (_COMPLETED, "")
        return EnrollmentStop(position.claimed.id, stop.step_id, begun, state, reason, began=False)
    at = EnrollmentStop(position.claimed.id, stop.step_id, begun)
    match stop:
        case Wait():
            return at._replace(due_at=stop.due_at.isoformat())
        case AwaitEvent():
            return at._replace(due_at=stop.due_at.isoformat(), awaits_event=stop.event_name)
        case AwaitChange():
            return at._replace(due_at=stop.due_at.isoformat(), watches_until=stop.until.isoformat())
        case Send():
            return at  # due once the sending is over
        case Pause():
            return at._replace(due_at=position.now.isoformat(), began=False)
