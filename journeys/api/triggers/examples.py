"""Requests and answers of the trigger and its look-ups, as the OpenAPI document shows them."""

from customers.api.path_ids import ADA, BOB
from journeys.api.triggers.answers import (
    BULK_NOTE,
    EXCLUDED_NOTE,
    SINGLE_NOTE,
    ExcludedOneData,
    QueuedManyData,
    QueuedOneData,
)
from journeys.api.triggers.dry_run_answers import (
    DryRunData,
    RehearsalData,
    RehearsedEndData,
    RehearsedStepData,
    RehearsedWebhookData,
    TriedCustomerData,
)
from journeys.api.triggers.left_out_answers import NamedCustomerData
from journeys.job_ids import job_id

JOURNEY = "68a1f0c2e4b0a1d2c3e4f502"
TRIGGER = "6a0b1c2de4b0a1d2c3e4f503"
QUEUED_AT = "2026-11-20T19:08:00.123Z"
ADAS_JOB, BOBS_JOB = (job_id(journey_id=JOURNEY, customer_id=who, queued_ms=1795201680123) for who in (ADA, BOB))

TRIGGERS = {
    "One customer": {"external_id": "ada", "payload": {"orderId": "A-1042", "total": 59.9}},
    "One customer by e-mail address": {"email": "ada@example.com"},
    "Many customers": {"external_ids": ["ada", "bob"], "payload": {"campaign": "spring"}},
    "A segment without one member": {"segment_ids": ["68a1f0c2e4b0a1d2c3e4f5b1"], "exclude_external_ids": ["bob"]},
}
SINGLE = QueuedOneData(
    customerId=ADA,
    journeyId=JOURNEY,
    status="queued",
    queued=True,
    jobId=ADAS_JOB,
    triggerId=TRIGGER,
    note=SINGLE_NOTE,
)
BULK = QueuedManyData(
    journeyId=JOURNEY,
    status="queued",
    queued=True,
    customersEnrolled=2,
    triggerId=TRIGGER,
    note=BULK_NOTE,
    customerIds=[ADA, BOB],
    jobIds=[ADAS_JOB, BOBS_JOB],
)
NOBODY: QueuedManyData = {**BULK, "customersEnrolled": 0, "customerIds": [], "jobIds": []}
EXCLUDED = ExcludedOneData(
    customerId=ADA,
    journeyId=JOURNEY,
    status="excluded",
    queued=False,
    jobId=None,
    triggerId=None,
    note=EXCLUDED_NOTE,
)
_ADA_WOULD_ENTER = TriedCustomerData(
    customerId=ADA, external_id="ada", result="enrolled", reason="The customer met the entry rules.", details=[]
)
DRY_RUN = DryRunData(
    journeyId=JOURNEY,
    status="dry_run",
    queued=False,
    unknownExternalIds=[],
    excluded=[],
    notInSegments=[],
    customers=[_ADA_WOULD_ENTER],
    found=1,
    results={"enrolled": 1},
    rehearsal=RehearsalData(
        steps=[
            RehearsedStepData(
                at=QUEUED_AT,
                stepId="tell-sales",
                type="webhook",
                state="waiting",
                detail="Sends POST to shop.example.",
                missing=["customer.first_name"],
                because=[],
                request=RehearsedWebhookData(
                    method="POST",
                    url="https://shop.example/orders",
                    headers={"Content-Type": "application/json"},
                    body='{"order":"A-1042","name":""}',
                ),
                writes=None,
                event=None,
            )
        ],
        end=RehearsedEndData(state="completed", reason="The last step is done."),
    ),
)
BULK_DRY_RUN = DryRunData(
    journeyId=JOURNEY,
    status="dry_run",
    queued=False,
    unknownExternalIds=["nobody"],
    excluded=[NamedCustomerData(customerId=BOB, external_id="bob")],
    notInSegments=[],
    customers=[
        {
            **_ADA_WOULD_ENTER,
            "result": "already_enrolled",
            "reason": "The customer was in the journey already: enrollment 6a0b1c2fe4b0a1d2c3e4f504.",
        }
    ],
    found=1,
    results={"already_enrolled": 1},
)
