"""What the other modules share: SQL that queues customers one by one, and a way past job ids that are taken."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction

from customers.identifier_rules import LONGEST
from engage.database.sql import Fragment, Statement
from journeys.entering.chunks import SECONDS_BETWEEN_TURNS
from journeys.job_ids import JOB_NAME
from journeys.models import CHUNK_SIZE, EnrollmentJob


@dataclass(frozen=True, kw_only=True)
class QueuedTrigger:
    """A queued trigger: how many jobs it created, all with the same epoch millisecond in their ids."""

    id: str
    journey_id: str
    customers: int
    queued_ms: int


# The end of a statement that queues customers one by one: a trigger, its one job and its chunk for each row of `entry`,
# whose `turn` is how many turns of its lane come before it.
_QUEUE_EACH = """
jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason{job_columns})
    SELECT workspace_id, journey_id, customer_id, trigger_id, 0, queued_ms, 'queued', '', ''{job_values}
    FROM entry ORDER BY place
), triggers AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         called_by{trigger_columns})
    SELECT trigger_id, workspace_id, journey_id, 'single', event_id, payload, 1, request_id, traceparent,
           to_timestamp(queued_ms / 1000.0), called_by{trigger_columns}
    FROM entry
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT workspace_id, trigger_id, 0, 1, {lane}, {due} + turn * interval '{seconds} seconds', {due}, 0, ''
    FROM entry ORDER BY place
)
""".replace("{seconds}", str(SECONDS_BETWEEN_TURNS))


def _queueing_each(**parts: str) -> str:
    text = _QUEUE_EACH
    for name, part in parts.items():
        text = text.replace(f"{{{name}}}", part)
    return text


# What a job is given on terms (terms.py), where `held_by` is who holds its entrance.
JOB_TERMS = "entrance, holds_entrance, scheduled_for, zone"
TERMS_OF_JOB = "entrance, CASE WHEN held_by IS NULL AND entrance IS NOT NULL THEN true END, scheduled_for, zone"
_STOOD_IN = """ || jsonb_build_object('stood_in', (
    SELECT count(*) FILTER (WHERE left(zone, 5) = 'else ') FROM numbered HAVING count(zone) > 0
))"""
_DUE = "greatest(scheduled_for, now())"
_WAITS = "CASE WHEN scheduled_for > now() THEN 'scheduled' ELSE {lane} END"

QUEUE_EACH = _queueing_each(job_columns="", job_values="", trigger_columns="", lane="lane", due="now()")
# The same for entries on terms, or with exclusions.
QUEUE_EACH_ON_TERMS = _queueing_each(
    job_columns=f", {JOB_TERMS}",
    job_values=f", {TERMS_OF_JOB}",
    trigger_columns=", expires_at, selection",
    lane=_WAITS.format(lane="lane"),
    due=_DUE,
)


# The end of a statement that queues many by one trigger: the trigger of those in `jobs`, whom the call left out (by
# `named` and `exempt`, as a Selection has them), and the chunks. `more` is added to what the trigger notes of them.
_QUEUE_TOGETHER = """
trigger AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         keeps_progress, called_by, serial, selection{expires_at})
    SELECT {trigger_id}, {workspace_id}, {journey_id}, 'bulk', NULL, {payload}, queued.customers, {request_id},
           {traceparent}::text, to_timestamp(clock.ms / 1000.0), queued.customers >= {large}, {called_by}, {serial},
           jsonb_build_object(
               'segments', {segment_ids}::jsonb,
               'named', (SELECT count(*) FROM named),
               'unknown', (SELECT count(*) FROM named WHERE customer_id IS NULL),
               'not_in_segments', ARRAY(SELECT customer_id FROM named WHERE NOT belongs ORDER BY place),
               'exempt', ARRAY(SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL ORDER BY place),
               'excluded', ARRAY(SELECT customer_id FROM exempt WHERE {excluded} ORDER BY place)
           ){more}{expiring}
    FROM clock, (SELECT count(*) AS customers FROM jobs) AS queued
    RETURNING customers
), unknown AS (
    INSERT INTO journeys_unknownexternalid (workspace_id, trigger_id, excluded, place, external_id)
    SELECT {workspace_id}, {trigger_id}, excluded, place, left(external_id, {longest}) FROM (
        SELECT false AS excluded, place, external_id FROM named WHERE customer_id IS NULL AND external_id IS NOT NULL
        UNION ALL SELECT true, place, external_id FROM exempt WHERE customer_id IS NULL
    ) AS unknown
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    {chunks}
)
"""
_CHUNKS = """
    SELECT {workspace_id}, {trigger_id}, number * {size}, least((number + 1) * {size}, customers), 'bulk',
           now() + number * {between} * interval '1 second', now(), 0, ''
    FROM trigger, generate_series(0, (customers - 1) / {size}) AS number WHERE customers > 0
