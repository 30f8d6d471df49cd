"""The calls about what became of triggers: their jobs, one by one and counted, and taking one back."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import partial
from typing import Annotated, ClassVar

from customers.api.path_ids import ADA, BOB
from customers.audience.selection import LeftOut, NamedCustomer
from engage.calls.asked import Asked
from engage.calls.call import PathId, delete, get
from engage.calls.queries import AFTER, CURSOR, LIMIT
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest
from engage.http.paging import DEPRECATED, NEXT, NEXT_CURSOR, begin_of, cursor_of, place_of, written_place
from engage.json.fields import LEFT_OUT, Whole, filled
from engage.json.keywords import Keywords, known
from engage.scopes import Scope
from journeys.engine.jobs import cancellation
from journeys.engine.jobs.cancellation import CANCELLED_BY_A_CALL, JobAlreadyDecided
from journeys.engine.jobs.of_trigger import WantedJobs, trigger_jobs_page
from journeys.engine.jobs.states import JobNotFound, JobState, job_state
from journeys.engine.jobs.trigger_states import CallForMany, TriggerState, trigger_state
from journeys.faces.path_ids import ADAS_JOB, BOBS_JOB, JOURNEY_ID
from journeys.faces.path_ids import TRIGGER_ID as OF_TRIGGER
from journeys.models import EnrollmentJob
from journeys.models.choices import ElseStoodFor
from journeys.rules.job_ids import parse_job_id


def _journey_of_job(*, workspace_id: str, job_id: str) -> str | None:
    parts = parse_job_id(job_id)
    return parts.journey_id if parts else None


_JOB_ID = PathId(
    name="jobId",
    description="The `jobId` returned by the trigger call.",
    example=ADAS_JOB,
    missing=JobNotFound,
    journey_of=_journey_of_job,
)
_TRIGGER_ID = replace(OF_TRIGGER, description="The `triggerId` returned by the trigger call.", find=None)


@dataclass(frozen=True, kw_only=True)
class JobsQuery:
    """Which jobs, and which page of them."""

    status: Annotated[EnrollmentJob.Status | None, "Return only jobs with this status."] = None
    result: Annotated[EnrollmentJob.Result | None, "Return only jobs with this result."] = None
    limit: Annotated[int, LIMIT, Whole(most=1000)] = 100
    after: Annotated[int | None, AFTER, place_of(int)] = None
    cursor: Annotated[int | None, CURSOR, DEPRECATED, cursor_of(int)] = None


@dataclass(frozen=True, kw_only=True)
class LeftOutCounts:
    """How many a call left out."""

    unknown: Annotated[
        int, "The number of `external_ids`, or of `recipients`, that no customer had.", Keywords(minimum=0)
    ]
    excluded: Annotated[int, "The number of customers left out because of `exclude_external_ids`.", Keywords(minimum=0)]
    not_in_segments: Annotated[
        int, "The number of customers in `external_ids` who were in none of the segments.", Keywords(minimum=0)
    ]


@dataclass(frozen=True, kw_only=True)
class CallSent(LeftOut):
    """What a call for many customers said, and whom it left out, as of the moment of the call."""

    schema_name: ClassVar = "Call"

    external_ids: Annotated[
        int,
        "The number of different `external_ids` in the call, or of the `recipients` that were not refused at once.",
        Keywords(minimum=0),
    ]
    segment_ids: Annotated[Sequence[ObjectId], "The `segment_ids` of the call."]
    exclusions: Annotated[
        Sequence[NamedCustomer], "The customers in `exclude_external_ids`, selected otherwise or not."
    ]
    unknown_exclusions: Annotated[Sequence[str], "The `exclude_external_ids` that no customer had, in the order sent."]
    unknown_recipients: Annotated[
        Sequence[int] | None,
        "The places, from 0, of the `recipients` that no customer was. Omitted if the call had no recipients.",
        LEFT_OUT,
    ] = None
    left_out: Annotated[
        LeftOutCounts,
        "The numbers of those left out. `unknownExternalIds` lists fewer than `unknown` once a customer with such an "
        "external id was erased.",
    ]

    @classmethod
    def of(cls, call: CallForMany) -> "CallSent":
        return cls(
            **vars(call.left_out),
            external_ids=call.named,
            segment_ids=call.segment_ids,
            exclusions=call.exempt,
            unknown_exclusions=call.unknown_exclusions,
            unknown_recipients=call.unknown_recipients,
            left_out=LeftOutCounts(
                unknown=call.unknown,
                excluded=len(call.left_out.excluded),
                not_in_segments=len(call.left_out.not_in_segments),
            ),
        )


@dataclass(frozen=True, kw_only=True)
class TriggerSent:
    """What became of all the jobs of one call."""

    schema_name: ClassVar = "Trigger"

    trigger_id: Annotated[ObjectId, "The trigger's id."]
    journey_id: Annotated[ObjectId, "The journey's id."]
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
    queued_at: datetime
    scheduled_for: Annotated[
        datetime | None, "When the next of its jobs is due; omitted if none is scheduled for later.", LEFT_OUT
    ] = None
    expires_at: Annotated[
        datetime | None, "The call's `expiresAt`: what is not decided by then is decided `expired`.", LEFT_OUT
    ] = None
    else_stood_in: ElseStoodFor = None
    api_key_id: Annotated[
        ObjectId | None, "The id of the API key that sent the call; null if an event was the trigger, or if unknown."
    ]
    api_key_name: Annotated[str | None, "The API key's name; null if `apiKeyId` is null."]
    call: Annotated[
        CallSent | None,
        "What a call for many customers said, and whom it left out; null if the trigger was for one customer, or if "
        "unknown.",
    ]

    @classmethod
    def of(cls, trigger: TriggerState) -> "TriggerSent":
        return filled(
            cls,
            trigger,
            api_key_id=trigger.key.id if trigger.key else None,
            api_key_name=trigger.key.name if trigger.key else None,
            call=CallSent.of(trigger.call) if trigger.call else None,
        )


@dataclass(frozen=True, kw_only=True)
class TriggerJobs:
    """A page of a trigger's jobs."""

    trigger_id: Annotated[ObjectId, "The trigger's id."]
    jobs: Annotated[Sequence[JobState], "The jobs, in the order of the `jobIds` that the call returned."]
    next: Annotated[str | None, NEXT]
    next_cursor: Annotated[str | None, NEXT_CURSOR, DEPRECATED]


