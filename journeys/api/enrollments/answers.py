"""Response bodies about enrollments, as the API spells them."""

from collections.abc import Mapping
from typing import Annotated, TypedDict

from engage.database.object_ids import ObjectId
from engage.http.paging import NEXT_CURSOR, written_cursor
from engage.http.spelling import spelled
from engage.json.instants import Instant, iso_utc_or_none
from engage.json.keywords import Choice, Keywords, known
from journeys.api.triggers.answers import DETAILS, JobResult, JobStatus
from journeys.enrollments.by_customer import CustomerTrigger, CustomerTriggersPage, TriggeredEnrollment
from journeys.enrollments.history import MOST_ATTEMPTS, EnrollmentHistory, RunWithWebhook
from journeys.enrollments.states import EnrollmentState
from journeys.models import Enrollment, StepRun, Trigger, WebhookDelivery
from journeys.operations.redaction import url_without_secrets, without_secrets
from journeys.webhooks.waiting import Waiting, waiting

ENROLLMENT_MESSAGE = "The enrollment as it stands."
EXITED_MESSAGE = "The enrollment is exited; no step follows."
TRIGGERS_MESSAGE = "What queued the customer for journeys, newest first."

_EnrollmentState = Annotated[str, Choice("EnrollmentState", tuple(Enrollment.State.values))]
_GOES_ON = (
    "When the enrollment continues: the end of a wait, or the next attempt to send a webhook. null once it has ended, "
    "and while the host of its webhook is held."
)


class WebhookAttemptData(TypedDict):
    """One attempt to send a webhook."""

    number: Annotated[int, "The number of the attempt, from 1.", Keywords(minimum=1)]
    at: Instant
    milliseconds: Annotated[int, "How long the attempt took."]
    status: Annotated[int | None, "The HTTP status; null if no response was received."]
    answer: Annotated[str, "The first 4 KiB of the response body; empty if no response was received."]
    error: Annotated[str | None, "Why no response was received, or only part of one; otherwise null."]


class WebhookData(TypedDict):
    """The request of a webhook step, and its result."""

    webhookId: Annotated[str, "The `webhook-id` header that the receiver gets, the same for every attempt."]
    method: str
    url: Annotated[str, "The URL. Values of query parameters that look like credentials are hidden."]
    headers: Annotated[
        Mapping[str, str],
        "The headers set by the journey, without the signature. Values that look like credentials are hidden. "
        "Empty if they cannot be decrypted at the moment.",
    ]
    body: Annotated[str | None, "The body as JSON text; null if the request has none."]
    state: Annotated[
        str,
        "`waiting` while delivery is attempted; `dropped` if the enrollment ended first.",
        known(WebhookDelivery.State.values),
    ]
    result: Annotated[str | None, "The outcome, as text; null while delivery is attempted."]
    waitsBecause: Annotated[
        str | None,
        "Why the next attempt waits, as text, such as `Left alone until 19:26:30 UTC after 10 failures in a row: "
        "Answered 500.`; null unless something is in its way.",
    ]
    attemptsMade: Annotated[int, "The number of attempts so far."]
    nextAttemptAt: Annotated[
        Instant | None,
        "When the next attempt is made, at the earliest; null unless `state` is `waiting`, and while its host is held.",
    ]
    attempts: Annotated[
        list[WebhookAttemptData], f"The latest {MOST_ATTEMPTS} attempts, in order.", Keywords(maxItems=MOST_ATTEMPTS)
    ]


