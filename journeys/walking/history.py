"""Writing the results of a batch of walks: one statement per kind, whatever the number of enrollments."""

import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import connection

from customers.events import NewEvent
from customers.models import Event
from customers.profile import ProfileChange, merge_attributes
from journeys.counts.counting import write_counts
from journeys.due import Reaction
from journeys.models import Enrollment
from journeys.models.credentials import stored_headers
from journeys.steps.results import (
    AwaitEvent,
    Ended,
    HeardEarly,
    Pause,
    Send,
    StepRecord,
    Stop,
    Wait,
    WebhookRequest,
)
from journeys.steps.wait_for_event import WaitForEvent
from journeys.walking.counts import counts_of
from journeys.walking.reactions import record_and_react
from journeys.walking.standings import Standing, Walked


@dataclass(frozen=True, kw_only=True)
class _HistoryEntry:
    """One step record with its place in the enrollment's history, and the event that it recorded."""

    standing: Standing
    ordinal: int
    step_record: StepRecord
    event: NewEvent | None

    @property
    def event_id(self) -> str | None:
        """The event that it recorded, or that had come before its wait began."""
        heard = self.step_record.heard
        return self.event.id if self.event else heard.event_id if heard else None


@dataclass(frozen=True, kw_only=True)
class WrittenWalks:
    """What a batch made due, for the caller to wake workers for."""

    reaction: Reaction = field(default_factory=Reaction)
    somebody_sends: bool = False


def write_walks(walks: Sequence[Walked]) -> WrittenWalks:
    """Writes attributes, events with what they lead to, the history, webhooks to be sent, and the new stops."""
    entries = [entry for walked in walks for entry in _entries(walked)]
    merge_attributes(_profile_changes(entries))
    events = [entry.event for entry in entries if entry.event]
    reaction = Reaction()
    if events:
        reaction = record_and_react(events, except_for={walked.standing.claimed.id for walked in walks})
    _end_waiting(entry for entry in entries if entry.step_record.resumed)
    _insert_runs([entry for entry in entries if not entry.step_record.resumed])
    requests = [(entry, entry.step_record.request) for entry in entries if entry.step_record.request]
    _insert_deliveries(requests)
    _move(walks)
    _note_heard([(entry.standing.claimed.id, entry.step_record.heard) for entry in entries if entry.step_record.heard])
    write_counts(counts_of(walks))
    return WrittenWalks(reaction=reaction, somebody_sends=bool(requests))


def _entries(walked: Walked) -> Iterable[_HistoryEntry]:
    ordinal = walked.standing.steps_begun
    for step_record in walked.walk.step_records:
        if step_record.resumed:
            yield _HistoryEntry(standing=walked.standing, ordinal=ordinal - 1, step_record=step_record, event=None)
            continue
        yield _HistoryEntry(
            standing=walked.standing,
            ordinal=ordinal,
            step_record=step_record,
            event=_event(walked.standing, step_record),
        )
        ordinal += 1


def _event(standing: Standing, step_record: StepRecord) -> NewEvent | None:
    tracked = step_record.tracked
    if tracked is None:
        return None
    return NewEvent(
        workspace_id=standing.workspace_id,
        customer_id=standing.customer_id,
        name=tracked.name,
        properties=tracked.properties,
        source=Event.Source.JOURNEY,
        chain=tracked.chain,
    )


def _profile_changes(entries: Iterable[_HistoryEntry]) -> list[ProfileChange]:
    """What each customer's walk wrote; later writes override earlier ones. A batch walks a customer once."""
    changes: dict[str, dict[str, Any]] = {}
    workspaces: dict[str, str] = {}
    for entry in entries:
        if entry.step_record.writes:
            changes.setdefault(entry.standing.customer_id, {}).update(entry.step_record.writes)
            workspaces[entry.standing.customer_id] = entry.standing.workspace_id
    return [
        ProfileChange(workspace_id=workspaces[customer_id], customer_id=customer_id, attributes=attributes)
        for customer_id, attributes in changes.items()
    ]


# Rows are updated by key, as in entering/waiting_jobs.py.
_END_WAITING = """
UPDATE journeys_steprun run
SET state = ended.state, detail = ended.detail, event_id = ended.event_id, ended_at = now()
FROM unnest(%s::text[], %s::int[], %s::text[], %s::text[], %s::text[])
  AS ended(enrollment_id, ordinal, state, detail, event_id)
WHERE run.enrollment_id = ANY(ARRAY[ended.enrollment_id]) AND run.ordinal = ended.ordinal
"""


def _end_waiting(entries: Iterable[_HistoryEntry]) -> None:
    if ended := list(entries):
        with connection.cursor() as cursor:
            cursor.execute(
                _END_WAITING,
                [
                    [entry.standing.claimed.id for entry in ended],
                    [entry.ordinal for entry in ended],
                    [entry.step_record.state for entry in ended],
                    [entry.step_record.detail for entry in ended],
                    [_event_that_came(entry) for entry in ended],
                ],
            )


def _event_that_came(entry: _HistoryEntry) -> str | None:
    """The event that ended the wait; None if the step waited for none, or if its time was up."""
    standing = entry.standing
    return standing.event_id if entry.step_record.type == WaitForEvent.type and standing.heard else None


_INSERT_RUNS = """
INSERT INTO journeys_steprun
    (workspace_id, enrollment_id, ordinal, step_id, type, state, detail, missing, because, event_id, began_at, ended_at)
SELECT workspace_id, enrollment_id, ordinal, step_id, type, state, detail,
       ARRAY(SELECT jsonb_array_elements_text(missing)), because, event_id, now(),
       CASE WHEN state <> 'waiting' THEN now() END
FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[], %s::text[], %s::text[], %s::text[], %s::jsonb[], %s::jsonb[],
            %s::text[])
  AS run(workspace_id, enrollment_id, ordinal, step_id, type, state, detail, missing, because, event_id)
"""


