"""Reading what decisions need: the jobs to decide, and the journeys that they are for.

A relation of jobs has a row for each, with the columns `id`, `trigger_id`, `request_id`, `traceparent`, `workspace_id`,
`journey_id`, `customer_id`, `payload`, `event_id`, `event_name`, `event_message`, `event_verified`, `chain`, `serial`,
`crowd`, `due_ms`, `expired`, `excluded`, `decided_at`, `entrance`, `holds_entrance` and, if it has an entrance, `name`.
It contains jobs that wait, or supposed ones that no table holds; every query about jobs runs on such a relation. Jobs
that wait are decided now, and supposed ones when they would be due.
"""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from django.db.models import F
from psycopg.types.json import Jsonb

from engage.database.sql import Fragment, Rows, Statement, Template
from journeys.engine.enrollments.locks import HELD_AND_MARKED
from journeys.engine.entering.chunks import ClaimedChunk
from journeys.engine.entering.terms import Request
from journeys.models import CHUNK_SIZE, Journey, JourneyRevision
from journeys.rules.entry_rules import EntryRules
from journeys.rules.hold_out import parse_hold_out
from journeys.rules.job_ids import JOB_NAME
from journeys.steps.events import EventPattern
from journeys.steps.exit_rules import parse_exit_rules
from journeys.steps.goals import Goal, parse_goals


class WaitingJob(NamedTuple):
    """A job with its customer's past in the journey; `completed` is counted up to `counted_to`, the entries allowed.

    `last_completed_id` is one of the enrollments counted. Of the active ones, hardly ever several, the ids have a blank
    between them.

    `event_id` is the event that queued it, and `chain` how many events led to that. `trigger_id`, `request_id` and
    `traceparent` are of the call or event that queued it; "" and None for a supposed job. Events with a higher `serial`
    came after it was queued; None if that is not known, as for a supposed job. It is one of a `crowd` if a call for
    more than a chunk's worth of customers queued it, or many events at once. It has `waited` so many seconds since it
    was due, at `due_ms` of the epoch; 0 for a supposed job. It has `expired` if its call counts no longer, and is
    `excluded` if its call excludes somebody who was merged into its customer since.

    A job may be for an `entrance`, which it `holds`, perhaps; its `name` is then its id for callers. `entrance_apart`
    is the one for which alone the past counts, where the journey's entrances are concurrent.

    A tuple, as all that is made for each job: a frozen dataclass takes three times as long to make.
    """

    id: int
    trigger_id: str
    ordinal: int
    request_id: str
    traceparent: str | None
    workspace_id: str
    journey_id: str
    customer_id: str
    customer_exists: bool
    active_enrollment_ids: str | None
    completed: int
    last_completed_id: str | None
    counted_to: int
    event_id: str | None
    chain: int
    serial: int | None
    crowd: bool
    due_ms: float | None
    waited: float
    expired: bool
    excluded: bool
    entrance: str | None
    holds: bool | None
    name: str | None
    entrance_apart: str | None


@dataclass(frozen=True, kw_only=True)
class EnteredJourney:
    """A journey with its current entry rules and revision; `first_step` is "" if it has no steps.

    Jobs with a serial before `counts_from` were queued before it was aborted.
    `exit_patterns` are the events that end it, `guards` as they are stored (steering/guards.py), `goals` what it is
    for, and `hold_out` the share that is held out, if any.
    """

    id: str
    rules: EntryRules
    counts_from: int
    conditions: object
    revision_id: int
    first_step: str
    exit_patterns: Sequence[EventPattern]
    guards: object
    goals: Sequence[Goal]
    hold_out: float | None


# Each job, customer and enrollment is looked up by its key, whatever the planner expects (docs/sql.md).
_JOBS = """
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob queued
        WHERE queued.trigger_id = {trigger_id} AND queued.ordinal >= chunk.start AND queued.ordinal < chunk.stop
          AND queued.status = 'queued'
        LIMIT chunk.stop - chunk.start
    ) AS job
"""
_JOBS_OF_CHUNKS = "{chunks}" + _JOBS.replace("{trigger_id}", "chunk.trigger_id")
_CHUNKS = Rows("chunk", {"trigger_id": "text", "start": "bigint", "stop": "bigint", "lane": "text"})

_LOCK_CUSTOMERS = Statement(
    """
WITH held AS MATERIALIZED (
    SELECT id FROM customers_customer
    WHERE id = ANY(ARRAY(SELECT job.customer_id FROM {jobs_of_chunks})) ORDER BY id FOR NO KEY UPDATE
)
{held_and_marked}
""",
    held_and_marked=HELD_AND_MARKED,
    jobs_of_chunks=_JOBS_OF_CHUNKS,
    chunks=_CHUNKS,
)

