"""From an audience to committed jobs, in one statement."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from customers.audience.selection import Selection
from engage.database.object_ids import new_object_id
from engage.database.sql import Fragment, Statement
from engage.request_log import Trail
from journeys.entering.inserts import (
    JOB_TERMS,
    TERMS_OF_JOB,
    QueuedTrigger,
    execute_past_taken_ids,
    holder_of,
    queueing_together,
)
from journeys.entering.terms import NO_TERMS, Terms
from journeys.jobs.progress import LARGE_TRIGGER

_PAGE_SIZE = 10_000


# A common table expression that changes a table is executed once and to completion, so the call is one statement and
# one round trip, and commits or fails as a whole. Jobs are inserted in the order of their customers, so that two calls
# whose job ids collide wait for each other instead of deadlocking.
_QUEUE_ALL = """
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
), {tables}, audience AS ({chosen}
), numbered AS (
    SELECT id, row_number() OVER (ORDER BY {order}) - 1 AS ordinal{terms} FROM {asked}
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason{columns})
    SELECT {workspace_id}, {journey_id}, numbered.id, {trigger_id}, ordinal, clock.ms, 'queued', '', ''{values}
    FROM numbered, clock ORDER BY ordinal
    RETURNING ordinal, customer_id
), {queue_together}
SELECT trigger.customers, clock.ms,
       ARRAY(SELECT customer_id FROM jobs WHERE ordinal < {page} ORDER BY ordinal) AS first_page, {duplicates}
FROM trigger, clock
"""


def _queueing(*, on_terms: bool = False, **parts: str) -> Statement:
    text = _QUEUE_ALL
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return queueing_together(text, on_terms=on_terms)


_HOLDER = holder_of(customer="audience.id", journey="{journey_id}", entrance="{entrance}")
_QUEUE = _queueing(order="id", terms="", asked="audience", columns="", values="", duplicates="NULL")
_QUEUE_ON_TERMS = _queueing(
    on_terms=True,
    order="scheduled_for, id",
    terms=", entrance, held_by, scheduled_for, zone",
    asked="""(
        SELECT id, {entrance}::text AS entrance, {holder} AS held_by, {scheduled} FROM audience
    ) AS asked""",
    holder=f"CASE WHEN {{entrance}}::text IS NOT NULL THEN {_HOLDER} END",
    columns=f", {JOB_TERMS}",
    values=f", {TERMS_OF_JOB}",
    duplicates="ARRAY(SELECT ARRAY[id::text, held_by] FROM numbered WHERE held_by IS NOT NULL ORDER BY ordinal "
    "LIMIT 1000)",
)


def queue_jobs(
    *,
    workspace_id: str,
    journey_id: str,
    selection: Selection,
    serial: int,
    segment_ids: Sequence[str],
    payload: Mapping[str, Any],
    called_by: str,
    trail: Trail,
    terms: Terms = NO_TERMS,
) -> tuple[QueuedTrigger, list[str], list[tuple[str, str]]]:
    """Creates a trigger with a job for every customer of the selection's audience, and chunks for the workers.

    The trigger notes whom the call left out. Events with a higher `serial` count for its jobs: it must have been drawn
    before the call looks at customers. Returns it with the first page of its customers, as `queued_customer_ids`
    does, and with those of them, 1,000 at most, for whom another job, which is named, has the entrance.

    The job ids of one trigger share a millisecond. If one is taken by an earlier trigger of the same journey and
    customer, the millisecond moves past it.
    """
    trigger_id = new_object_id()
    asked: dict[str, Any] = {}
    if terms != NO_TERMS:
        scheduled = terms.scheduled_for("audience.id")
        asked = {"entrance": terms.entrance, "until": terms.expires_at, "scheduled": scheduled}
    customers, queued_ms, first_page, duplicates = execute_past_taken_ids(
        _QUEUE_ON_TERMS if asked else _QUEUE,
        **asked,
        audience=selection.alone(),
        tables=selection.tables,
        chosen=selection.audience,
        excluded=Fragment(selection.excluded),
        page=_PAGE_SIZE,
        large=LARGE_TRIGGER,
        workspace_id=workspace_id,
        journey_id=journey_id,
        trigger_id=trigger_id,
        payload=Jsonb(payload),
        request_id=trail.request_id,
        traceparent=trail.traceparent,
        called_by=called_by,
        serial=serial,
        segment_ids=Jsonb(list(segment_ids)),
    )
    trigger = QueuedTrigger(id=trigger_id, journey_id=journey_id, customers=customers, queued_ms=queued_ms)
    return trigger, first_page, [(customer_id, held_by) for customer_id, held_by in duplicates or ()]


_QUEUED = Statement(
    "SELECT coalesce(split_part(queued_as, '-', 3), customer_id) FROM journeys_enrollmentjob "
    "WHERE trigger_id = {trigger_id} AND ordinal > {after} ORDER BY ordinal LIMIT {page}"
)


def queued_customer_ids(trigger_id: str, *, after: int = -1) -> list[str]:
    """A page of the trigger's customers in the order of their jobs, after this ordinal; at most 10,000.

    They are those of the call: an answer that is repeated stays the same if some of them have been merged since.
    """
    return _QUEUED.column(trigger_id=trigger_id, after=after, page=_PAGE_SIZE)


def pages_of_customer_ids(queued: QueuedTrigger, first_page: list[str]) -> Iterator[list[str]]:
    """All the trigger's customers, page by page, so memory stays flat whatever their number."""
    page, seen = first_page, len(first_page)
    while page:
        yield page
        if seen >= queued.customers:
            return
        page = queued_customer_ids(queued.id, after=seen - 1)
        seen += len(page)