def _insert_runs(entries: Sequence[_HistoryEntry]) -> None:
    if not entries:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT_RUNS,
            [
                [entry.standing.workspace_id for entry in entries],
                [entry.standing.claimed.id for entry in entries],
                [entry.ordinal for entry in entries],
                [entry.step_record.step_id for entry in entries],
                [entry.step_record.type for entry in entries],
                [entry.step_record.state for entry in entries],
                [entry.step_record.detail for entry in entries],
                [json.dumps(entry.step_record.missing) for entry in entries],
                [json.dumps(entry.step_record.because) if entry.step_record.because else None for entry in entries],
                [entry.event_id for entry in entries],
            ],
        )


_INSERT_DELIVERIES = """
INSERT INTO journeys_webhookdelivery
    (workspace_id, enrollment_id, ordinal, host, method, url, headers, body, state, result, attempts, due_at, again)
SELECT workspace_id, enrollment_id, ordinal, host, method, url, headers, body, 'waiting', '', 0, now(), false
FROM unnest(%s::text[], %s::text[], %s::int[], %s::text[], %s::text[], %s::text[], %s::jsonb[], %s::text[])
  AS request(workspace_id, enrollment_id, ordinal, host, method, url, headers, body)
"""


def _insert_deliveries(requests: Sequence[tuple[_HistoryEntry, WebhookRequest]]) -> None:
    if not requests:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _INSERT_DELIVERIES,
            [
                [entry.standing.workspace_id for entry, _ in requests],
                [entry.standing.claimed.id for entry, _ in requests],
                [entry.ordinal for entry, _ in requests],
                [request.host for _, request in requests],
                [request.method for _, request in requests],
                [request.url for _, request in requests],
                [json.dumps(stored_headers(request.headers)) for _, request in requests],
                [request.body for _, request in requests],
            ],
        )


# Rows are updated by key, as in entering/waiting_jobs.py.
_MOVE = """
UPDATE journeys_enrollment enrollment SET
    state = stop.state, exit_reason = stop.exit_reason, step_id = stop.step_id, due_at = stop.due_at,
    awaits_event = stop.awaits_event, steps_begun = stop.steps_begun, attempts = 0, error = '',
    step_began_at = CASE WHEN stop.began THEN now() END,
    ended_at = CASE WHEN stop.state <> 'active' THEN now() END
FROM unnest(%s::text[], %s::text[], %s::text[], %s::text[], %s::timestamptz[], %s::text[], %s::int[], %s::bool[])
  AS stop(id, state, exit_reason, step_id, due_at, awaits_event, steps_begun, began)
WHERE enrollment.id = ANY(ARRAY[stop.id])
"""


@dataclass(frozen=True, kw_only=True)
class _NewPlace:
    """The new values of an enrollment's row after a walk."""

    step_id: str
    state: Enrollment.State = Enrollment.State.ACTIVE
    exit_reason: str = ""
    due_at: datetime | None = None
    awaits_event: str = ""
    began: bool = True


def _place(stop: Stop, now: datetime) -> _NewPlace:
    match stop:
        case Wait():
            return _NewPlace(step_id=stop.step_id, due_at=stop.due_at)
        case AwaitEvent():
            return _NewPlace(step_id=stop.step_id, due_at=stop.due_at, awaits_event=stop.event_name)
        case Send():
            return _NewPlace(step_id=stop.step_id)  # due once the sending is over
        case Pause():
            return _NewPlace(step_id=stop.step_id, due_at=now, began=False)
        case Ended(exited=True):
            return _NewPlace(step_id=stop.step_id, state=Enrollment.State.EXITED, exit_reason=stop.reason, began=False)
        case Ended():
            return _NewPlace(step_id=stop.step_id, state=Enrollment.State.COMPLETED, began=False)


def _move(walks: Sequence[Walked]) -> None:
    places = [_place(walked.walk.stop, walked.standing.now) for walked in walks]
    begun = [sum(not step_record.resumed for step_record in walked.walk.step_records) for walked in walks]
    parameters: list[Any] = [
        [walked.standing.claimed.id for walked in walks],
        [place.state.value for place in places],
        [place.exit_reason for place in places],
        [place.step_id for place in places],
        [place.due_at.isoformat() if place.due_at else None for place in places],
        [place.awaits_event for place in places],
        [walked.standing.steps_begun + number for walked, number in zip(walks, begun, strict=True)],
        [place.began for place in places],
    ]
    with connection.cursor() as cursor:
        cursor.execute(_MOVE, parameters)


# Rows are updated by key, as in entering/waiting_jobs.py.
_NOTE_HEARD = """
UPDATE journeys_enrollment enrollment SET event_id = heard.event_id, chain = heard.chain
FROM unnest(%s::text[], %s::text[], %s::smallint[]) AS heard(id, event_id, chain)
WHERE enrollment.id = ANY(ARRAY[heard.id])
"""


def _note_heard(heard: Sequence[tuple[str, HeardEarly]]) -> None:
    """Keeps which event ended a wait as it began, by enrollment: at most one in a walk, and in few walks."""
    if heard:
        with connection.cursor() as cursor:
            cursor.execute(
                _NOTE_HEARD,
                [
                    [enrollment_id for enrollment_id, _ in heard],
                    [event.event_id for _, event in heard],
                    [event.chain for _, event in heard],
                ],
            )
