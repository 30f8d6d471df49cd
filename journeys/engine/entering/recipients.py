"""A call that names its customers one by one, each with a payload of their own: from the list to committed jobs.

The jobs are in the order of the list, and all of them have one millisecond in their ids, but those of a person who is
named with several entrances: each next one has the next, and they follow the first one, in one chunk. So they are
decided in the order of the list, as a dry run has them.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from typing import Any, NamedTuple

from django.db import transaction

from customers.audience.recipients import SentRecipient, select_recipients
from engage.database.sql import Statement
from journeys.engine import wakeups
from journeys.engine.entering.payloads import Broken, without_broken
from journeys.engine.entering.queueing import execute_past_taken_ids, queueing, together
from journeys.engine.entering.terms import Request
from journeys.engine.entering.trigger import JourneyNotFound, look_up_journey
from journeys.models import CHUNK_SIZE
from journeys.rules.job_ids import job_id, parse_job_id


@dataclass(frozen=True, kw_only=True)
class QueuedRecipient:
    """A recipient who is queued; `index` is their place in the call, from 0."""

    index: int
    customer_id: str
    job_id: str
    scheduled_for: datetime | None


@dataclass(frozen=True, kw_only=True)
class QueuedRecipients:
    """A call with recipients, queued. `twice` are the places of those who are somebody named before.

    `duplicates` are those whose entrance another job has, and `broken` the places of payloads that do not meet the
    journey's schema.
    """

    trigger_id: str
    journey_id: str
    recipients: Sequence[QueuedRecipient]
    twice: Sequence[int]
    duplicates: Sequence["Duplicate"] = ()
    broken: Broken = field(default_factory=dict)


class Duplicate(NamedTuple):
    """A customer's entrance that another job has, and which."""

    entrance: str
    customer_id: str
    job_id: str


# As in bulk.py, it commits or fails as a whole, and jobs are inserted in the order of their customers, and of their
# entrances. But jobs are decided in the order of their ids: these are drawn before.
_QUEUE = queueing(
    """
WITH {clock}, {tables}, found AS MATERIALIZED (
    SELECT *, {journey_id}::text AS journey_id,
           row_number() OVER (PARTITION BY customer_id, entrance ORDER BY place) > 1 AS is_second
    FROM named WHERE customer_id IS NOT NULL
      AND customer_id NOT IN (SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL)
), numbered AS MATERIALIZED (
    SELECT nextval('journeys_enrollmentjob_id_seq') AS id, ordered.* FROM (
        SELECT *, row_number() OVER (ORDER BY scheduled_for, first_place, place) - 1 AS ordinal,
               row_number() OVER (PARTITION BY customer_id ORDER BY place) - 1 AS later
        FROM (
            SELECT *, CASE WHEN entrance IS NOT NULL THEN {holder} END AS held_by, {scheduled},
                   min(place) OVER (PARTITION BY customer_id) AS first_place
            FROM found AS asked WHERE NOT is_second
        ) AS due ORDER BY ordinal
    ) AS ordered
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (id, workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason,
         payload{job_terms})
    SELECT id, {workspace_id}, {journey_id}, customer_id, {trigger_id}, ordinal, clock.ms + later, 'queued', '', '',
           payload{terms_of_job}
    FROM numbered, clock ORDER BY customer_id, entrance
    RETURNING 1
), {queue_together}
SELECT ARRAY(SELECT place - 1 FROM numbered ORDER BY ordinal),
       ARRAY(SELECT customer_id FROM numbered ORDER BY ordinal),
       ARRAY(SELECT clock.ms + later FROM numbered ORDER BY ordinal),
       ARRAY(SELECT scheduled_for FROM numbered ORDER BY ordinal),
       ARRAY(SELECT ARRAY[entrance, customer_id, held_by] FROM numbered WHERE held_by IS NOT NULL ORDER BY ordinal),
       ARRAY(SELECT place - 1 FROM found WHERE is_second ORDER BY place)
FROM trigger, clock
""",
    on_terms=True,
    first_of_one="min(ordinal) OVER (PARTITION BY customer_id)",
    more=""" || jsonb_build_object(
               'unknown_recipients', ARRAY(SELECT place - 1 FROM named WHERE customer_id IS NULL ORDER BY place)
           )""",
)


def trigger_recipients(request: Request, recipients: Sequence[SentRecipient]) -> QueuedRecipients:
    """Queues every recipient who is known and not excluded, a person once for each entrance.

    Their own payload goes over the call's, key by key; entrances are theirs alone. Raises JourneyNotFound,
    InvalidJourneyType, PayloadInvalid.
    """
    journey = look_up_journey(request.workspace_id, request.journey_id)
    recipients, broken = without_broken(journey.payload_schema, request.payload, recipients)
    selection = select_recipients(
        workspace_id=request.workspace_id, recipients=recipients, exclude_external_ids=request.excluded
    )
    values, terms = request.values(), request.terms
    places, customer_ids, milliseconds, scheduled, duplicates, twice = execute_past_taken_ids(
        _QUEUE,
        **values,
        **together(selection, serial=journey.serial),
        scheduled=terms.scheduled(),
        until=terms.expires_at,
    )
    trigger_id = values["trigger_id"]
    jobs = [
        job_id(journey_id=request.journey_id, customer_id=customer_id, queued_ms=ms)
        for customer_id, ms in zip(customer_ids, milliseconds, strict=True)
    ]
    first_jobs = [(start, jobs[start]) for start in range(0, len(jobs), CHUNK_SIZE)]
    if not terms.waits:
        transaction.on_commit(lambda: wakeups.wake_for_bulk(trigger_id=trigger_id, first_jobs=first_jobs), robust=True)
    rows = list(zip(customer_ids, jobs, scheduled, strict=True))
    found = _queued(trigger_id=trigger_id, journey_id=request.journey_id, places=places, jobs=rows, twice=twice)
    return replace(found, duplicates=[Duplicate(*one) for one in duplicates], broken=broken)


_JOBS = Statement("""
SELECT coalesce(queued_as, 'enroll-' || journey_id || '-' || customer_id || '-' || queued_ms), scheduled_for
FROM journeys_enrollmentjob WHERE trigger_id = {trigger_id} ORDER BY ordinal
""")


def recipients_queued_before(
    *, journey_id: str, trigger_id: str, places: Sequence[int], duplicates: Sequence[Sequence[str]] = ()
) -> QueuedRecipients:
    """A call that was queued earlier. Raises JourneyNotFound if its jobs were deleted with their journey."""
    rows = _JOBS.rows(trigger_id=trigger_id)
    if places and not rows:
        raise JourneyNotFound(journey_id)
    jobs = [(parts.customer_id, job, due) for job, due in rows if (parts := parse_job_id(job))]
    found = _queued(trigger_id=trigger_id, journey_id=journey_id, places=places, jobs=jobs, twice=())
    return replace(found, duplicates=[Duplicate(*one) for one in duplicates])


def _queued(
    *, trigger_id: str, journey_id: str, places: Sequence[int], jobs: Sequence[tuple[Any, ...]], twice: Sequence[int]
) -> QueuedRecipients:
    """`jobs` are their customers' ids, their own, and when they are due."""
    recipients = [
        QueuedRecipient(index=index, customer_id=customer_id, job_id=job, scheduled_for=scheduled_for)
        for index, (customer_id, job, scheduled_for) in zip(places, jobs, strict=False)
    ]
    return QueuedRecipients(trigger_id=trigger_id, journey_id=journey_id, recipients=recipients, twice=twice)