_LOCKED = Statement(
    """
WITH job AS MATERIALIZED (SELECT job.trigger_id, job.ordinal, job.customer_id FROM {jobs_of_chunks}),
free AS MATERIALIZED (
    SELECT id FROM customers_customer WHERE id = ANY(ARRAY(SELECT customer_id FROM job))
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT job.trigger_id, job.ordinal FROM job
CROSS JOIN LATERAL (SELECT FROM customers_customer known WHERE known.id = job.customer_id LIMIT 1) AS customer
WHERE job.customer_id <> ALL(ARRAY(SELECT id FROM free))
""",
    jobs_of_chunks=_JOBS_OF_CHUNKS,
    chunks=_CHUNKS,
)

_WAITING = Template(
    """
SELECT job.id, job.trigger_id, job.ordinal, trigger.request_id, trigger.traceparent, job.workspace_id, job.journey_id,
       job.customer_id,
       CASE WHEN job.payload IS NULL THEN trigger.payload ELSE trigger.payload || job.payload END AS payload,
       event.id AS event_id, event.name AS event_name, event.message_id AS event_message,
       event.verified AS event_verified, coalesce(event.chain, 0) AS chain,
       coalesce(event.serial, trigger.serial) AS serial,
       chunk.lane = 'bulk' AND (trigger.form = 'single' OR trigger.customers > {chunk_size}) AS crowd,
       greatest(job.queued_ms, date_part('epoch', job.scheduled_for) * 1000) AS due_ms,
       coalesce(trigger.expires_at <= clock_timestamp(), false) AS expired, now() AS decided_at,
       job.entrance, job.holds_entrance, CASE WHEN job.entrance IS NOT NULL THEN {name} END AS name,
       CASE WHEN trigger.selection -> 'exempt' <> '[]' THEN EXISTS (
           SELECT FROM customers_alias merged
           WHERE merged.workspace_id = job.workspace_id AND merged.customer_id = job.customer_id
             AND jsonb_exists(trigger.selection -> 'exempt', merged.id)
       ) ELSE false END AS excluded
FROM {chunks}
CROSS JOIN LATERAL (SELECT * FROM journeys_trigger called WHERE called.id = chunk.trigger_id LIMIT 1) AS trigger
{jobs}
LEFT JOIN LATERAL (
    SELECT * FROM customers_event started WHERE started.id = trigger.event_id LIMIT 1
) AS event ON true
""",
    chunk_size=str(CHUNK_SIZE),
    name=JOB_NAME,
    jobs=_JOBS.replace("{trigger_id}", "trigger.id"),  # so that each trigger is looked up once
    chunks=_CHUNKS,
)

# A call's payload may be large: it is sent once.
_SUPPOSED = Template(
    """
SELECT asked.id, '' AS trigger_id, 0 AS ordinal, '' AS request_id, NULL::text AS traceparent,
       {workspace_id}::text AS workspace_id, asked.journey_id, asked.customer_id,
       CASE WHEN asked.payload IS NULL THEN {payload}::jsonb ELSE {payload}::jsonb || asked.payload END AS payload,
       NULL::text AS event_id, asked.event_name,
       NULL::text AS event_message, asked.event_verified, 0 AS chain, NULL::bigint AS serial, false AS crowd,
       NULL::float8 AS due_ms,
       coalesce({until}::timestamptz <= greatest(due.scheduled_for, clock_timestamp()), false) AS expired,
       greatest(due.scheduled_for, now()) AS decided_at,
       asked.entrance, NULL::boolean AS holds_entrance, NULL::text AS name, false AS excluded
FROM {asked} CROSS JOIN LATERAL (SELECT {scheduled}) AS due
""",
    asked=Rows(
        "asked",
        {
            "journey_id": "text",
            "customer_id": "text",
            "payload": "jsonb",
            "entrance": "text",
            "event_name": "text",
            "event_verified": "boolean",
        },
        place="id",
    ),
)