"""
# Of those in `numbered`, who are in the order in which they are due: each chunk is due as a whole, and whoever has
# several jobs has them in one.
_SCHEDULED_CHUNKS = """
    SELECT {workspace_id}, {trigger_id}, first, beyond, {lane}, {due} + number * {between} * interval '1 second', {due},
           0, ''
    FROM trigger, (
        SELECT scheduled_for, number, min(ordinal) AS first, max(ordinal) + 1 AS beyond FROM (
            SELECT scheduled_for, ordinal,
                   (first_of_one - min(ordinal) OVER (PARTITION BY scheduled_for)) / {size} AS number
            FROM (SELECT scheduled_for, ordinal, {of_one_person} AS first_of_one FROM numbered) AS ordered
        ) AS placed GROUP BY scheduled_for, number
    ) AS together
"""


def holder_of(*, customer: str, journey: str, entrance: str) -> str:
    """The id of the job that holds an entrance, as a subquery; these are expressions in SQL."""
    return (
        f"(SELECT {JOB_NAME} FROM journeys_enrollmentjob job WHERE job.customer_id = {customer} "  # noqa: S608
        f"AND job.journey_id = {journey} AND job.entrance = {entrance} AND job.holds_entrance LIMIT 1)"
    )


def queueing_together(
    text: str, *, more: str = "", on_terms: bool = False, of_one_person: str = "ordinal"
) -> Statement:
    """The statement of this text, with {queue_together}; `on_terms`, what is in `numbered` is scheduled.

    `of_one_person` is the first ordinal of whoever has several there.
    """
    return Statement(
        text,
        queue_together=_QUEUE_TOGETHER,
        chunks=_SCHEDULED_CHUNKS if on_terms else _CHUNKS,
        lane=_WAITS.format(lane="'bulk'"),
        of_one_person=of_one_person,
        due=_DUE,
        expires_at=", expires_at" if on_terms else "",
        expiring=", {until}::timestamptz" if on_terms else "",
        more=more + (_STOOD_IN if on_terms else ""),
        longest=str(LONGEST["external_id"]),
        size=str(CHUNK_SIZE),
        between=str(SECONDS_BETWEEN_TURNS),
    )


def execute_past_taken_ids(
    statement: Statement, *, journey_id: str, audience: Fragment, **values: Any
) -> tuple[Any, ...]:
    """Executes the statement that queues the audience and returns its one row.

    Its value `least_ms` is 0 at first, and greater if a job id is taken; `values` are its others.
    """
    least_ms = 0
    while True:
        try:
            with _savepoint():
                (row,) = statement.rows(least_ms=least_ms, journey_id=journey_id, **values)
        except IntegrityError as error:
            if EnrollmentJob.entrance_was_taken(error):  # at this moment: now it is seen
                continue
            if not EnrollmentJob.id_was_taken(error):
                raise
            least_ms = _free_ms(journey_id=journey_id, audience=audience)
        else:
            return row


def _savepoint() -> AbstractContextManager[None]:
    """A savepoint if inside a transaction: a failed statement must not undo what came before it."""
    return transaction.atomic() if connection.in_atomic_block else nullcontext()


_FREE_MS = Statement(
    "SELECT coalesce(max(job.queued_ms), 0) + 1 FROM ({audience}) AS audience "
    "JOIN journeys_enrollmentjob job ON job.customer_id = audience.id AND job.journey_id = {journey_id}"
)


def _free_ms(*, journey_id: str, audience: Fragment) -> int:
    """The first millisecond after all those taken by the audience's jobs in this journey."""
    return int(_FREE_MS.column(audience=audience, journey_id=journey_id)[0])
