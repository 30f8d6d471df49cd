"""What became of a job, and of a whole trigger."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

from engage.errors import Refusal
from engage.object_ids import row_with_id
from journeys.job_ids import parse_job_id
from journeys.models import Enrollment, EnrollmentJob, Trigger
from journeys.progress import count_jobs


class JobNotFound(Refusal):
    """No such job in the workspace."""

    status = 404
    error = "Job not found"
    code = "job_not_found"

    def __init__(self, job_id: str) -> None:
        super().__init__(f"There is no job {job_id[:100]!r} in this workspace.")


class TriggerNotFound(Refusal):
    """No such trigger in the workspace."""

    status = 404
    error = "Trigger not found"
    code = "trigger_not_found"

    def __init__(self, trigger_id: str) -> None:
        super().__init__(f"There is no trigger {trigger_id[:100]!r} in this workspace.")


@dataclass(frozen=True, kw_only=True)
class JobState:
    """A job's current state; `result`, `reason` and `decided_at` are None while it is queued."""

    job_id: str
    trigger_id: str
    journey_id: str
    customer_id: str
    status: str
    result: str | None
    reason: str | None
    enrollment_id: str | None
    queued_at: datetime
    decided_at: datetime | None


@dataclass(frozen=True, kw_only=True)
class TriggerState:
    """A trigger's jobs, counted by status and by result."""

    trigger_id: str
    journey_id: str
    customers: int
    queued: int
    decided: int
    failed: int
    cancelled: int
    results: Mapping[str, int]
    queued_at: datetime


def job_state(*, workspace_id: str, job_id: str) -> JobState:
    """The job's current state. Raises JobNotFound."""
    parts = parse_job_id(job_id)
    job = (
        EnrollmentJob.objects.select_related("trigger").filter(workspace_id=workspace_id, **parts._asdict()).first()
        if parts
        else None
    )
    if job is None:
        raise JobNotFound(job_id)
    enrollment = Enrollment.objects.filter(job_id=job.id).values_list("id", flat=True).first()
    return JobState(
        job_id=job.job_id,
        trigger_id=job.trigger_id,
        journey_id=job.journey_id,
        customer_id=job.customer_id,
        status=job.status,
        result=job.result or None,
        reason=job.reason or None,
        enrollment_id=enrollment,
        queued_at=job.trigger.queued_at,
        decided_at=job.decided_at,
    )


def trigger_state(*, workspace_id: str, trigger_id: str) -> TriggerState:
    """The trigger's jobs, counted now. Raises TriggerNotFound."""
    trigger = row_with_id(Trigger.objects.filter(workspace_id=workspace_id), trigger_id)
    if trigger is None:
        raise TriggerNotFound(trigger_id)
    counted = count_jobs(trigger)
    by_status = {
        status: sum(jobs.number for jobs in counted if jobs.status == status) for status in EnrollmentJob.Status.values
    }
    return TriggerState(
        trigger_id=trigger.id,
        journey_id=trigger.journey_id,
        customers=trigger.customers,
        queued=by_status["queued"],
        decided=by_status["decided"],
        failed=by_status["failed"],
        cancelled=by_status["cancelled"],
        results={jobs.result: jobs.number for jobs in counted if jobs.result},
        queued_at=trigger.queued_at,
    )
