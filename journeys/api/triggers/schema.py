"""The trigger and its look-ups in the OpenAPI document."""

from functools import partial

from drf_spectacular.utils import OpenApiParameter

from customers.audience.segments import ErrorResolvingSegments
from engage.errors import MissingParameter
from engage.json.reading import ArraySizeExceeded
from engage.schema.bodies import BLANK, NOT_BLANK, Body, at_least_one_of, none_of
from engage.schema.calls import WORKSPACE_ID, ServerCall, path_id
from engage.schema.responses import Answer
from journeys.api.triggers import answers, examples
from journeys.api.triggers.dry_run_answers import DRY_RUN_MESSAGE
from journeys.api.triggers.serializers import BULK, DRY_RUN, NOBODY_NAMED, SINGLE, TriggerBody
from journeys.entering.trigger import InvalidJourneyType, JourneyNotFound, Recipient

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
