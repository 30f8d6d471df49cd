"""From an audience to committed jobs, in one statement."""

from collections.abc import Iterator, Mapping
from typing import Any

from django.db import connection
from psycopg.types.json import Jsonb

from customers.fragment import Fragment
from engage.object_ids import new_object_id
from journeys.deciding.chunks import CHUNK_SIZE, SECONDS_BETWEEN_TURNS
from journeys.progress import LARGE_TRIGGER
from journeys.queueing.inserts import QueuedTrigger, execute_past_taken_ids

_PAGE_SIZE = 10_000


# A common table expression that changes a table is executed once and to completion, so the call is one statement and
# one round trip, and commits or fails as a whole. Jobs are inserted in the order of their customers, so that two calls
# whose job ids collide wait for each other instead of deadlocking.
_QUEUE = """
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, %s::bigint) AS ms
), audience AS ({audience}
), numbered AS (
    SELECT id, row_number() OVER (ORDER BY id) - 1 AS ordinal FROM audience
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
    SELECT %s, %s, numbered.id, %s, ordinal, clock.ms, 'queued', '', ''
    FROM numbered, clock ORDER BY ordinal
    RETURNING ordinal, customer_id
), trigger AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, queued_at, keeps_progress)
    SELECT %s, %s, %s, 'bulk', NULL, %s, named.customers, %s, to_timestamp(clock.ms / 1000.0), named.customers >= %s
    FROM clock, (SELECT count(*) AS customers FROM jobs) AS named
    RETURNING customers
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT %s, %s, number * %s, least((number + 1) * %s, customers), 'bulk',
           now() + number * %s * interval '1 second', now(), 0, ''
    FROM trigger, generate_series(0, (customers - 1) / %s) AS number WHERE customers > 0
)
SELECT trigger.customers, clock.ms,
       ARRAY(SELECT customer_id FROM jobs WHERE ordinal < %s ORDER BY ordinal) AS first_page
FROM trigger, clock
"""


def queue_jobs(
    *,
    workspace_id: str,
    journey_id: str,
    audience: Fragment,
    payload: Mapping[str, Any],
    request_id: str,
) -> tuple[QueuedTrigger, list[str]]:
    """Creates a trigger with a job for every customer of the audience, and chunks for the workers.

    Returns it with the first page of its customers, as `queued_customer_ids` does.

    The job ids of one trigger share a millisecond. If one is taken by an earlier trigger of the same journey and
    customer, the millisecond moves past it.
    """
    trigger_id = new_object_id()
    customers, queued_ms, first_page = execute_past_taken_ids(
        _QUEUE.replace("{audience}", audience.sql),
        lambda least_ms: [
            least_ms, *audience.params,
            workspace_id, journey_id, trigger_id,
            trigger_id, workspace_id, journey_id, Jsonb(payload), request_id, LARGE_TRIGGER,
            workspace_id, trigger_id, CHUNK_SIZE, CHUNK_SIZE, SECONDS_BETWEEN_TURNS, CHUNK_SIZE,
            _PAGE_SIZE,
        ],
        journey_id=journey_id,
        audience=audience,
    )  # fmt: skip
    trigger = QueuedTrigger(id=trigger_id, journey_id=journey_id, customers=customers, queued_ms=queued_ms)
    return trigger, first_page


def queued_customer_ids(trigger_id: str, *, after: int = -1) -> list[str]:
    """A page of the trigger's customers in the order of their jobs, after this ordinal; at most 10,000."""
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT customer_id FROM journeys_enrollmentjob WHERE trigger_id = %s AND ordinal > %s "
            "ORDER BY ordinal LIMIT %s",
            [trigger_id, after, _PAGE_SIZE],
        )
        return [customer_id for (customer_id,) in cursor.fetchall()]


def pages_of_customer_ids(queued: QueuedTrigger, first_page: list[str]) -> Iterator[list[str]]:
    """All the trigger's customers, page by page, so memory stays flat whatever their number."""
    page, seen = first_page, len(first_page)
    while page:
        yield page
        if seen >= queued.customers:
            return
        page = queued_customer_ids(queued.id, after=seen - 1)
        seen += len(page)