class EnrollmentStepData(TypedDict):
    """One step in an enrollment's history."""

    ordinal: Annotated[int, "The position in the history, from 0. A step in a loop appears more than once."]
    stepId: str
    type: Annotated[str, "The step's type; empty if the enrollment was given up before the type was known."]
    state: Annotated[
        str,
        "`interrupted` if the enrollment ended while the step was waiting.",
        known(StepRun.State.values),
    ]
    detail: Annotated[str, "The outcome of the step, as text."]
    missing: Annotated[list[str], "The names used in the step's templates that had no value."]
    because: Annotated[
        list[str],
        "The values that decided which way a `branch` went; at most five, of at most 200 characters. Empty for other "
        "steps.",
    ]
    eventId: Annotated[
        ObjectId | None, "The id of the event that the step recorded, or that ended its wait; null if there is none."
    ]
    beganAt: Instant
    endedAt: Annotated[Instant | None, "When the step ended; null while it is waiting."]
    webhook: Annotated[
        WebhookData | None,
        "The request and its attempts; null unless this is a webhook step whose request was rendered.",
    ]


class EnrollmentData(TypedDict):
    """One customer's path through one journey."""

    enrollmentId: Annotated[ObjectId, "The enrollment's id."]
    journeyId: Annotated[ObjectId, "The journey's id."]
    journeyName: str
    revision: Annotated[int, "The revision of the journey's steps that the enrollment follows.", Keywords(minimum=1)]
    customerId: Annotated[ObjectId, "The customer's id."]
    triggerId: Annotated[
        ObjectId | None, "The id of the trigger that led to the enrollment; null once its job is pruned."
    ]
    jobId: Annotated[str | None, "The id of the job that led to the enrollment; null once the job is pruned."]
    state: Annotated[_EnrollmentState, "`exited` if the enrollment ended early, for the reason in `exitReason`."]
    stepId: Annotated[
        str | None,
        "The id of the current step, or of the last one if the enrollment has ended; null if the journey has no steps.",
    ]
    awaitsEvent: Annotated[str | None, "The name of the event that the enrollment waits for; null if there is none."]
    goesOnAt: Annotated[Instant | None, _GOES_ON]
    exitReason: Annotated[str | None, "Why the enrollment was exited, as text; null if it was not."]
    error: Annotated[str | None, "Why the last attempt to continue failed; null unless it is being retried."]
    enteredAt: Instant
    endedAt: Annotated[Instant | None, "When the enrollment ended; null while it is active."]


class EnrollmentHistoryData(EnrollmentData):
    """One customer's path through one journey, with a page of its steps."""

    steps: Annotated[list[EnrollmentStepData], "A page of the steps, in order."]
    stepsBegun: Annotated[int, "The number of steps in the whole history."]
    nextCursor: Annotated[str | None, NEXT_CURSOR]


class TriggeredEnrollmentData(TypedDict):
    """The enrollment that a trigger led to."""

    enrollmentId: Annotated[ObjectId, "The enrollment's id. `GET …/enrollments/{enrollmentId}` returns its history."]
    state: Annotated[_EnrollmentState, "`exited` if the enrollment ended early, for the reason in `exitReason`."]
    stepId: Annotated[
        str | None,
        "The id of the current step, or of the last one if the enrollment has ended; null if the journey has no steps.",
    ]
    goesOnAt: Annotated[Instant | None, _GOES_ON]
    exitReason: Annotated[str | None, "Why the enrollment was exited, as text; null if it was not."]
    enteredAt: Instant
    endedAt: Annotated[Instant | None, "When the enrollment ended; null while it is active."]


class CustomerTriggerData(TypedDict):
    """One trigger that queued the customer, and what was decided."""

    journeyId: Annotated[ObjectId, "The journey's id."]
    journeyName: str
    triggerId: Annotated[ObjectId, "The id of the trigger: a call or an event that queued the customer."]
    form: Annotated[str, "Whether the trigger was for one customer or many.", known(Trigger.Form.values)]
    eventId: Annotated[ObjectId | None, "The event's id; null if the trigger was a call, or if the event was deleted."]
    eventName: Annotated[str | None, "The event's name; null if `eventId` is null."]
    jobId: Annotated[str, "The job's id."]
    status: Annotated[JobStatus, "`queued` until the job is decided, fails or is cancelled."]
    result: Annotated[JobResult | None, "The decision; null while the job is queued."]
    reason: Annotated[str | None, "The reason for the result, as text; null while the job is queued."]
    details: Annotated[list[str], DETAILS]
    queuedAt: Instant
    decidedAt: Annotated[Instant | None, "When the job was decided, failed or was cancelled; null while it is queued."]
    enrollment: Annotated[TriggeredEnrollmentData | None, "The enrollment; null if the customer was not enrolled."]


