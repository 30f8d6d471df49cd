"""Events that enter their customers into journeys, through the same jobs as the API's triggers.

A few entries go to the single lane. More than that at once, from one report or one batch of walks, are a crowd: they go
to the bulk lane, where they take turns with the workspace's large calls.

An event that starts nothing in an active journey that listens to its name is counted there, with the reason. Journeys
that are closed listen to nothing: what they miss is not counted, or whatever was ever closed would cost each event.
"""

import json
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import structlog
from django.db import IntegrityError, transaction
from django.utils import timezone

from customers.conditions import evaluate
from customers.events import NewEvent
from engage.database.object_ids import new_object_id
from engage.database.sql import Fragment, Rows, Statement
from engage.errors import Refusal
from engage.process.budget import OverBudget, Thirds
from engage.process.request_log import current_trail
from journeys.engine.counts.counting import NO_REVISION, Key, write_counts
from journeys.engine.due import QueuedEntry
from journeys.engine.entering.queueing import queueing
from journeys.models import Chunk, CountKind, EnrollmentJob
from journeys.rules.job_ids import job_id
from journeys.steps.context import Occurrence, with_event
from journeys.steps.events import EventPattern, Known, nothing_known, stored_pattern

log = structlog.get_logger(__name__)
A_FEW = 10  # entries of one workspace


class NotStarted(StrEnum):
    """Why an event starts nothing in a journey that listens to its name."""

    WHERE_NOT_MET = "where_not_met"
    FROM_BRIDGE = "from_bridge"
    TOO_SLOW = "too_slow"  # to evaluate `where` takes too much processor time
    TOO_MANY_STARTS = "too_many_starts"  # by one address, through the bridge


@dataclass(frozen=True, kw_only=True)
class EventJourney:
    """A journey that events start if they match the pattern, and if it is active."""

    id: str
    key: str
    active: bool
    pattern: EventPattern

    def refuses(self, event: NewEvent, *, known: Known) -> NotStarted | None:
        """Why the event, which has the pattern's name, does not match; None if it does."""
        if event.source.is_bridge and not self.pattern.from_bridge:
            return NotStarted.FROM_BRIDGE
        try:
            met = self.pattern.where is None or evaluate(self.pattern.where, with_event(known(), occurrence_of(event)))
        except OverBudget as over:
            log.warning("where_over_budget", workspace_id=event.workspace_id, journey_id=self.id, why=over.message)
            return NotStarted.TOO_SLOW
        return None if met else NotStarted.WHERE_NOT_MET


@dataclass(frozen=True, kw_only=True)
class EventEntry:
    """A customer whom an event queues for a journey: one trigger with one job."""

    event: NewEvent
    journey_id: str
    trigger_id: str = field(default_factory=new_object_id)


def occurrence_of(event: NewEvent) -> Occurrence:
    """The event as patterns and steps see it."""
    return Occurrence(name=event.name, properties=event.properties, message=event.message_id, verified=event.verified)


def queue_entries(events: Sequence[NewEvent], *, may_queue: Callable[[int], bool]) -> list[QueuedEntry]:
    """Queues the customers of the events for the active journeys that these events start, in order of the events.

    Asks `may_queue` how many it may: all of them or none. Must run in a transaction, with the customers' rows locked.
    """
    entries, missed = list[EventEntry](), Counter[Key]()
    for event, journey, why_not in listened_to(events):
        if why_not is None:
            entries.append(EventEntry(event=event, journey_id=journey.id))
        else:
            missed[_missed(event, journey.id, why_not)] += 1
    if entries and not may_queue(len(entries)):
        missed.update(_missed(entry.event, entry.journey_id, NotStarted.TOO_MANY_STARTS) for entry in entries)
        entries = []
    write_counts(missed)
    return _queue(entries) if entries else []


def _missed(event: NewEvent, journey_id: str, why: NotStarted) -> Key:
    return event.workspace_id, journey_id, NO_REVISION, CountKind.EVENT.value, why.value, ""


def starts_nothing(event_name: str) -> Fragment:
    """The condition on a row `customer` that the bridge's event of this name starts no journey of its workspace."""
    return Fragment(
        "NOT EXISTS (SELECT FROM journeys_journey journey WHERE journey.trigger_type = 'event' AND journey.active "
        "AND journey.event_from_bridge AND journey.workspace_id = customer.workspace_id AND journey.event_name = %s)",
        [event_name],
    )


def count_of_nothing(event_name: str) -> Fragment:
    """The counts of such an event in the journeys that it does not start, a part of the statement that records it.

    Its relation `customer` has a row with the `workspace_id`.
    """
    return Fragment(
        "INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number) "
        "SELECT journey.workspace_id, journey.id, 0, date_trunc('hour', statement_timestamp(), 'UTC'), 'event', "
        "'from_bridge', '', 1 FROM customer JOIN journeys_journey journey ON journey.workspace_id = "
        "customer.workspace_id WHERE journey.trigger_type = 'event' AND journey.active AND journey.event_name = %s",
        [event_name],
    )


