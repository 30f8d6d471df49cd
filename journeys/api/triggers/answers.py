"""The trigger's and the look-ups' answers, as the interface spells them."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Annotated, Literal, NotRequired, TypedDict

from engage.database.object_ids import ObjectId
from engage.http.envelope import Success
from engage.http.paging import NEXT_CURSOR, written_cursor
from engage.http.spelling import spelled
from engage.json.compact import ascii_json
from engage.json.instants import Instant
from engage.json.keywords import Keywords, OneOf, known
from journeys.api.triggers.dry_run_answers import DryRunData
from journeys.api.triggers.left_out_answers import LeftOutData, NamedCustomerData, left_out_data, named_data
from journeys.entering.trigger import Excluded, QueuedMany, QueuedOne
from journeys.jobs.of_trigger import TriggerJobsPage
from journeys.jobs.states import JobState
from journeys.jobs.trigger_states import CallForMany, TriggerState
from journeys.models import EnrollmentJob
from journeys.models.choices import JobDetails, JobResult, JobStatus

SINGLE_MESSAGE = "The customer is queued for the journey."
EXCLUDED_MESSAGE = "The customer is on the call's list of exclusions; nothing was queued."
BULK_MESSAGE = "The customers are queued for the journey."
NOBODY_MESSAGE = "The call selected nobody: nothing is queued."
SINGLE_NOTE = "The enrollment is created by a worker after entry-rule validation."
BULK_NOTE = "The enrollments are created by a worker after entry-rule validation."
EXCLUDED_NOTE = "No enrollment will be created."
JOB_MESSAGE = "The job as it stands."
CANCELLED_MESSAGE = "The job is cancelled; nobody will be enrolled by it."
TRIGGER_MESSAGE = "The trigger as it stands."
TRIGGER_JOBS_MESSAGE = "The trigger's jobs as they stand."


class QueuedOneData(TypedDict):
    """One customer, queued."""

    customerId: Annotated[ObjectId, "The customer's id."]
    journeyId: Annotated[ObjectId, "The journey's id."]
    status: Literal["queued"]
    queued: Annotated[Literal[True], "False if the customer is excluded, and for a dry run."]
    jobId: Annotated[str, "The id of the job; null if nothing was queued. `GET …/jobs/{jobId}` returns its result."]
    triggerId: Annotated[
        ObjectId,
        "The id of this trigger; null if nothing was queued. `GET …/triggers/{triggerId}` returns its progress.",
    ]
    note: Annotated[
        str, "States that a worker creates the enrollments after checking the entry rules, or creates none."
    ]


class ExcludedOneData(TypedDict):
    """The call excludes its own customer: nothing was queued."""

    customerId: Annotated[ObjectId, "The customer's id."]
    journeyId: Annotated[ObjectId, "The journey's id."]
    status: Literal["excluded"]
    queued: Literal[False]
    jobId: None
    triggerId: None
    note: Annotated[str, "States that no enrollment will be created."]


class QueuedManyData(TypedDict):
    """Many customers, queued. `Prefer: return=minimal` leaves the two arrays out."""

    journeyId: Annotated[ObjectId, "The journey's id."]
    status: Literal["queued"]
    queued: Literal[True]
    customersEnrolled: Annotated[
        int, "The number of customers queued; 0 if the call selects none.", Keywords(minimum=0)
    ]
    triggerId: Annotated[ObjectId, "The id of this trigger. `GET …/triggers/{triggerId}` returns its progress."]
    note: Annotated[str, "States that a worker creates the enrollments after checking the entry rules."]
    customerIds: NotRequired[Annotated[list[ObjectId], "The ids of the customers queued."]]
    jobIds: NotRequired[Annotated[list[str], "The ids of their jobs, in the same order."]]


Triggered = Annotated[QueuedOneData | QueuedManyData | ExcludedOneData | DryRunData, OneOf("Triggered")]


class JobData(TypedDict):
    """What became of one job."""

    jobId: Annotated[str, "The job's id."]
    triggerId: Annotated[ObjectId, "The id of the trigger that queued the job."]
    journeyId: Annotated[ObjectId, "The journey's id."]
    customerId: Annotated[ObjectId, "The customer's id."]
    external_id: Annotated[
        str | None, "The customer's id in your own system; null if there is none, or if the customer was erased."
    ]
    status: Annotated[
        JobStatus,
        "`queued` until a worker decides the job, then `decided`, or `failed` if it could not be decided; "
        "`cancelled` if a call cancelled it.",
    ]
    result: Annotated[JobResult | None, "The decision; null while the job is queued."]
    reason: Annotated[str | None, "The reason for the result, as text; null while the job is queued."]
    details: JobDetails
    enrollmentId: Annotated[ObjectId | None, "The enrollment's id; null if there is none."]
    queuedAt: Instant
    decidedAt: Annotated[Instant | None, "When the job was decided, failed or was cancelled; null while it is queued."]


class LeftOutCountsData(TypedDict):
    """How many a call left out."""

    unknown: Annotated[int, "The number of `external_ids` that no customer had.", Keywords(minimum=0)]
    excluded: Annotated[int, "The number of customers left out because of `exclude_external_ids`.", Keywords(minimum=0)]
    notInSegments: Annotated[
        int, "The number of customers in `external_ids` who were in none of the segments.", Keywords(minimum=0)
    ]


class CallData(LeftOutData):
    """What a call for many customers said, and whom it left out, as of the moment of the call."""

    externalIds: Annotated[int, "The number of different `external_ids` in the call.", Keywords(minimum=0)]
    segmentIds: Annotated[list[ObjectId], "The `segment_ids` of the call."]
    exclusions: Annotated[
        list[NamedCustomerData], "The customers in `exclude_external_ids`, selected otherwise or not."
    ]
    unknownExclusions: Annotated[list[str], "The `exclude_external_ids` that no customer had, in the order sent."]
    leftOut: Annotated[
        LeftOutCountsData,
        "The numbers of those left out. `unknownExternalIds` lists fewer than `unknown` once a customer with such an "
        "external id was erased.",
    ]


class TriggerData(TypedDict):
    """What became of all the jobs of one call."""

    triggerId: Annotated[ObjectId, "The trigger's id."]
    journeyId: Annotated[ObjectId, "The journey's id."]
    customers: Annotated[int, "The number of customers queued by the trigger; each has one job."]
    queued: Annotated[int, "The number of jobs that are waiting for a worker."]
    decided: Annotated[int, "The number of jobs that have been decided."]
    failed: Annotated[int, "The number of jobs that could not be decided."]
    cancelled: Annotated[int, "The number of jobs cancelled by a call before they were decided."]
    results: Annotated[
        Mapping[str, int],
        "The number of jobs with each result. Results without jobs are omitted.",
        Keywords(propertyNames={"type": "string", **known(EnrollmentJob.Result.values).schema}),
    ]
    queuedAt: Instant
    apiKeyId: Annotated[
        ObjectId | None, "The id of the API key that sent the call; null if an event was the trigger, or if unknown."
    ]
    apiKeyName: Annotated[str | None, "The API key's name; null if `apiKeyId` is null."]
    call: Annotated[
        CallData | None,
        "What a call for many customers said, and whom it left out; null if the trigger was for one customer, or if "
        "unknown.",
    ]


class TriggerJobsData(TypedDict):
    """A page of a trigger's jobs."""

    triggerId: Annotated[ObjectId, "The trigger's id."]
    jobs: Annotated[list[JobData], "The jobs, in the order of the `jobIds` that the call returned."]
    nextCursor: Annotated[str | None, NEXT_CURSOR]