# Where entrances are concurrent, each counts apart, and what has none as well.
_COUNTS = "(NOT journey.concurrent_entrances OR {of}.entrance IS NOT DISTINCT FROM job.entrance)"
_READ_JOBS = Statement(
    """
SELECT job.id, job.trigger_id, job.ordinal, job.request_id, job.traceparent, job.workspace_id, job.journey_id,
       job.customer_id, customer.id IS NOT NULL AS customer_exists, inside.ids AS active_enrollment_ids, past.completed,
       past.last_completed_id, allowed.counted_to, job.event_id, job.chain, job.serial, job.crowd,
       job.due_ms, coalesce(date_part('epoch', clock_timestamp()) - job.due_ms / 1000, 0) AS waited,
       job.expired, job.excluded, job.entrance, job.holds_entrance AS holds, job.name,
       CASE WHEN journey.concurrent_entrances THEN job.entrance END AS entrance_apart
FROM ({jobs}) AS job
JOIN journeys_journey journey ON journey.id = job.journey_id
CROSS JOIN LATERAL (SELECT coalesce(journey.max_entries_per_customer, 1) AS counted_to) AS allowed
LEFT JOIN LATERAL (
    SELECT known.id FROM customers_customer known WHERE known.id = job.customer_id LIMIT 1
) AS customer ON true
CROSS JOIN LATERAL (
    SELECT string_agg(active.id, ' ') AS ids FROM journeys_enrollment active
    WHERE active.customer_id = job.customer_id AND active.journey_id = job.journey_id AND active.state = 'active'
      AND {counts}
) AS inside
CROSS JOIN LATERAL (
    SELECT count(*) AS completed, max(id) AS last_completed_id FROM (
        SELECT id FROM journeys_enrollment past
        WHERE past.customer_id = job.customer_id AND past.journey_id = job.journey_id AND past.state = 'completed'
          AND {counts_too}
        LIMIT allowed.counted_to
    ) AS counted
) AS past
ORDER BY job.id
""",
    counts=_COUNTS.format(of="active"),
    counts_too=_COUNTS.format(of="past"),
)


def lock_customers(chunks: Sequence[ClaimedChunk]) -> set[str]:
    """Locks the rows of the chunks' customers, in the order of their ids, until the transaction ends; their ids."""
    return set(_LOCK_CUSTOMERS.column(chunks=_ranges(chunks)))


def locked_jobs(chunks: Sequence[ClaimedChunk]) -> list[tuple[str, int]]:
    """The trigger ids and ordinals of the chunks' queued jobs whose customer another transaction has locked.

    The customers of the others are locked until this transaction ends.
    """
    return [(row["trigger_id"], row["ordinal"]) for row in _LOCKED.records(chunks=_ranges(chunks))]


def jobs_of_chunks(chunks: Sequence[ClaimedChunk]) -> Fragment:
    """The relation of the chunks' jobs that are still queued."""
    return _WAITING.filled(chunks=_ranges(chunks))


class Supposed(NamedTuple):
    """A job that a call or an event would create. Its own `payload` goes over the call's, key by key."""

    journey_id: str
    customer_id: str
    payload: Mapping[str, Any] | None = None
    entrance: str | None = None
    event_name: str | None = None
    event_verified: bool | None = None


def supposed_jobs(request: Request, jobs: Sequence[Supposed]) -> Fragment:
    """The relation of the jobs that a call would create, numbered from 1."""
    own = [None if one.payload is None else json.dumps(dict(one.payload)) for one in jobs]
    rows = [(*one[:2], payload, *one[3:]) for one, payload in zip(jobs, own, strict=True)]
    return _SUPPOSED.filled(
        workspace_id=request.workspace_id,
        payload=Jsonb(request.payload),
        asked=rows,
        scheduled=request.terms.scheduled(),
        until=request.terms.expires_at,
    )


def read_jobs(jobs: Fragment) -> list[WaitingJob]:
    """The jobs of the relation, in the order in which they were queued."""
    return _READ_JOBS.fetch(WaitingJob, jobs=jobs)


def _ranges(chunks: Sequence[ClaimedChunk]) -> list[tuple[str, int, int, str]]:
    return [(chunk.trigger_id, chunk.start, chunk.stop, chunk.lane) for chunk in chunks]


def entered_journeys(journey_ids: Iterable[str]) -> dict[str, EnteredJourney]:
    """The journeys with their current revisions, by their ids.

    Raises InvalidExitRules if the exit rules of one that events may end are not valid, InvalidGoals, InvalidHoldOut.
    """
    revisions = JourneyRevision.objects.select_related("journey").filter(
        journey_id__in=set(journey_ids), number=F("journey__revision")
    )
    return {revision.journey_id: _entered(revision.journey, revision) for revision in revisions}


def _entered(journey: Journey, revision: JourneyRevision) -> EnteredJourney:
    return EnteredJourney(
        id=journey.id,
        rules=EntryRules(
            journey_active=journey.active,
            max_entries=journey.max_entries_per_customer or 1,
            allow_reenrollment=journey.allow_reenrollment,
        ),
        counts_from=journey.aborted_serial or 0,
        conditions=journey.entry_conditions,
        revision_id=revision.id,
        first_step=revision.steps[0]["id"] if revision.steps else "",
        exit_patterns=parse_exit_rules(revision.exit_on, stored=True).events if revision.exit_events else (),
        guards=journey.guards,
        goals=parse_goals(journey.goals, stored=True),
        hold_out=parse_hold_out(journey.hold_out),
    )