_LISTENING = """
SELECT workspace_id, event_name, id, key, active, event_where, event_from_bridge
FROM journeys_journey
WHERE trigger_type = 'event' AND {which}
  AND (workspace_id, event_name) IN (SELECT * FROM {kinds})
ORDER BY id
"""
_KINDS = Rows("kind", {"workspace_id": "text", "name": "text"})
_ACTIVE = Statement(_LISTENING, which="active", kinds=_KINDS)
_ALL = Statement(_LISTENING, which="archived_at IS NULL", kinds=_KINDS)


def listened_to(
    events: Sequence[NewEvent], *, closed: bool = False
) -> Iterator[tuple[NewEvent, EventJourney, NotStarted | None]]:
    """Each event with each journey that listens to its name, and why it would start nothing there; in order.

    `closed`: also with those that are closed. One that this version cannot read listens to nothing.
    """
    listening, known = dict[tuple[str, str], list[EventJourney]](), nothing_known(timezone.now())
    kinds = {(event.workspace_id, event.name) for event in events}
    rows = (_ALL if closed else _ACTIVE).rows(kinds=kinds)
    for workspace_id, name, journey_id, key, active, where, from_bridge in rows:
        condition = None if where is None else json.loads(where)
        try:
            pattern = stored_pattern(name=name, where=condition, from_bridge=from_bridge)
        except Refusal:  # of a later version: the event is recorded, and others' journeys begin, all the same
            log.exception("journey_unreadable", journey_id=journey_id)
            continue
        journey = EventJourney(id=journey_id, key=key, active=active, pattern=pattern)
        listening.setdefault((workspace_id, name), []).append(journey)
    thirds = Thirds(workspace_id for workspace_id, _ in kinds)
    for event in events:
        for journey in listening.get((event.workspace_id, event.name), ()):
            with thirds.of(event.workspace_id, journey.id):
                why_not = journey.refuses(event, known=known)
            yield event, journey, why_not


# Job ids are unique: if the customer already has a job in the journey at that millisecond, this one moves past it.
_TEXT = """
WITH clock AS (
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms
), asked AS (
    SELECT * FROM {entries}
), entry AS (
    SELECT asked.*, '' AS called_by, greatest(clock.ms, taken.ms + 1)
           + row_number() OVER (PARTITION BY journey_id, customer_id ORDER BY place) - 1 AS queued_ms,
           CASE WHEN count(*) OVER (PARTITION BY workspace_id) > {a_few} THEN 'bulk' ELSE 'single' END AS lane,
           (row_number() OVER (PARTITION BY workspace_id ORDER BY place) - 1) / {size} AS turn{terms}
    FROM asked, clock, LATERAL (
        SELECT coalesce(max(queued_ms), 0) AS ms FROM journeys_enrollmentjob job
        WHERE job.customer_id = asked.customer_id AND job.journey_id = asked.journey_id
    ) AS taken
), {queue_each}
SELECT trigger_id, journey_id, customer_id, queued_ms, lane FROM entry ORDER BY place
"""
_ENTRIES = {
    "trigger_id": "text", "workspace_id": "text", "journey_id": "text", "customer_id": "text",
    "event_id": "text", "payload": "jsonb", "request_id": "text", "traceparent": "text",
}  # fmt: skip
_QUEUE = queueing(_TEXT, entries=Rows("asked", _ENTRIES, place="place"), terms="")
# Of several events with one entrance the first has it.
_QUEUE_FOR_ENTRANCES = queueing(
    _TEXT,
    on_terms=True,
    entries=Rows("asked", {**_ENTRIES, "entrance": "text"}, place="place"),
    terms=""", NULL::timestamptz AS scheduled_for, NULL::text AS zone, NULL::timestamptz AS expires_at,
           NULL::jsonb AS selection,
           coalesce({holder}, CASE WHEN row_number() OVER (
               PARTITION BY journey_id, customer_id, entrance ORDER BY place
           ) > 1 THEN 'an earlier one' END) AS held_by""",
)


def _queue(entries: Sequence[EventEntry]) -> list[QueuedEntry]:
    current = current_trail()
    rows: list[tuple[Any, ...]] = [
        (
            entry.trigger_id,
            entry.event.workspace_id,
            entry.journey_id,
            entry.event.customer_id,
            entry.event.id,
            json.dumps(dict(entry.event.properties)),
            *(entry.event.trail or current),
        )
        for entry in entries
    ]
    statement = _QUEUE
    if any(entry.event.entrance for entry in entries):
        rows = [(*row, entry.event.entrance) for row, entry in zip(rows, entries, strict=True)]
        statement = _QUEUE_FOR_ENTRANCES
    while True:
        try:
            with transaction.atomic():
                queued = statement.rows(entries=rows, a_few=A_FEW)
        except IntegrityError as error:
            # An API call, which locks no customer's row, has just taken the millisecond, or the entrance.
            if not EnrollmentJob.id_was_taken(error) and not EnrollmentJob.entrance_was_taken(error):
                raise
        else:
            return [_queued_entry(*row) for row in queued]


def _queued_entry(trigger_id: str, journey_id: str, customer_id: str, queued_ms: int, lane: str) -> QueuedEntry:
    job = job_id(journey_id=journey_id, customer_id=customer_id, queued_ms=queued_ms)
    return QueuedEntry(trigger_id=trigger_id, job_id=job, lane=Chunk.Lane(lane))