class CustomerJourneysData(TypedDict):
    """A page of the triggers that queued a customer for journeys."""

    customerId: Annotated[ObjectId, "The customer's id."]
    triggers: Annotated[list[CustomerTriggerData], "The triggers, newest first."]
    nextCursor: Annotated[str | None, NEXT_CURSOR]


def enrollment_data(state: EnrollmentState) -> EnrollmentData:
    enrollment, job = state.enrollment, state.enrollment.job
    return spelled(
        EnrollmentData,
        enrollment,
        enrollmentId=enrollment.id,
        journeyName=enrollment.journey.name,
        revision=enrollment.revision.number,
        triggerId=job.trigger_id if job else None,
        jobId=job.job_id if job else None,
        stepId=enrollment.step_id or None,
        awaitsEvent=enrollment.awaits_event or None,
        goesOnAt=iso_utc_or_none(state.goes_on_at),
        exitReason=enrollment.exit_reason or None,
        error=enrollment.error or None,
    )


def history_data(history: EnrollmentHistory) -> EnrollmentHistoryData:
    waits = waiting([step.delivery.id for step in history.steps if step.delivery and step.delivery.waits])
    return {
        **enrollment_data(history.state),
        "steps": [_step_data(step, waits) for step in history.steps],
        "stepsBegun": history.state.enrollment.steps_begun,
        "nextCursor": written_cursor([history.last]) if history.last is not None else None,
    }


def _step_data(step: RunWithWebhook, waits: Mapping[int, Waiting]) -> EnrollmentStepData:
    webhook = _webhook_data(step.delivery, step, waits.get(step.delivery.id)) if step.delivery else None
    return spelled(EnrollmentStepData, step.run, because=step.run.because or [], webhook=webhook)


def _webhook_data(delivery: WebhookDelivery, step: RunWithWebhook, waits: Waiting | None) -> WebhookData:
    return spelled(
        WebhookData,
        delivery,
        url=url_without_secrets(delivery.url),
        headers=without_secrets(delivery.readable_headers),
        result=None if delivery.state in WebhookDelivery.UNDECIDED else delivery.result or None,
        waitsBecause=(waits.because if waits else "") or None,
        attemptsMade=delivery.attempts,
        nextAttemptAt=iso_utc_or_none(waits.next_attempt_at) if waits else None,
        attempts=[spelled(WebhookAttemptData, attempt, error=attempt.error or None) for attempt in step.attempts],
    )


def customer_journeys_data(customer_id: str, page: CustomerTriggersPage) -> CustomerJourneysData:
    return {
        "customerId": customer_id,
        "triggers": [_customer_trigger_data(trigger) for trigger in page.triggers],
        "nextCursor": written_cursor([page.last.queued_ms, page.last.journey_id]) if page.last else None,
    }


def _customer_trigger_data(trigger: CustomerTrigger) -> CustomerTriggerData:
    return spelled(
        CustomerTriggerData,
        trigger,
        result=trigger.result or None,
        reason=trigger.reason or None,
        enrollment=_triggered_enrollment_data(trigger.enrollment) if trigger.enrollment else None,
    )


def _triggered_enrollment_data(enrollment: TriggeredEnrollment) -> TriggeredEnrollmentData:
    return spelled(
        TriggeredEnrollmentData,
        enrollment,
        enrollmentId=enrollment.id,
        stepId=enrollment.step_id or None,
        exitReason=enrollment.exit_reason or None,
    )
