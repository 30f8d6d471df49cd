"""Response bodies about enrollments, as the API spells them."""

from collections.abc import Mapping
from typing import Annotated, TypedDict

from engage.keywords import Keywords
from engage.object_ids import ObjectId
from engage.paging import written_cursor
from engage.times import Instant, iso_utc, iso_utc_or_none
from journeys.enrollments.by_customer import CustomerTrigger, CustomerTriggersPage, TriggeredEnrollment
from journeys.enrollments.states import MOST_ATTEMPTS, EnrollmentState, HistoryPage, RecordedStep
from journeys.models import Enrollment, EnrollmentJob, StepRun, Trigger, WebhookAttempt, WebhookDelivery
from journeys.redaction import url_without_secrets, without_secrets

ENROLLMENT_MESSAGE = "The enrollment as it stands."
EXITED_MESSAGE = "The enrollment is exited; no step follows."
TRIGGERS_MESSAGE = "What named the customer for journeys, newest first."

_STATE = Keywords(enum=[*Enrollment.State.values])
_GOES_ON = (
    "When it goes on: the end of a wait, or the next attempt of a webhook. null where it has ended or is being sent."
)
_NEXT_CURSOR = "Send it as `cursor` to read on; null on the last page."


class AttemptData(TypedDict):
    """One attempt to send a webhook."""

    number: Annotated[int, "From 1.", Keywords(minimum=1)]
    at: Instant
    milliseconds: Annotated[int, "How long it took."]
    status: Annotated[int | None, "The HTTP status; null where no answer came."]
    answer: Annotated[str, "The first 4 KiB of the answer."]
    error: Annotated[str | None, "What went wrong; null where an answer came."]


class WebhookData(TypedDict):
    """The request of a webhook step, and its result."""

    webhookId: Annotated[str, "What the receiver sees as `webhook-id`, the same on every attempt."]
    method: str
    url: Annotated[str, "Values of query parameters that look like credentials are hidden."]
    headers: Annotated[
        Mapping[str, str], "The journey's own, without the signature; values that look like credentials are hidden."
    ]
    body: Annotated[str | None, "The JSON that is sent, as text; null where there is none."]
    state: Annotated[
        str,
        "`waiting` while it is tried; `dropped` where the enrollment ended first.",
        Keywords(enum=[*WebhookDelivery.State.values]),
    ]
    result: Annotated[str | None, "What it came to, in words; null while it is tried."]
    attemptsMade: Annotated[int, "How many attempts there were."]
    nextAttemptAt: Annotated[Instant | None, "When it is tried next; null unless it waits."]
    attempts: Annotated[
        list[AttemptData], f"The latest {MOST_ATTEMPTS}, in their order.", Keywords(maxItems=MOST_ATTEMPTS)
    ]


class StepData(TypedDict):
    """One step in an enrollment's history."""

    ordinal: Annotated[int, "Its place in the history, from 0; in a loop a step stands there more than once."]
    stepId: str
    type: Annotated[str, "The step's type; empty where the enrollment was given up before it was known."]
    state: Annotated[
        str,
        "`interrupted` where the enrollment ended while the step waited.",
        Keywords(enum=[*StepRun.State.values]),
    ]
    detail: Annotated[str, "What it came to, in words."]
    missing: Annotated[list[str], "The names in its templates that had no value."]
    eventId: Annotated[ObjectId | None, "The event that it recorded."]
    beganAt: Instant
    endedAt: Annotated[Instant | None, "null while it waits."]
    webhook: Annotated[WebhookData | None, "Of a webhook step that was rendered."]


class EnrollmentData(TypedDict):
    """One customer's path through one journey."""

    enrollmentId: Annotated[ObjectId, "The enrollment's id."]
    journeyId: Annotated[ObjectId, "The journey."]
    journeyName: str
    revision: Annotated[int, "The number of the revision of the journey's steps that it walks.", Keywords(minimum=1)]
    customerId: Annotated[ObjectId, "The customer."]
    triggerId: Annotated[ObjectId | None, "What named the customer; null once its job is pruned."]
    jobId: Annotated[str | None, "The job that it came of; null once that is pruned."]
    state: Annotated[str, "`exited` is an early end, with a reason.", _STATE]
    stepId: Annotated[str | None, "Where it stands, or stood at the end; null in a journey without steps."]
    awaitsEvent: Annotated[str | None, "The name of the event that it waits for."]
    goesOnAt: Annotated[Instant | None, _GOES_ON]
    exitReason: Annotated[str | None, "Why it was exited, in words."]
    error: Annotated[str | None, "Why the last attempt to go on failed, where it is tried again."]
    enteredAt: Instant
    endedAt: Annotated[Instant | None, "null while it is active."]


class EnrollmentHistoryData(EnrollmentData):
    """One customer's path through one journey, with a page of its steps."""

    steps: Annotated[list[StepData], "What the steps came to, in their order."]
    stepsBegun: Annotated[int, "How many steps the whole history has."]
    nextCursor: Annotated[str | None, _NEXT_CURSOR]


class TriggeredEnrollmentData(TypedDict):
    """The enrollment that a trigger led to."""

    enrollmentId: Annotated[ObjectId, "The enrollment's id; its own look-up tells its history."]
    state: Annotated[str, "`exited` is an early end, with a reason.", _STATE]
    stepId: Annotated[str | None, "Where it stands, or stood at the end; null in a journey without steps."]
    goesOnAt: Annotated[Instant | None, _GOES_ON]
    exitReason: Annotated[str | None, "Why it was exited, in words."]
    enteredAt: Instant
    endedAt: Annotated[Instant | None, "null while it is active."]


