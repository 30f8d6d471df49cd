"""Taking a queued job back: a cancelled job never enrolls, and one that has enrolled is never cancelled.

A worker that decides jobs locks the customers' rows first and then reads the queued jobs. So a transaction that locks
the customer's row comes entirely before the decision or entirely after it.
"""

from django.contrib.postgres.functions import TransactionNow
from django.db import transaction

from customers.identity.locks import lock_customer
from engage.errors import Refusal
from engage.redis.metric_counters import DECISIONS, metric_counters
from journeys.engine.counts.counting import count_entries
from journeys.engine.jobs.forgetting import forget_payloads_of_erased
from journeys.engine.jobs.merged import follow_merged
from journeys.engine.jobs.states import JobNotFound, JobState, job_and_customer, job_state
from journeys.models import EnrollmentJob
from journeys.rules.job_ids import parse_job_id

CANCELLED_BY_A_CALL = "Cancelled by a call, before it was decided."


class JobAlreadyDecided(Refusal):
    """The job is no longer queued. If it enrolled the customer, the enrollment can be exited."""

    status = 409
    error = "Job already decided"


def cancel_job(*, workspace_id: str, job_id: str) -> JobState:
    """Cancels the job if it is still queued, and returns its state. A job cancelled before stays as it is.

    Raises JobNotFound, JobAlreadyDecided.
    """
    parts = parse_job_id(job_id)
    if parts is None:
        raise JobNotFound(job_id)
    with transaction.atomic():
        jobs = EnrollmentJob.objects.filter(id=_locked(workspace_id=workspace_id, job_id=job_id))
        # An erased customer's job can be decided meanwhile: that enrolls nobody, and the status keeps the two apart.
        cancelled = jobs.filter(status=EnrollmentJob.Status.QUEUED).update(
            status=EnrollmentJob.Status.CANCELLED,
            result=EnrollmentJob.Result.CANCELLED,
            reason=CANCELLED_BY_A_CALL,
            decided_at=TransactionNow(),
        )
        if cancelled:
            count_entries(
                workspace_id=workspace_id, journey_id=parts.journey_id, result=EnrollmentJob.Result.CANCELLED.value
            )
            forget_payloads_of_erased(jobs.values_list("trigger_id", flat=True))
        job = job_state(workspace_id=workspace_id, job_id=job_id)
    if cancelled:
        metric_counters.count(DECISIONS, EnrollmentJob.Result.CANCELLED.value)
    if job.status != EnrollmentJob.Status.CANCELLED:
        raise JobAlreadyDecided(f"The job is not queued any more: its result is {job.result!r}. {job.reason}")
    return job


def _locked(*, workspace_id: str, job_id: str) -> int:
    """The row of the job, with its customer locked, or whom they were merged into. Raises JobNotFound."""
    while True:
        job, customer_id = job_and_customer(workspace_id=workspace_id, job_id=job_id)
        if lock_customer(workspace_id=workspace_id, customer_id=customer_id) or not follow_merged(
            [customer_id], wait=True
        ):
            return job
