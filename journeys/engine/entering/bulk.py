"""From an audience to committed jobs, in one statement."""

from collections.abc import Iterator, Sequence

from customers.audience.selection import Selection
from engage.database.sql import Statement
from journeys.engine.entering.queueing import execute_past_taken_ids, queueing, together
from journeys.engine.entering.terms import NO_TERMS, QueuedTrigger, Request

_PAGE_SIZE = 10_000


# A common table expression that changes a table is executed once and to completion, so the call is one statement and
# one round trip, and commits or fails as a whole. Jobs are inserted in the order of their customers, so that two calls
# whose job ids collide wait for each other instead of deadlocking.
_TEXT = """
WITH {clock}, {tables}, audience AS ({chosen}
), numbered AS (
    SELECT {numbered}
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason{job_terms})
    SELECT {workspace_id}, {journey_id}, customer_id, {trigger_id}, ordinal, clock.ms, 'queued', '', ''{terms_of_job}
    FROM numbered, clock ORDER BY ordinal
    RETURNING ordinal, customer_id
), {queue_together}
SELECT trigger.customers, clock.ms,
       ARRAY(SELECT customer_id FROM jobs WHERE ordinal < {page} ORDER BY ordinal) AS first_page, {duplicates}
FROM trigger, clock
"""
_QUEUE = queueing(
    _TEXT,
    numbered="id AS customer_id, row_number() OVER (ORDER BY id) - 1 AS ordinal FROM audience",
    duplicates="NULL",
)
_QUEUE_ON_TERMS = queueing(
    _TEXT,
    on_terms=True,
    numbered="""*, row_number() OVER (ORDER BY scheduled_for, customer_id) - 1 AS ordinal FROM (
        SELECT *, CASE WHEN entrance IS NOT NULL THEN {holder} END AS held_by, {scheduled} FROM (
            SELECT id AS customer_id, {journey_id}::text AS journey_id, {entrance}::text AS entrance FROM audience
        ) AS asked
    ) AS due""",
    duplicates="""ARRAY(
           SELECT ARRAY[customer_id::text, held_by] FROM numbered WHERE held_by IS NOT NULL ORDER BY ordinal LIMIT 1000
       )""",
)


def queue_jobs(
    request: Request, selection: Selection, *, serial: int, segment_ids: Sequence[str]
) -> tuple[QueuedTrigger, list[str], list[tuple[str, str]]]:
    """Creates a trigger with a job for every customer of the selection's audience, and chunks for the workers.

    The trigger notes whom the call left out. Events with a higher `serial` count for its jobs: it must have been drawn
    before the call looks at customers. Returns it with the first page of its customers, as `queued_customer_ids`
    does, and with those of them, 1,000 at most, for whom another job, which is named, has the entrance.

    The job ids of one trigger share a millisecond. If one is taken by an earlier trigger of the same journey and
    customer, the millisecond moves past it.
    """
    values, on_terms = request.values(), request.terms != NO_TERMS
    customers, queued_ms, first_page, duplicates = execute_past_taken_ids(
        _QUEUE_ON_TERMS if on_terms else _QUEUE,
        **values,
        **(request.terms.values() if on_terms else {}),
        **together(selection, serial=serial, segment_ids=segment_ids),
        chosen=selection.audience,
        page=_PAGE_SIZE,
    )
    trigger = request.queued(values["trigger_id"], customers=customers, queued_ms=queued_ms)
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
