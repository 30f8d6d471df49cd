"""The API's views of enrollments, for servers."""

from collections.abc import Mapping

from rest_framework.request import Request
from rest_framework.response import Response

from customers.lookup import customer_by_id
from engage.http.envelope import success
from engage.http.views import LookupView, ServerView, WorkspaceView
from journeys.api.enrollments import answers, schema
from journeys.api.enrollments.serializers import read_exit, read_history_query, read_triggers_query
from journeys.enrollments.by_customer import customer_triggers_page
from journeys.enrollments.exiting import exit_enrollment
from journeys.enrollments.history import enrollment_history
from journeys.enrollments.states import EnrollmentNotFound, journey_of_enrollment


class _OfEnrollmentView(ServerView):
    def journey_of(self, ids: Mapping[str, str]) -> str | None:
        return journey_of_enrollment(workspace_id=self.api_key.workspace_id, enrollment_id=ids["enrollment_id"])


class EnrollmentView(_OfEnrollmentView, LookupView):
    """`GET /api/v1/journeys/{workspaceId}/enrollments/{enrollmentId}`"""

    @schema.describe_history
    def get(self, request: Request, workspace_id: str, enrollment_id: str) -> Response:
        after, limit = read_history_query(request.query_params)
        self.require_own(workspace_id, otherwise=EnrollmentNotFound(enrollment_id))
        history = enrollment_history(workspace_id=workspace_id, enrollment_id=enrollment_id, after=after, limit=limit)
        return success(answers.ENROLLMENT_MESSAGE, answers.history_data(history))


class EnrollmentExitView(_OfEnrollmentView):
    """`POST /api/v1/journeys/{workspaceId}/enrollments/{enrollmentId}/exit`"""

    policy = "exit"

    @schema.describe_exit
    def post(self, request: Request, workspace_id: str, enrollment_id: str) -> Response:
        reason = read_exit(request.data)
        self.require_own(workspace_id, otherwise=EnrollmentNotFound(enrollment_id))
        state = exit_enrollment(workspace_id=workspace_id, enrollment_id=enrollment_id, reason=reason)
        return success(answers.EXITED_MESSAGE, answers.enrollment_data(state))


class CustomerJourneysView(WorkspaceView):
    """`GET /api/v1/customers/{workspaceId}/{customerId}/journeys`"""

    policy = "lookup"

    @schema.describe_customer_journeys
    def get(self, request: Request, workspace_id: str, customer_id: str) -> Response:
        after, limit = read_triggers_query(request.query_params)
        customer = customer_by_id(workspace_id=workspace_id, customer_id=customer_id)
        page = customer_triggers_page(
            workspace_id=workspace_id,
            customer_id=customer.id,
            journeys=self.api_key.journeys,
            after=after,
            limit=limit,
        )
        return success(answers.TRIGGERS_MESSAGE, answers.customer_journeys_data(customer.id, page))
