"""The trigger and its look-ups in the OpenAPI document."""

from functools import partial

from drf_spectacular.utils import OpenApiParameter

from customers.segments import ErrorResolvingSegments
from engage.errors import InvalidRequest, MissingParameter
from engage.json.reading import ArraySizeExceeded
from engage.schema.bodies import BLANK, NOT_BLANK, Body, at_least_one_of, none_of
from engage.schema.calls import WORKSPACE_ID, ServerCall, bad_page, page_parameters, path_id
from engage.schema.responses import Answer
from journeys.api.triggers import answers, examples
from journeys.api.triggers.dry_run_answers import DRY_RUN_MESSAGE
from journeys.api.triggers.serializers import BULK, DRY_RUN, JOBS, MOST_JOBS, NOBODY_NAMED, SINGLE, TriggerBody
from journeys.entering.trigger import InvalidJourneyType, JourneyNotFound, Recipient
from journeys.jobs.cancellation import JobAlreadyDecided
from journeys.jobs.progress import LARGE_TRIGGER
from journeys.jobs.states import JobNotFound
from journeys.jobs.trigger_states import TriggerNotFound
from journeys.models import EnrollmentJob

_call = partial(ServerCall, tag="Journeys")

_TRIGGER_BODY = Body(
    TriggerBody,
    rules={
        "oneOf": [
            {"title": "One customer"}
            | at_least_one_of(*SINGLE, serializer=TriggerBody, value=NOT_BLANK)
            | none_of(*BULK, serializer=TriggerBody, absent={"type": ["array", "null"], "maxItems": 0}),
            {"title": "Many customers"}
            | at_least_one_of(*BULK, serializer=TriggerBody, value={"type": "array", "minItems": 1})
            | none_of(*SINGLE, serializer=TriggerBody, absent=BLANK),
        ]
    },
)

describe_trigger = _call(
    operation_id="triggerJourney",
    summary="Trigger a journey",
    description="""
Queues one or many customers to enter a journey whose trigger type is API. A worker then checks the journey's entry
rules and creates the enrollments. Look up the job or the trigger to see the result. An event that ends the journey
counts from now on: customers who leave before the worker has come get no step of it.

**One customer:** send `customerId`, `external_id` or `email`. If you send more than one, only the first in this order
is used. The customer must exist: a trigger never creates one.

**Many customers:** send `external_ids`, `segment_ids` or both. With both, only the customers who are in both are
queued. No customer is queued twice.

The two forms cannot be mixed.

**Dry run:** `?dryRun=true` returns what the call would do. It is validated, and can be refused, exactly like the call.
It decides on every customer as a worker would decide now. For one customer, it also goes through the journey's steps on
a virtual clock that skips over waits. Nothing is written and nothing is queued. A dry run counts towards the rate
limit.
""",
    parameters=[
        WORKSPACE_ID,
        path_id("journey_id", "The id of the journey to trigger. The journey must be active."),
        OpenApiParameter(
            DRY_RUN,
            bool,
            OpenApiParameter.QUERY,
            description="`true` for a dry run, which queues nothing. Without it, the call is carried out.",
        ),
        OpenApiParameter(
            "Prefer",
            location=OpenApiParameter.HEADER,
            description="Send `return=minimal` with a call for many customers to omit `customerIds` and `jobIds`, or "
            "the `customers` of a dry run, from the answer.",
        ),
        OpenApiParameter(
            "Preference-Applied",
            location=OpenApiParameter.HEADER,
            description="`return=minimal` if it was requested and applied.",
            response=[200, 202],
        ),
    ],
    body=_TRIGGER_BODY,
    requests=examples.TRIGGERS,
    answers=[
        Answer(
            name="TriggerAnswer",
            status=202,
            data=answers.Triggered,
            description="The customers are queued and the jobs are committed. A worker checks the entry rules later. "
            "If a call for many customers selects nobody, nothing is queued, and the message says so; "
            "look up the trigger to see whom it left out.",
            examples={
                "One customer": (answers.SINGLE_MESSAGE, examples.SINGLE),
                "Many customers": (answers.BULK_MESSAGE, examples.BULK),
                "Nobody selected": (answers.NOBODY_MESSAGE, examples.NOBODY),
            },
        ),
        Answer(
            name="TriggerAnswer",
            data=answers.Triggered,
            description="Nothing was queued: the customer is in the call's own `exclude_external_ids`, or the call was "
            "a dry run.",
            examples={
                "Excluded": (answers.EXCLUDED_MESSAGE, examples.EXCLUDED),
                "Dry run for one customer": (DRY_RUN_MESSAGE, examples.DRY_RUN),
                "Dry run for many": (DRY_RUN_MESSAGE, examples.BULK_DRY_RUN),
            },
        ),
    ],
    refusals=[
        MissingParameter(NOBODY_NAMED),
        ArraySizeExceeded("external_ids holds 1001 items; its maximum is 1000."),
        InvalidJourneyType("The journey is not configured for API triggering; its current trigger type is 'event'."),
        ErrorResolvingSegments("These segments do not exist in this workspace: '68a1f0c2e4b0a1d2c3e4f5b2'."),
        JourneyNotFound(examples.JOURNEY),
        Recipient(field="external_id", value="ada").not_found(),
    ],
)