_QUEUED_AT = datetime(2026, 11, 20, 19, 8, 0, 123000, tzinfo=UTC)
_QUEUED = JobState(
    job_id=ADAS_JOB,
    trigger_id=_TRIGGER_ID.example,
    ordinal=0,
    journey_id=JOURNEY_ID.example,
    customer_id=ADA,
    external_id="ada",
    status="queued",
    result=None,
    reason=None,
    details=[],
    enrollment_id=None,
    queued_at=_QUEUED_AT,
    decided_at=None,
)
_ENROLLED = replace(
    _QUEUED,
    status="decided",
    result="enrolled",
    reason="The customer met the entry rules.",
    enrollment_id="6a0b1c2fe4b0a1d2c3e4f504",
    decided_at=datetime(2026, 11, 20, 19, 8, 0, 310000, tzinfo=UTC),
)
_CANCELLED = replace(_ENROLLED, status="cancelled", result="cancelled", reason=CANCELLED_BY_A_CALL, enrollment_id=None)
_BOBS = replace(
    _ENROLLED,
    job_id=BOBS_JOB,
    customer_id=BOB,
    external_id="bob",
    result="conditions_not_met",
    reason="The customer did not meet the journey's entry conditions.",
    details=['customer.plan is "free", wanted "pro"'],
    enrollment_id=None,
)
_DECIDED = TriggerSent(
    trigger_id=_TRIGGER_ID.example,
    journey_id=JOURNEY_ID.example,
    customers=2,
    queued=0,
    decided=2,
    failed=0,
    cancelled=0,
    results={"conditions_not_met": 1, "enrolled": 1},
    queued_at=_QUEUED_AT,
    api_key_id="68a1f0c2e4b0a1d2c3e4f5a1",
    api_key_name="shop",
    call=CallSent(
        external_ids=4,
        segment_ids=["68a1f0c2e4b0a1d2c3e4f5b1"],
        exclusions=[],
        unknown_exclusions=[],
        left_out=LeftOutCounts(unknown=1, excluded=0, not_in_segments=1),
        unknown=["nobody"],
        not_in_segments=[NamedCustomer(customer_id="68a1f0c2e4b0a1d2c3e4f5c9", external_id="cy")],
    ),
)

