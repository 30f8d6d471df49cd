"""From an audience to committed jobs, in one statement."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction
from psycopg.types.json import Jsonb

from customers.fragment import Fragment
from engage.object_ids import new_object_id
from journeys.chunks import CHUNK_SIZE, SECONDS_BETWEEN_TURNS
from journeys.models import EnrollmentJob
from journeys.progress import LARGE

_PAGE_SIZE = 10_000


@dataclass(frozen=True, kw_only=True)
class QueuedTrigger:
    """A committed trigger: how many jobs it made, all with the same epoch millisecond in their ids."""

    id: str
    journey_id: str
    customers: int
    queued_ms: int


# A common table expression that changes a table is executed once and to its end, so the call is one statement and
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


# The end of a statement that queues customers one by one: a trigger, its one job and its chunk for each row of `entry`.
QUEUE_EACH = """
jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
    SELECT workspace_id, journey_id, customer_id, trigger_id, 0, queued_ms, 'queued', '', '' FROM entry ORDER BY place
), triggers AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, queued_at)
    SELECT trigger_id, workspace_id, journey_id, 'single', event_id, payload, 1, request_id,
           to_timestamp(queued_ms / 1000.0)
    FROM entry
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT workspace_id, trigger_id, 0, 1, 'single', now(), now(), 0, '' FROM entry ORDER BY place
)
"""


def queue_jobs(
    *,
    workspace_id: str,
    journey_id: str,
    audience: Fragment,
    payload: Mapping[str, Any],
    request_id: str,
) -> tuple[QueuedTrigger, list[str]]:
    """Makes a trigger with a job for every customer of the audience, and chunks for the workers.

    Gives it with the first page of its customers, as `queued_customer_ids` does.

    The job ids of one trigger share a millisecond. Where one is taken by an earlier trigger of the same journey and
    customer, the millisecond steps past it.
    """
    trigger_id = new_object_id()
    customers, queued_ms, first_page = past_taken_ids(
        _QUEUE.replace("{audience}", audience.sql),
        lambda least_ms: [
            least_ms, *audience.params,
            workspace_id, journey_id, trigger_id,
            trigger_id, workspace_id, journey_id, Jsonb(payload), request_id, LARGE,
            workspace_id, trigger_id, CHUNK_SIZE, CHUNK_SIZE, SECONDS_BETWEEN_TURNS, CHUNK_SIZE,
            _PAGE_SIZE,
        ],
        journey_id=journey_id,
        audience=audience,
    )  # fmt: skip
    trigger = QueuedTrigger(id=trigger_id, journey_id=journey_id, customers=customers, queued_ms=queued_ms)
    return trigger, first_page


def past_taken_ids(
    statement: str, parameters: Callable[[int], Sequence[Any]], *, journey_id: str, audience: Fragment
) -> tuple[Any, ...]:
    """Executes the statement that queues the audience and gives its one row.

    `parameters` are those for a least millisecond, which is 0 at first, and greater where a job id is taken.
    """
    least_ms = 0
    while True:
        try:
            with _savepoint(), connection.cursor() as cursor:
                cursor.execute(statement, parameters(least_ms))
                row: tuple[Any, ...] = cursor.fetchone()
        except IntegrityError as error:
            if not EnrollmentJob.id_was_taken(error):
                raise
            least_ms = _free_ms(journey_id=journey_id, audience=audience)
        else:
            return row


def _savepoint() -> AbstractContextManager[None]:
    """Inside of a transaction, a statement that fails must not fail all that came before it."""
    return transaction.atomic() if connection.in_atomic_block else nullcontext()


def _free_ms(*, journey_id: str, audience: Fragment) -> int:
    """The first millisecond after all those that the audience's jobs in this journey have taken."""
    statement = (
        "SELECT coalesce(max(job.queued_ms), 0) + 1 FROM ({audience}) AS audience "
        "JOIN journeys_enrollmentjob job ON job.customer_id = audience.id AND job.journey_id = %s"
    )
    with connection.cursor() as cursor:
        cursor.execute(statement.replace("{audience}", audience.sql), [*audience.params, journey_id])
        return int(cursor.fetchone()[0])


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
    """All the trigger's customers, page by page, so that memory stays flat whatever their number."""
    page, seen = first_page, len(first_page)
    while page:
        yield page
        if seen >= queued.customers:
            return
        page = queued_customer_ids(queued.id, after=seen - 1)
        seen += len(page)
