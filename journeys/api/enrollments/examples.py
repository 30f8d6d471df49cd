"""Requests and answers about enrollments, as the OpenAPI document shows them."""

from customers.examples import ADA
from engage.http.paging import written_cursor
from journeys.api.enrollments.answers import (
    CustomerJourneysData,
    CustomerTriggerData,
    EnrollmentData,
    EnrollmentHistoryData,
    EnrollmentStepData,
    TriggeredEnrollmentData,
    WebhookAttemptData,
    WebhookData,
)
from journeys.api.triggers.examples import ADAS_JOB, JOURNEY, QUEUED_AT, TRIGGER
from journeys.job_ids import job_id

ENROLLMENT = "6a0b1c2fe4b0a1d2c3e4f504"
_ENTERED_AT, _ENDED_AT = "2026-11-20T19:08:00.310Z", "2026-11-21T08:15:00.000Z"
EXITS = {"Refunded": {"reason": "The order was refunded."}}

EXITED = EnrollmentData(
    enrollmentId=ENROLLMENT,
    journeyId=JOURNEY,
    journeyName="Order follow-up",
    revision=3,
    customerId=ADA,
    triggerId=TRIGGER,
    jobId=ADAS_JOB,
    state="exited",
    stepId="tell-shop",
    awaitsEvent=None,
    goesOnAt=None,
    exitReason="The order was refunded.",
    error=None,
    enteredAt=_ENTERED_AT,
    endedAt=_ENDED_AT,
)
HISTORY: EnrollmentHistoryData = {
    **EXITED,
    "state": "active",
    "goesOnAt": "2026-11-20T19:13:02.000Z",
    "exitReason": None,
    "endedAt": None,
    "steps": [
        EnrollmentStepData(
            ordinal=0,
            stepId="note",
            type="update_profile",
            state="done",
            detail="Wrote last_order.",
            missing=["api.payload.coupon"],
            because=[],
            eventId=None,
            beganAt=_ENTERED_AT,
            endedAt=_ENTERED_AT,
            webhook=None,
        ),
        EnrollmentStepData(
            ordinal=1,
            stepId="tell-shop",
            type="webhook",
            state="waiting",
            detail="Sends POST to shop.example.",
            missing=[],
            because=[],
            eventId=None,
            beganAt=_ENTERED_AT,
            endedAt=None,
            webhook=WebhookData(
                webhookId=f"msg_{ENROLLMENT}_1",
                method="POST",
                url="https://shop.example/orders",
                headers={"Content-Type": "application/json", "Authorization": "***"},
                body='{"orderId":"A-1042"}',
                state="waiting",
                result=None,
                waitsBecause=None,
                attemptsMade=1,
                nextAttemptAt="2026-11-20T19:13:02.000Z",
                attempts=[
                    WebhookAttemptData(
                        number=1,
                        at="2026-11-20T19:08:00.420Z",
                        milliseconds=2004,
                        status=503,
                        answer="Back soon.",
                        error=None,
                    )
                ],
            ),
        ),
    ],
    "stepsBegun": 2,
    "nextCursor": None,
}
CUSTOMER_JOURNEYS = CustomerJourneysData(
    customerId=ADA,
    triggers=[
        CustomerTriggerData(
            journeyId=JOURNEY,
            journeyName="Order follow-up",
            triggerId="6a0b1c31e4b0a1d2c3e4f507",
            form="single",
            eventId="6a0b1c31e4b0a1d2c3e4f5e2",
            eventName="ordered",
            jobId=job_id(journey_id=JOURNEY, customer_id=ADA, queued_ms=1795201683007),
            status="decided",
            result="already_enrolled",
            reason="The customer was in the journey already: enrollment 6a0b1c2fe4b0a1d2c3e4f504.",
            details=[],
            queuedAt="2026-11-20T19:08:03.007Z",
            decidedAt="2026-11-20T19:08:03.090Z",
            enrollment=None,
        ),
        CustomerTriggerData(
            journeyId=JOURNEY,
            journeyName="Order follow-up",
            triggerId=TRIGGER,
            form="single",
            eventId=None,
            eventName=None,
            jobId=ADAS_JOB,
            status="decided",
            result="enrolled",
            reason="The customer met the entry rules.",
            details=[],
            queuedAt=QUEUED_AT,
            decidedAt=_ENTERED_AT,
            enrollment=TriggeredEnrollmentData(
                enrollmentId=ENROLLMENT,
                state="exited",
                stepId="tell-shop",
                goesOnAt=None,
                exitReason="The order was refunded.",
                enteredAt=_ENTERED_AT,
                endedAt=_ENDED_AT,
            ),
        ),
    ],
    nextCursor=written_cursor([1795201680123, JOURNEY]),
)
