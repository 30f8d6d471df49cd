"""Customers and segment members, for servers."""

from http import HTTPStatus

from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from customers import answers, schema
from customers.audience.membership import change_members
from customers.erasure import erase_customer
from customers.identity.lookup import customer_by_id, customer_named
from customers.identity.upsert import upsert_customer, upsert_customers
from customers.personal import export_customer, time_for_all_of
from customers.serializers import CustomerBody, read_batch, read_customer, read_members, read_query
from engage.database.snapshot import snapshot
from engage.http.envelope import success
from engage.http.long_answers import finished_answer
from engage.http.views import AllJourneysNeeded, WorkspaceView
from engage.sizes import MAX_LIST_BYTES


class _CustomersCall(WorkspaceView):
    """The calls about customers share one policy."""

    policy = "customers"


class CustomersView(_CustomersCall):
    """`/api/v1/customers/{workspaceId}`"""

    @schema.describe_upsert
    def put(self, request: Request, workspace_id: str) -> Response:
        data = read_customer(request.data)
        upserted = upsert_customer(workspace_id=workspace_id, data=data, now=timezone.now())
        record = answers.customer_put(upserted)
        if upserted.created:
            return success(answers.CREATED_MESSAGE, record, status=HTTPStatus.CREATED)
        return success(answers.UPDATED_MESSAGE, record)

    @schema.describe_find
    def get(self, request: Request, workspace_id: str) -> Response:
        customer = customer_named(workspace_id=workspace_id, reference=read_query(request.query_params))
        return success(answers.FOUND_MESSAGE, answers.customer_record(customer))


class CustomerBatchView(_CustomersCall):
    """`/api/v1/customers/{workspaceId}/batch`"""

    max_inflated_bytes = MAX_LIST_BYTES

    @schema.describe_batch
    def post(self, request: Request, workspace_id: str) -> Response:
        items = read_batch(request.data)
        outcomes = upsert_customers(workspace_id=workspace_id, items=items, now=timezone.now())
        sent = answers.items_as_sent(request.data, "customers", serializer=CustomerBody)
        return success(*answers.batch_answer(outcomes, sent))


class CustomerView(_CustomersCall):
    """`/api/v1/customers/{workspaceId}/{customerId}`"""

    @schema.describe_read
    def get(self, request: Request, workspace_id: str, customer_id: str) -> Response:
        customer = customer_by_id(workspace_id=workspace_id, customer_id=customer_id)
        return success(answers.FOUND_MESSAGE, answers.customer_record(customer))

    @schema.describe_erase
    def delete(self, request: Request, workspace_id: str, customer_id: str) -> Response:
        receipt = erase_customer(workspace_id=workspace_id, customer_id=customer_id)
        return success(answers.ERASED_MESSAGE, answers.erased_data(customer_id, receipt))


class CustomerExportView(_CustomersCall):
    """`GET /api/v1/customers/{workspaceId}/{customerId}/export`"""

    @schema.describe_export
    def get(self, request: Request, workspace_id: str, customer_id: str) -> HttpResponseBase:
        if self.api_key.journeys is not None:
            raise AllJourneysNeeded
        with snapshot():
            own_id, records = export_customer(workspace_id=workspace_id, customer_id=customer_id)
            with time_for_all_of(workspace_id=workspace_id, customer_id=own_id):
                return finished_answer(answers.export_pieces(own_id, records, now=timezone.now()))


class SegmentMembersView(_CustomersCall):
    """`/api/v1/customers/{workspaceId}/segments/{segmentId}/members`"""

    @schema.describe_members
    def post(self, request: Request, workspace_id: str, segment_id: str) -> Response:
        lists = read_members(request.data)
        change = change_members(workspace_id=workspace_id, segment_id=segment_id, **lists)
        return success(*answers.members_answer(change))