def single_data(queued: QueuedOne) -> QueuedOneData:
    return {
        "customerId": queued.customer_id,
        "journeyId": queued.trigger.journey_id,
        "status": "queued",
        "queued": True,
        "jobId": queued.job_id,
        "triggerId": queued.trigger.id,
        "note": SINGLE_NOTE,
    }


def excluded_data(excluded: Excluded) -> ExcludedOneData:
    return {
        "customerId": excluded.customer_id,
        "journeyId": excluded.journey_id,
        "status": "excluded",
        "queued": False,
        "jobId": None,
        "triggerId": None,
        "note": EXCLUDED_NOTE,
    }


def bulk_data(queued: QueuedMany) -> QueuedManyData:
    """Everything but the two arrays."""
    return {
        "journeyId": queued.trigger.journey_id,
        "status": "queued",
        "queued": True,
        "customersEnrolled": queued.trigger.customers,
        "triggerId": queued.trigger.id,
        "note": BULK_NOTE,
    }


def bulk_message(queued: QueuedMany) -> str:
    return BULK_MESSAGE if queued.trigger.customers else NOBODY_MESSAGE


def bulk_pieces(queued: QueuedMany) -> Iterator[str]:
    """The whole bulk answer in pieces: a million customers take no more memory than a thousand."""
    envelope: Success[QueuedManyData] = {"success": True, "message": bulk_message(queued), "data": bulk_data(queued)}
    yield ascii_json(envelope)[:-2]  # without the braces that close `data` and the envelope
    yield from _array("customerIds", queued.pages_of_customer_ids())
    yield from _array("jobIds", queued.pages_of_job_ids())
    yield "}}"


def _array(name: str, pages: Iterable[list[str]]) -> Iterator[str]:
    yield f',"{name}":['
    for number, page in enumerate(pages):
        yield ("," if number else "") + ascii_json(page)[1:-1]
    yield "]"


def job_data(job: JobState) -> JobData:
    return spelled(JobData, job)


def trigger_data(trigger: TriggerState) -> TriggerData:
    return spelled(
        TriggerData,
        trigger,
        apiKeyId=trigger.key.id if trigger.key else None,
        apiKeyName=trigger.key.name if trigger.key else None,
        call=_call_data(trigger.call) if trigger.call else None,
    )


def _call_data(call: CallForMany) -> CallData:
    left_out = call.left_out
    return {
        "externalIds": call.named,
        "segmentIds": list(call.segment_ids),
        "exclusions": [named_data(customer) for customer in call.exempt],
        "unknownExclusions": list(call.unknown_exclusions),
        "leftOut": {
            "unknown": call.unknown,
            "excluded": len(left_out.excluded),
            "notInSegments": len(left_out.not_in_segments),
        },
        **left_out_data(left_out),
    }


def trigger_jobs_data(page: TriggerJobsPage) -> TriggerJobsData:
    return {
        "triggerId": page.trigger_id,
        "jobs": [job_data(job) for job in page.jobs],
        "nextCursor": None if page.last is None else written_cursor([page.last]),
    }
