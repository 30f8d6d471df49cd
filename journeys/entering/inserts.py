"""What the other modules share: SQL that queues customers one by one, and a way past job ids that are taken."""

from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Any

from django.db import IntegrityError, connection, transaction

from engage.database.sql import Fragment, Statement
from journeys.entering.chunks import SECONDS_BETWEEN_TURNS
from journeys.models import EnrollmentJob


@dataclass(frozen=True, kw_only=True)
class QueuedTrigger:
    """A queued trigger: how many jobs it created, all with the same epoch millisecond in their ids."""

    id: str
    journey_id: str
    customers: int
    queued_ms: int


# The end of a statement that queues customers one by one: a trigger, its one job and its chunk for each row of `entry`,
# whose `turn` is how many turns of its lane come before it.
QUEUE_EACH = """
jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
    SELECT workspace_id, journey_id, customer_id, trigger_id, 0, queued_ms, 'queued', '', '' FROM entry ORDER BY place
), triggers AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, queued_at, called_by)
    SELECT trigger_id, workspace_id, journey_id, 'single', event_id, payload, 1, request_id,
           to_timestamp(queued_ms / 1000.0), called_by
    FROM entry
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT workspace_id, trigger_id, 0, 1, lane, now() + turn * interval '{seconds} seconds', now(), 0, ''
    FROM entry ORDER BY place
)
""".replace("{seconds}", str(SECONDS_BETWEEN_TURNS))


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
