"""From an audience to committed jobs, in one statement."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from psycopg.types.json import Jsonb

from customers.audience.selection import Selection
from customers.identifier_rules import LONGEST
from engage.database.object_ids import new_object_id
from engage.database.sql import Fragment, Statement
from journeys.entering.chunks import SECONDS_BETWEEN_TURNS
from journeys.entering.inserts import QueuedTrigger, execute_past_taken_ids
from journeys.jobs.progress import LARGE_TRIGGER
from journeys.models import CHUNK_SIZE

_PAGE_SIZE = 10_000


# A common table expression that changes a table is executed once and to completion, so the call is one statement and
# one round trip, and commits or fails as a whole. Jobs are inserted in the order of their customers, so that two calls
# whose job ids collide wait for each other instead of deadlocking.
_QUEUE = Statement("""
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
), {tables}, audience AS ({chosen}
), numbered AS (
    SELECT id, row_number() OVER (ORDER BY id) - 1 AS ordinal FROM audience
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
    SELECT {workspace_id}, {journey_id}, numbered.id, {trigger_id}, ordinal, clock.ms, 'queued', '', ''
    FROM numbered, clock ORDER BY ordinal
    RETURNING ordinal, customer_id
), trigger AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, queued_at, keeps_progress,
         called_by, serial, selection)
    SELECT {trigger_id}, {workspace_id}, {journey_id}, 'bulk', NULL, {payload}, queued.customers, {request_id},
           to_timestamp(clock.ms / 1000.0), queued.customers >= {large}, {called_by}, {serial}, jsonb_build_object(
               'segments', {segment_ids}::jsonb,
               'named', (SELECT count(*) FROM named),
               'unknown', (SELECT count(*) FROM named WHERE customer_id IS NULL),
               'not_in_segments', ARRAY(SELECT customer_id FROM named WHERE NOT belongs ORDER BY place),
               'exempt', ARRAY(SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL ORDER BY place),
               'excluded', ARRAY(SELECT customer_id FROM exempt WHERE {excluded} ORDER BY place)
           )
    FROM clock, (SELECT count(*) AS customers FROM jobs) AS queued
    RETURNING customers
), unknown AS (
    INSERT INTO journeys_unknownexternalid (workspace_id, trigger_id, excluded, place, external_id)
    SELECT {workspace_id}, {trigger_id}, excluded, place, left(external_id, {longest}) FROM (
        SELECT false AS excluded, place, external_id FROM named WHERE customer_id IS NULL
        UNION ALL SELECT true, place, external_id FROM exempt WHERE customer_id IS NULL
    ) AS unknown
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT {workspace_id}, {trigger_id}, number * {size}, least((number + 1) * {size}, customers), 'bulk',
           now() + number * {between} * interval '1 second', now(), 0, ''
    FROM trigger, generate_series(0, (customers - 1) / {size}) AS number WHERE customers > 0
)
SELECT trigger.customers, clock.ms,
       ARRAY(SELECT customer_id FROM jobs WHERE ordinal < {page} ORDER BY ordinal) AS first_page
FROM trigger, clock
""")


def queue_jobs(
    *,
    workspace_id: str,
    journey_id: str,
    selection: Selection,
    serial: int,
    segment_ids: Sequence[str],
    payload: Mapping[str, Any],
    called_by: str,
    request_id: str,
) -> tuple[QueuedTrigger, list[str]]:
    """Creates a trigger with a job for every customer of the selection's audience, and chunks for the workers.

    The trigger notes whom the call left out. Events with a higher `serial` count for its jobs: it must have been drawn
    before the call looks at customers. Returns it with the first page of its customers, as `queued_customer_ids`
    does.

    The job ids of one trigger share a millisecond. If one is taken by an earlier trigger of the same journey and
    customer, the millisecond moves past it.
    """
    trigger_id = new_object_id()
    customers, queued_ms, first_page = execute_past_taken_ids(
        _QUEUE,
        audience=selection.alone(),
        tables=selection.tables,
        chosen=selection.audience,
        excluded=Fragment(selection.excluded),
        workspace_id=workspace_id,
        journey_id=journey_id,
        trigger_id=trigger_id,
        payload=Jsonb(payload),
        request_id=request_id,
        large=LARGE_TRIGGER,
        called_by=called_by,
        serial=serial,
        segment_ids=Jsonb(list(segment_ids)),
        longest=LONGEST["external_id"],
        size=CHUNK_SIZE,
        between=SECONDS_BETWEEN_TURNS,
        page=_PAGE_SIZE,
    )
    trigger = QueuedTrigger(id=trigger_id, journey_id=journey_id, customers=customers, queued_ms=queued_ms)
    return trigger, first_page


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