describe_job = _call(
    operation_id="getJob",
    summary="Get a job",
    description="Returns the status and the result of a job. A job is one customer queued by one trigger. A worker "
    "decides it by the journey's entry rules.",
    parameters=[WORKSPACE_ID, path_id("job_id", "The `jobId` returned by the trigger call.")],
    answers=Answer(
        data=answers.JobData,
        description="The current state of the job.",
        examples={
            "Enrolled": (answers.JOB_MESSAGE, examples.ENROLLED_JOB),
            "Still queued": (answers.JOB_MESSAGE, examples.QUEUED_JOB),
        },
    ),
    refusals=[JobNotFound(examples.ADAS_JOB)],
)

describe_cancel = _call(
    operation_id="cancelJob",
    summary="Cancel a queued job",
    description="""
Takes one customer out of a trigger before a worker decides the job. It takes effect at once: a cancelled job never
enrolls its customer. Cancelling it again changes nothing and returns the same answer.
""",
    parameters=[WORKSPACE_ID, path_id("job_id", "The `jobId` returned by the trigger call.")],
    answers=Answer(
        data=answers.JobData,
        description="The job is cancelled.",
        examples={"Cancelled": (answers.CANCELLED_MESSAGE, examples.CANCELLED_JOB)},
    ),
    refusals=[
        JobNotFound(examples.ADAS_JOB),
        JobAlreadyDecided(
            "The job is not queued any more: its result is 'enrolled'. The customer met the entry rules."
        ),
    ],
)

describe_trigger_state = _call(
    operation_id="getTrigger",
    summary="Get a trigger",
    description=f"""
Returns the number of a trigger's jobs by status and by result. For a call for many customers, it also returns whom the
call left out, and why. If the trigger queued fewer than {LARGE_TRIGGER:,} customers, jobs pruned because of their age
are no longer counted.
""",
    parameters=[WORKSPACE_ID, path_id("trigger_id", "The `triggerId` returned by the trigger call.")],
    answers=Answer(
        name="TriggerStateAnswer",
        data=answers.TriggerData,
        description="The current state of the trigger.",
        examples={"All decided, two left out": (answers.TRIGGER_MESSAGE, examples.DECIDED_TRIGGER)},
    ),
    refusals=[TriggerNotFound(examples.TRIGGER)],
)

describe_trigger_jobs = _call(
    operation_id="listTriggerJobs",
    summary="List a trigger's jobs",
    description=f"""
Returns what became of each customer queued by a trigger, in the order of its `jobIds`. Filter the jobs by `result` or
`status` to see, for example, only those that failed. Pages have {JOBS} jobs by default and at most {MOST_JOBS}
(`limit`). Jobs pruned because of their age are not included.
""",
    parameters=[
        WORKSPACE_ID,
        path_id("trigger_id", "The `triggerId` returned by the trigger call."),
        OpenApiParameter(
            "status", str, enum=EnrollmentJob.Status.values, description="Return only jobs with this status."
        ),
        OpenApiParameter(
            "result", str, enum=EnrollmentJob.Result.values, description="Return only jobs with this result."
        ),
        *page_parameters(default=JOBS, at_most=MOST_JOBS),
    ],
    answers=Answer(
        data=answers.TriggerJobsData,
        description="A page of jobs. The list is empty if the trigger has no such job.",
        examples={"One enrolled, one refused": (answers.TRIGGER_JOBS_MESSAGE, examples.TRIGGER_JOBS)},
    ),
    refusals=[
        InvalidRequest(f"status must be one of {', '.join(EnrollmentJob.Status.values)}, not 'done'."),
        *bad_page(at_most=MOST_JOBS),
        TriggerNotFound(examples.TRIGGER),
    ],
)