class CustomerTriggerData(TypedDict):
    """One trigger that named the customer, and what was decided."""

    journeyId: Annotated[ObjectId, "The journey."]
    journeyName: str
    triggerId: Annotated[ObjectId, "The call or the event that named the customer."]
    form: Annotated[str, "Whether it named one customer or many.", Keywords(enum=[*Trigger.Form.values])]
    eventId: Annotated[ObjectId | None, "The event, where one named the customer."]
    eventName: Annotated[str | None, "The event's name."]
    jobId: Annotated[str, "The job."]
    status: Annotated[str, "`queued` until it is decided.", Keywords(enum=[*EnrollmentJob.Status.values])]
    result: Annotated[
        str | None, "What was decided; null while it is queued.", Keywords(enum=[*EnrollmentJob.Result.values, None])
    ]
    reason: Annotated[str | None, "Why, or why not, in words; null while it is queued."]
    queuedAt: Instant
    decidedAt: Annotated[Instant | None, "null while it is queued."]
    enrollment: Annotated[TriggeredEnrollmentData | None, "null where the customer was not enrolled."]


class CustomerJourneysData(TypedDict):
    """A page of the triggers that named a customer for journeys."""

    customerId: Annotated[ObjectId, "The customer."]
    triggers: Annotated[list[CustomerTriggerData], "The newest first."]
    nextCursor: Annotated[str | None, _NEXT_CURSOR]


def enrollment_data(state: EnrollmentState) -> EnrollmentData:
    enrollment, job = state.enrollment, state.enrollment.job
    return {
        "enrollmentId": enrollment.id,
        "journeyId": enrollment.journey_id,
        "journeyName": enrollment.journey.name,
        "revision": enrollment.revision.number,
        "customerId": enrollment.customer_id,
        "triggerId": job.trigger_id if job else None,
        "jobId": job.job_id if job else None,
        "state": enrollment.state,
        "stepId": enrollment.step_id or None,
        "awaitsEvent": enrollment.awaits_event or None,
        "goesOnAt": iso_utc_or_none(state.goes_on_at),
        "exitReason": enrollment.exit_reason or None,
        "error": enrollment.error or None,
        "enteredAt": iso_utc(enrollment.entered_at),
        "endedAt": iso_utc_or_none(enrollment.ended_at),
    }


def history_data(state: EnrollmentState, page: HistoryPage) -> EnrollmentHistoryData:
    return {
        **enrollment_data(state),
        "steps": [_step_data(step) for step in page.steps],
        "stepsBegun": state.enrollment.steps_begun,
        "nextCursor": written_cursor([page.last]) if page.last is not None else None,
    }


def _step_data(step: RecordedStep) -> StepData:
    run = step.run
    return {
        "ordinal": run.ordinal,
        "stepId": run.step_id,
        "type": run.type,
        "state": run.state,
        "detail": run.detail,
        "missing": run.missing,
        "eventId": run.event_id,
        "beganAt": iso_utc(run.began_at),
        "endedAt": iso_utc_or_none(run.ended_at),
        "webhook": _webhook_data(step.delivery, step) if step.delivery else None,
    }


def _webhook_data(delivery: WebhookDelivery, step: RecordedStep) -> WebhookData:
    waits = delivery.state == WebhookDelivery.State.WAITING
    return {
        "webhookId": delivery.webhook_id,
        "method": delivery.method,
        "url": url_without_secrets(delivery.url),
        "headers": without_secrets(delivery.headers),
        "body": delivery.body,
        "state": delivery.state,
        "result": delivery.result or None,
        "attemptsMade": delivery.attempts,
        "nextAttemptAt": iso_utc(delivery.due_at) if waits else None,
        "attempts": [_attempt_data(attempt) for attempt in step.attempts],
    }


def _attempt_data(attempt: WebhookAttempt) -> AttemptData:
    return {
        "number": attempt.number,
        "at": iso_utc(attempt.at),
        "milliseconds": attempt.milliseconds,
        "status": attempt.status,
        "answer": attempt.answer,
        "error": attempt.error or None,
    }


def customer_journeys_data(customer_id: str, page: CustomerTriggersPage) -> CustomerJourneysData:
    return {
        "customerId": customer_id,
        "triggers": [_customer_trigger_data(trigger) for trigger in page.triggers],
        "nextCursor": written_cursor([page.last.queued_ms, page.last.journey_id]) if page.last else None,
    }


def _customer_trigger_data(trigger: CustomerTrigger) -> CustomerTriggerData:
    return {
        "journeyId": trigger.journey_id,
        "journeyName": trigger.journey_name,
        "triggerId": trigger.trigger_id,
        "form": trigger.form,
        "eventId": trigger.event_id,
        "eventName": trigger.event_name,
        "jobId": trigger.job_id,
        "status": trigger.status,
        "result": trigger.result or None,
        "reason": trigger.reason or None,
        "queuedAt": iso_utc(trigger.queued_at),
        "decidedAt": iso_utc_or_none(trigger.decided_at),
        "enrollment": _triggered_enrollment_data(trigger.enrollment) if trigger.enrollment else None,
    }


def _triggered_enrollment_data(enrollment: TriggeredEnrollment) -> TriggeredEnrollmentData:
    return {
        "enrollmentId": enrollment.id,
        "state": enrollment.state,
        "stepId": enrollment.step_id or None,
        "goesOnAt": iso_utc_or_none(enrollment.goes_on_at),
        "exitReason": enrollment.exit_reason or None,
        "enteredAt": iso_utc(enrollment.entered_at),
        "endedAt": iso_utc_or_none(enrollment.ended_at),
    }
