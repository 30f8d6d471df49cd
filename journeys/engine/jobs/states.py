"""What became of a job: its state, its customer and its enrollment, as of one moment."""

from dataclasses import dataclass, field
from datetime import datetime
from typing import Annotated, Any, ClassVar

from engage.database.object_ids import ObjectId
from engage.database.sql import Fragment, Statement, Template
from engage.errors import Refusal
from engage.json.fields import LEFT_OUT, Spelled
from journeys.models.choices import ElseStoodIn, JobDetails, JobResult, JobStatus, ScheduledFor, TimezoneOfJob, of_zone
from journeys.rules.job_ids import JobIdParts, job_id, parse_job_id


class JobNotFound(Refusal):
    """No such job in the workspace."""

    status = 404
    error = "Job not found"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id[:100]!r} in this workspace.")


@dataclass(frozen=True, kw_only=True)
class JobState:
    """What became of one job."""

    schema_name: ClassVar = "Job"

    job_id: Annotated[str, "The job's id."]
    trigger_id: Annotated[ObjectId, "The id of the trigger that queued the job."]
    ordinal: int = field(metadata={"hidden": True})  # its place in the trigger
    journey_id: Annotated[ObjectId, "The journey's id."]
    customer_id: Annotated[ObjectId, "The customer's id."]
    external_id: Annotated[
        str | None,
        "The customer's id in your own system; null if there is none, or if the customer was erased.",
        Spelled("external_id"),
    ]
    status: Annotated[
        JobStatus,
        "`queued` until a worker decides the job, then `decided`, or `failed` if it could not be decided; "
        "`cancelled` if a call cancelled it.",
    ]
    result: Annotated[JobResult | None, "The decision; null while the job is queued."]
    reason: Annotated[str | None, "The reason for the result, as text; null while the job is queued."]
    details: JobDetails
    enrollment_id: Annotated[ObjectId | None, "The enrollment's id; null if there is none."]
    entrance_id: Annotated[str | None, "The `entranceId` that the job is for; omitted if there is none.", LEFT_OUT] = (
        None
    )
    queued_at: datetime
    scheduled_for: ScheduledFor = None
    timezone: TimezoneOfJob = None
    else_stood_in: ElseStoodIn = None
    decided_at: Annotated[
        datetime | None, "When the job was decided, failed or was cancelled; null while it is queued."
    ]


# One statement, so one moment: a job that is queued has no enrollment. Laterals with a limit
# (docs/sql.md): each row is looked up by its key, whatever the planner expects.
_READ = Statement("""
SELECT job.trigger_id, job.ordinal, job.journey_id, job.customer_id, job.queued_ms, job.queued_as,
       job.entrance AS entrance_id, customer.external_id,
       job.status, nullif(job.result, '') AS result, nullif(job.reason, '') AS reason,
       ARRAY(SELECT jsonb_array_elements_text(job.details)) AS details, enrollment.id AS enrollment_id,
       trigger.queued_at, job.scheduled_for, job.zone, job.decided_at
FROM ({jobs}) AS job
CROSS JOIN LATERAL (SELECT * FROM journeys_trigger called WHERE called.id = job.trigger_id LIMIT 1) AS trigger
LEFT JOIN LATERAL (
    SELECT * FROM customers_customer known
    WHERE known.id = job.customer_id AND known.workspace_id = job.workspace_id LIMIT 1
) AS customer ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_enrollment entered WHERE entered.job_id = job.id LIMIT 1
) AS enrollment ON true
ORDER BY job.trigger_id, job.ordinal
""")

_NAMED = Template("""
SELECT * FROM journeys_enrollmentjob
WHERE workspace_id = {workspace_id} AND journey_id = {journey_id} AND customer_id = {customer_id}
  AND queued_ms = {queued_ms}
UNION ALL SELECT * FROM journeys_enrollmentjob WHERE queued_as = {job_id} AND workspace_id || '' = {workspace_id}
""")


def job_state(*, workspace_id: str, job_id: str) -> JobState:
    """The job's current state. Raises JobNotFound."""
    parts = parse_job_id(job_id)
    found = read_job_states(_named(workspace_id, job_id, parts)) if parts else []
    if not found:
        raise JobNotFound(job_id)
    return found[0]


_OWNER = Statement("SELECT id, customer_id FROM ({named}) AS named")


def job_and_customer(*, workspace_id: str, job_id: str) -> tuple[int, str]:
    """The row of the job with this id, and whose it is now. Raises JobNotFound."""
    parts = parse_job_id(job_id)
    found = _OWNER.rows(named=_named(workspace_id, job_id, parts)) if parts else []
    if not found:
        raise JobNotFound(job_id)
    return found[0][0], found[0][1]


def _named(workspace_id: str, job_id: str, parts: JobIdParts) -> Fragment:
    return _NAMED.filled(workspace_id=workspace_id, job_id=job_id, **parts._asdict())


def read_job_states(jobs: Fragment) -> list[JobState]:
    """The current states of the selected rows of the table of jobs, by trigger and place."""
    return [_state(**row) for row in _READ.records(jobs=jobs)]


def _state(*, queued_ms: int, queued_as: str | None, **row: Any) -> JobState:
    name = queued_as or job_id(journey_id=row["journey_id"], customer_id=row["customer_id"], queued_ms=queued_ms)
    return JobState(job_id=name, **of_zone(row.pop("zone")), **row)
