"""The colours in which the results and states of jobs, enrollments, steps and webhooks are shown."""

from collections.abc import Iterable
from operator import attrgetter

from django.utils.html import format_html_join
from django.utils.safestring import SafeString

from engage.admin.parts.columns import badge
from journeys.engine.jobs.progress import CountedJobs
from journeys.models import Enrollment, EnrollmentJob, InAppDelivery, Journey, StepRun, WebhookDelivery

JOURNEY_STATE: dict[str, str] = {
    Journey.State.ACTIVE: "success",
    Journey.State.CLOSED: "",
    Journey.State.HELD: "warning",
    Journey.State.ABORTED: "danger",
}
JOB_STATUS: dict[str, str] = {
    EnrollmentJob.Status.QUEUED: "info",
    EnrollmentJob.Status.DECIDED: "success",
    EnrollmentJob.Status.FAILED: "danger",
    EnrollmentJob.Status.CANCELLED: "warning",
}
JOB_RESULT: dict[str, str] = {
    EnrollmentJob.Result.ENROLLED: "success",
    EnrollmentJob.Result.ALREADY_ENROLLED: "warning",
    EnrollmentJob.Result.MAX_ENTRIES_REACHED: "warning",
    EnrollmentJob.Result.DUPLICATE_ENTRANCE: "warning",
    EnrollmentJob.Result.EXPIRED: "warning",
    EnrollmentJob.Result.HELD_OUT: "info",
    EnrollmentJob.Result.CONDITIONS_NOT_MET: "warning",
    EnrollmentJob.Result.JOURNEY_INACTIVE: "warning",
    EnrollmentJob.Result.CUSTOMER_DELETED: "warning",
    EnrollmentJob.Result.FAILED: "danger",
    EnrollmentJob.Result.CANCELLED: "warning",
}
ENROLLMENT_STATE: dict[str, str] = {
    Enrollment.State.ACTIVE: "info",
    Enrollment.State.COMPLETED: "success",
    Enrollment.State.EXITED: "warning",
}
STEP_STATE: dict[str, str] = {
    StepRun.State.WAITING: "info",
    StepRun.State.DONE: "success",
    StepRun.State.FAILED: "danger",
    StepRun.State.SKIPPED: "warning",
    StepRun.State.INTERRUPTED: "warning",
}
DELIVERY_STATE: dict[str, str] = {
    WebhookDelivery.State.WAITING: "info",
    WebhookDelivery.State.HELD: "warning",
    WebhookDelivery.State.DELIVERED: "success",
    WebhookDelivery.State.FAILED: "danger",
    WebhookDelivery.State.DROPPED: "warning",
}
IN_APP_STATE: dict[str, str] = {
    InAppDelivery.State.DUE: "info",
    InAppDelivery.State.SHOWN: "warning",
    InAppDelivery.State.ACTED: "success",
    InAppDelivery.State.CLOSED: "",
    InAppDelivery.State.EXPIRED: "",
    InAppDelivery.State.WITHDRAWN: "",
}


def counted_results(counted: Iterable[CountedJobs]) -> SafeString:
    """The number of jobs per result as labels, largest first. Jobs without a result are labelled by their status."""
    labels = [
        badge(f"{jobs.number:,} {jobs.result or jobs.status}", JOB_RESULT.get(jobs.result) or JOB_STATUS[jobs.status])
        for jobs in sorted(counted, key=attrgetter("number"), reverse=True)
    ]
    return format_html_join(" ", "{}", ((label,) for label in labels))
