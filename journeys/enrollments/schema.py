"""The calls about enrollments in the OpenAPI document."""

from drf_spectacular.utils import OpenApiParameter

from customers.lookup import IDENTIFIER_NAMES, CustomerNotFound
from engage.errors import InvalidRequest, MissingParameter
from engage.paging import InvalidCursor
from engage.schema.bodies import Body
from engage.schema.calls import WORKSPACE_ID, ServerCall, path_id
from engage.schema.responses import Answer
from engage.views import WorkspaceNotFound
from journeys.enrollments import answers, examples
from journeys.enrollments.exiting import EnrollmentAlreadyEnded
from journeys.enrollments.serializers import MOST_STEPS, MOST_TRIGGERS, STEPS, TRIGGERS, ExitBody
from journeys.enrollments.states import EnrollmentNotFound

_TAG = "Journeys"
_ENROLLMENT_ID = path_id("enrollment_id", "The enrollment's id, as the look-up of its job tells it.")


def _page(*, default: int, at_most: int) -> list[OpenApiParameter]:
    size = {"type": "integer", "minimum": 1, "maximum": at_most, "default": default}
    return [
        OpenApiParameter("limit", size, description="How many at most."),
        OpenApiParameter("cursor", str, description="The `nextCursor` of the page before; left out for the first."),
    ]


_BAD_PAGE = [
    InvalidRequest("limit must be a whole number from 1 to 100."),
    InvalidCursor(),
]

describe_history = ServerCall(
    operation_id="getEnrollment",
    tag=_TAG,
    summary="How an enrollment goes",
    description=f"""
Where one customer stands in one journey, when that goes on, and what each step came to and why. Of a webhook step also
the request and its attempts.

The steps come page by page in their order: {STEPS} unless `limit` says otherwise, at most {MOST_STEPS}. A journey
with a loop may have a long history; read on with `nextCursor`.
""",
    parameters=[WORKSPACE_ID, _ENROLLMENT_ID, *_page(default=STEPS, at_most=MOST_STEPS)],
    answers=[
        Answer(
            data=answers.EnrollmentHistoryData,
            description="The enrollment with a page of its steps.",
            examples={"A webhook waits for its next attempt": (answers.ENROLLMENT_MESSAGE, examples.HISTORY)},
        )
    ],
    refusals=[*_BAD_PAGE, EnrollmentNotFound(examples.ENROLLMENT)],
)

describe_exit = ServerCall(
    operation_id="exitEnrollment",
    tag=_TAG,
    summary="End an enrollment early",
    description="""
The customer leaves the journey at once. It is exact, without a period of grace: no step follows, and a webhook that is
not being sent at this moment is not sent any more. An enrollment that has ended before stays as it is, and the call is
refused.
""",
    parameters=[WORKSPACE_ID, _ENROLLMENT_ID],
    body=Body(ExitBody),
    requests=examples.EXITS,
    answers=[
        Answer(
            data=answers.EnrollmentData,
            description="The enrollment is exited.",
            examples={"Exited": (answers.EXITED_MESSAGE, examples.EXITED)},
        )
    ],
    refusals=[
        MissingParameter("reason is required."),
        EnrollmentNotFound(examples.ENROLLMENT),
        EnrollmentAlreadyEnded("The enrollment is completed already."),
    ],
)

describe_customer_journeys = ServerCall(
    operation_id="getCustomerJourneys",
    tag="Customers",
    summary="What named a customer for journeys",
    description=f"""
Every trigger that named this customer, by a call or by an event, newest first: what was decided and why, also where the
customer was not enrolled, and how the enrollment went. {TRIGGERS} a page unless `limit` says otherwise. What was pruned
because of its age is not there any more.
""",
    parameters=[
        WORKSPACE_ID,
        path_id("customer_id", "The customer's id in this service."),
        *_page(default=TRIGGERS, at_most=MOST_TRIGGERS),
    ],
    answers=[
        Answer(
            data=answers.CustomerJourneysData,
            description="A page of them; an empty list where nothing ever named the customer.",
            examples={"One refused, one exited": (answers.TRIGGERS_MESSAGE, examples.CUSTOMER_JOURNEYS)},
        )
    ],
    refusals=[*_BAD_PAGE, WorkspaceNotFound(), CustomerNotFound(named=IDENTIFIER_NAMES["id"])],
)
