"""The job id of the interface: `enroll-<journeyId>-<customerId>-<epoch_millis>`."""

import re
from collections.abc import Iterable
from typing import NamedTuple

_PATTERN = re.compile(
    r"enroll-(?P<journey_id>[0-9a-f]{24})-(?P<customer_id>[0-9a-f]{24})-(?P<queued_ms>[1-9][0-9]{0,15})"
)


# The id of a row `job` of the table, in SQL.
JOB_NAME = "coalesce(job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms)"


class JobIdParts(NamedTuple):
    """What a job id is made of; together they identify the job."""

    journey_id: str
    customer_id: str
    queued_ms: int


def job_id(*, journey_id: str, customer_id: str, queued_ms: int) -> str:
    """The id of the job that was queued for this customer and journey at this epoch millisecond."""
    return f"enroll-{journey_id}-{customer_id}-{queued_ms}"


def job_ids(*, journey_id: str, customer_ids: Iterable[str], queued_ms: int) -> list[str]:
    """The ids of the jobs that were queued for these customers, in their order."""
    return [job_id(journey_id=journey_id, customer_id=id_, queued_ms=queued_ms) for id_ in customer_ids]


def parse_job_id(text: str) -> JobIdParts | None:
    """The parts of a job id, or None if the text is not one."""
    match = _PATTERN.fullmatch(text)
    if match is None:
        return None
    return JobIdParts(match["journey_id"], match["customer_id"], int(match["queued_ms"]))
