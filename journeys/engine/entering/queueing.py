"""The SQL that queues: what becomes of a relation of recipients, and a way past job ids that are taken.

Four texts say who the recipients are: single.py has one customer, by_event.py those whom events enter, bulk.py an
audience, recipients.py a list. In each they are a relation `asked` (`customer_id`, `journey_id`, `entrance`, and what
else is known of them), and it ends in one of two ways: {queue_each} makes a trigger of each of them, {queue_together}
one trigger of all. Single calls do without what a call for many notes of whom it left out.

Of a text there is a plain statement, and one for calls on terms (terms.py), which looks for the holders of entrances
and puts chunks aside until they are due. The second in place of the first costs one customer 0.63 ms instead of 0.52, a
hundred events 19.3 instead of 16.8, and a thousand customers 68 instead of 64.
"""

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

from django.db import IntegrityError, connection, transaction
from psycopg.types.json import Jsonb

from customers.audience.selection import Selection
from customers.identifier_rules import LONGEST
from engage.database.sql import Fragment, Rows, Statement
from journeys.engine.entering.chunks import SECONDS_BETWEEN_TURNS
from journeys.engine.jobs.progress import LARGE_TRIGGER
from journeys.models import CHUNK_SIZE, EnrollmentJob
from journeys.rules.job_ids import JOB_NAME

_PLAIN = {
    **dict.fromkeys(("job_terms", "terms_of_job", "each_terms", "expires_at", "until_then", "stood_in"), ""),
    "lane": "lane",
    "due": "now()",
}
_ON_TERMS = {
    # A job holds its entrance unless another one, `held_by`, does.
    "job_terms": ", entrance, holds_entrance, scheduled_for, zone",
    "terms_of_job": ", entrance, CASE WHEN held_by IS NULL AND entrance IS NOT NULL THEN true END, scheduled_for, zone",
    # Until when the call counts, and for one customer whom it excludes.
    "each_terms": ", expires_at, selection",
    "expires_at": ", expires_at",
    "until_then": ", {until}::timestamptz",
    # For how many `else` stood in, if anybody is due by a zone.
    "stood_in": """ || jsonb_build_object('stood_in', (
               SELECT count(*) FILTER (WHERE left(zone, 5) = 'else ') FROM numbered HAVING count(zone) > 0
           ))""",
    # Until it is due, a chunk waits outside of the lanes.
    "lane": "CASE WHEN scheduled_for > now() THEN 'scheduled' ELSE lane END",
    "due": "greatest(scheduled_for, now())",
}

# A trigger, its one job and its chunk for each row of `entry`, whose `turn` is how many turns of its lane come before.
_EACH = """jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason{job_terms})
    SELECT workspace_id, journey_id, customer_id, trigger_id, 0, queued_ms, 'queued', '', ''{terms_of_job}
    FROM entry ORDER BY place
), triggers AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         called_by{each_terms})
    SELECT trigger_id, workspace_id, journey_id, 'single', event_id, payload, 1, request_id, traceparent,
           to_timestamp(queued_ms / 1000.0), called_by{each_terms}
    FROM entry
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT workspace_id, trigger_id, 0, 1, {lane}, {due} + turn * interval '{between} seconds', {due}, 0, ''
    FROM entry ORDER BY place
)"""

# One trigger of those in `jobs`, whom the call left out (by `named` and `exempt`, as a Selection has them), and chunks.
# `more` is added to what the trigger notes of them.
_TOGETHER = """trigger AS (
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
           ){more}{stood_in}{until_then}
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
    SELECT {workspace_id}, {trigger_id}, start, stop, {lane}, {due} + number * {between} * interval '1 second', {due},
           0, ''
    FROM {chunks}
)"""
_PLAIN["chunks"] = """(
        SELECT number, number * {size} AS start, least((number + 1) * {size}, customers) AS stop, 'bulk' AS lane
        FROM trigger, generate_series(0, (customers - 1) / {size}) AS number WHERE customers > 0
    ) AS chunk"""
# Of those in `numbered`, who are in the order in which they are due: each chunk is due as a whole, and whoever has
# several jobs, of which the first has the ordinal `first_of_one`, has them in one.
_ON_TERMS["chunks"] = """trigger, (
        SELECT scheduled_for, number, min(ordinal) AS start, max(ordinal) + 1 AS stop, 'bulk' AS lane FROM (
            SELECT scheduled_for, ordinal,
                   (first_of_one - min(ordinal) OVER (PARTITION BY scheduled_for)) / {size} AS number
            FROM (SELECT scheduled_for, ordinal, {first_of_one} AS first_of_one FROM numbered) AS ordered
        ) AS placed GROUP BY scheduled_for, number
    ) AS chunk"""

_EVERYWHERE = {
    # Of the job ids: now, or the first that is not taken.
    "clock": """clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
)""",
    # The id of the job that holds the entrance of a row of `asked`.
    "holder": """(
        SELECT {job_name}
        FROM journeys_enrollmentjob job WHERE job.customer_id = asked.customer_id AND job.journey_id = asked.journey_id
          AND job.entrance = asked.entrance AND job.holds_entrance LIMIT 1
    )""",
    "job_name": JOB_NAME,
    "longest": str(LONGEST["external_id"]),
    "size": str(CHUNK_SIZE),
    "between": str(SECONDS_BETWEEN_TURNS),
}


def queueing(text: str, *, on_terms: bool = False, **parts: str | Rows) -> Statement:
    """The statement of a text with {queue_each} or {queue_together}, and the parts that are its own."""
    ends = {"queue_each": _EACH, "queue_together": _TOGETHER} | (_ON_TERMS if on_terms else _PLAIN)
    others: dict[str, str | Rows] = {"more": "", "first_of_one": "ordinal", **parts}
    return Statement(text, **ends, **others, **_EVERYWHERE)


def together(selection: Selection, *, serial: int, segment_ids: Sequence[str] = ()) -> dict[str, Any]:
    """What {queue_together} is given of whom the call names, and `audience`, as `execute_past_taken_ids` has it."""
    return {
        "audience": selection.alone(),
        "tables": selection.tables,
        "excluded": Fragment(selection.excluded),
        "large": LARGE_TRIGGER,
        "serial": serial,
        "segment_ids": Jsonb(list(segment_ids)),
    }


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
