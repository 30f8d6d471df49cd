"""Entrances: what one entry of a customer into a journey is for, by the caller's id, such as an order.

A job holds its entrance while it is queued, and from then on if it has enrolled. PostgreSQL refuses a second one that
would hold it, and lets go of it when a job ends in another way (migrations/0052_own_payloads.py). A call queues a
repeat as a job that holds nothing. When that is decided, the entrance may have become free.
"""

from collections.abc import Sequence
from typing import NamedTuple

from engage.database.sql import Rows, Statement
from journeys.engine.entering.waiting_jobs import WaitingJob
from journeys.rules.job_ids import JOB_NAME

Key = tuple[str, str, str]


class Holder(NamedTuple):
    """The job that holds an entrance, with its id for callers."""

    id: int
    name: str


_HELD = Statement(
    """
SELECT job.journey_id, job.customer_id, job.entrance, job.id, {name}
FROM {asked} CROSS JOIN LATERAL (
    SELECT * FROM journeys_enrollmentjob known
    WHERE known.customer_id = asked.customer_id AND known.journey_id = asked.journey_id
      AND known.entrance = asked.entrance AND known.holds_entrance LIMIT 1
) AS job
""",
    asked=Rows("asked", {"journey_id": "text", "customer_id": "text", "entrance": "text"}),
    name=JOB_NAME,
)


def key_of(job: WaitingJob) -> Key | None:
    """What tells the job's entrance from others; None if it has none."""
    return None if job.entrance is None else (job.journey_id, job.customer_id, job.entrance)


def holders_of(jobs: Sequence[WaitingJob]) -> dict[Key, Holder]:
    """Who holds the entrances of the jobs. No statement if none of them has one."""
    asked = {key for job in jobs if (key := key_of(job))}
    rows = _HELD.rows(asked=sorted(asked)) if asked else []
    return {(journey, customer, entrance): Holder(id_, name) for journey, customer, entrance, id_, name in rows}


_LET_GO = Statement("UPDATE journeys_enrollmentjob SET holds_entrance = NULL WHERE id = ANY({ids}::bigint[])")


def let_go(job_ids: Sequence[int]) -> None:
    """Has these jobs, which are about to end without an enrollment, hold nothing: others of the batch take over."""
    if job_ids:
        _LET_GO.execute(ids=list(job_ids))