# Whoever triggers may see what became of it.
_look_up = partial(get, scope=Scope.TRIGGER, policy="lookup", tag="Journeys")


@_look_up(
    path="journeys/{workspaceId}/jobs/{jobId}",
    ids=[_JOB_ID],
    says="The job as it stands.",
    answer="The current state of the job.",
    examples={"Enrolled": _ENROLLED, "Still queued": _QUEUED},
)
def get_job(asked: Asked[None, None], job_id: str) -> JobState:
    """Get a job

    Returns the status and the result of a job. A job is one customer queued by one trigger. A worker decides it by the
    journey's entry rules.
    """
    return job_state(workspace_id=asked.workspace_id, job_id=job_id)


@delete(
    path="journeys/{workspaceId}/jobs/{jobId}",
    scope=Scope.TRIGGER,
    policy="lookup",
    tag="Journeys",
    ids=[_JOB_ID],
    says="The job is cancelled and will enroll no customer.",
    answer="The job is cancelled.",
    examples={"Cancelled": _CANCELLED},
    refuses=[
        JobAlreadyDecided("The job is not queued any more: its result is 'enrolled'. The customer met the entry rules.")
    ],
)
def cancel_job(asked: Asked[None, None], job_id: str) -> JobState:
    """Cancel a queued job

    Takes one customer out of a trigger before a worker decides the job. It takes effect at once: a cancelled job never
    enrolls its customer. Cancelling it again changes nothing and returns the same answer.
    """
    return cancellation.cancel_job(workspace_id=asked.workspace_id, job_id=job_id)


@_look_up(
    path="journeys/{workspaceId}/triggers/{triggerId}",
    ids=[_TRIGGER_ID],
    says="The trigger as it stands.",
    answer="The current state of the trigger.",
    answer_name="TriggerStateAnswer",
    examples={"All decided, two left out": _DECIDED},
)
def get_trigger(asked: Asked[None, None], trigger_id: str) -> TriggerSent:
    """Get a trigger

    Returns the number of a trigger's jobs by status and by result. For a call for many customers, it also returns whom
    the call left out, and why. If the trigger queued fewer than 10,000 customers, jobs pruned because of their age
    are no longer counted.
    """
    return TriggerSent.of(trigger_state(workspace_id=asked.workspace_id, trigger_id=trigger_id))


@_look_up(
    path="journeys/{workspaceId}/triggers/{triggerId}/jobs",
    ids=[_TRIGGER_ID],
    says="The trigger's jobs as they stand.",
    answer="A page of jobs. The list is empty if the trigger has no such job.",
    examples={
        "One enrolled, one refused": TriggerJobs(
            trigger_id=_TRIGGER_ID.example, jobs=[_ENROLLED, _BOBS], next=None, next_cursor=None
        )
    },
    refuses=[InvalidRequest(f"status must be one of {', '.join(EnrollmentJob.Status.values)}, not 'done'.")],
)
def list_trigger_jobs(asked: Asked[None, JobsQuery], trigger_id: str) -> TriggerJobs:
    """List a trigger's jobs

    Returns what became of each customer queued by a trigger, in the order of its `jobIds`. Filter the jobs by `result`
    or `status` to see, for example, only those that failed. Pages have 100 jobs by default and at most 1000 (`limit`).
    Jobs pruned because of their age are not included.
    """
    query = asked.query
    begin = begin_of(query)
    page = trigger_jobs_page(
        workspace_id=asked.workspace_id,
        trigger_id=trigger_id,
        wanted=WantedJobs(status=query.status and query.status.value, result=query.result and query.result.value),
        after=-1 if begin is None else begin,
        limit=query.limit,
    )
    following = None if page.last is None else written_place(page.last)
    return TriggerJobs(trigger_id=page.trigger_id, jobs=page.jobs, next=following, next_cursor=following)
