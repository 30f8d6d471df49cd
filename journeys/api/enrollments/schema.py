"""The calls about enrollments in the OpenAPI document."""

from functools import partial

from customers.lookup import IDENTIFIER_NAMES, CustomerNotFound
from engage.errors import MissingParameter
from engage.http.views import WorkspaceNotFound
from engage.schema.bodies import Body
from engage.schema.calls import WORKSPACE_ID, ServerCall, bad_page, page_parameters, path_id
from engage.schema.responses import Answer
from journeys.api.enrollments import answers, examples
from journeys.api.enrollments.serializers import MOST_STEPS, MOST_TRIGGERS, STEPS, TRIGGERS, ExitBody
from journeys.enrollments.exiting import EnrollmentAlreadyEnded
from journeys.enrollments.states import EnrollmentNotFound

_call = partial(ServerCall, tag="Journeys")
_ENROLLMENT_ID = path_id("enrollment_id", "The `enrollmentId` of the job.")

describe_history = _call(
    operation_id="getEnrollment",
    summary="Get an enrollment",
    description=f"""
Returns where a customer is in a journey, when the enrollment continues, and the outcome of each step with its reason.
Webhook steps include the request and its attempts.

Steps are returned in order, in pages of {STEPS} by default and of at most {MOST_STEPS} (`limit`). The history of a
journey with a loop can be long: use `nextCursor` to get the next page.
""",
    parameters=[WORKSPACE_ID, _ENROLLMENT_ID, *page_parameters(default=STEPS, at_most=MOST_STEPS)],
    answers=Answer(
        data=answers.EnrollmentHistoryData,
        description="The current state of the enrollment, with a page of its steps.",
        examples={"A webhook waits for its next attempt": (answers.ENROLLMENT_MESSAGE, examples.HISTORY)},
    ),
    refusals=[*bad_page(at_most=MOST_STEPS), EnrollmentNotFound(examples.ENROLLMENT)],
)

describe_exit = _call(
    operation_id="exitEnrollment",
    summary="End an enrollment early",
    description="""
The customer leaves the journey at once: no further step is run, and a waiting webhook is no longer sent, unless it is
being sent at this moment. If the enrollment has already ended, it is left unchanged and the call is refused.
""",
    parameters=[WORKSPACE_ID, _ENROLLMENT_ID],
    body=Body(ExitBody),
    requests=examples.EXITS,
    answers=Answer(
        data=answers.EnrollmentData,
        description="The enrollment was exited.",
        examples={"Exited": (answers.EXITED_MESSAGE, examples.EXITED)},
    ),
    refusals=[
        MissingParameter("reason is required."),
        EnrollmentNotFound(examples.ENROLLMENT),
        EnrollmentAlreadyEnded("The enrollment is completed already."),
    ],
)

describe_customer_journeys = ServerCall(
    operation_id="getCustomerJourneys",
    tag="Customers",
    summary="List a customer's journey triggers",
    description=f"""
Returns every trigger that queued this customer, by a call or by an event, newest first: what was decided and why, even
if the customer was not enrolled, and the state of the enrollment. A call that named the customer but left them out is
not included: look up its trigger. Pages have {TRIGGERS} triggers by default and at most
{MOST_TRIGGERS} (`limit`). Data that was pruned because of its age is not included.
""",
    parameters=[
        WORKSPACE_ID,
        path_id("customer_id", "The customer's id in this service."),
        *page_parameters(default=TRIGGERS, at_most=MOST_TRIGGERS),
    ],
    answers=Answer(
        data=answers.CustomerJourneysData,
        description="A page of triggers. The list is empty if no trigger ever queued the customer.",
        examples={"One refused, one exited": (answers.TRIGGERS_MESSAGE, examples.CUSTOMER_JOURNEYS)},
    ),
    refusals=[*bad_page(at_most=MOST_TRIGGERS), WorkspaceNotFound(), CustomerNotFound(named=IDENTIFIER_NAMES["id"])],
)
