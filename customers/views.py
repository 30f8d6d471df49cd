"""Customers and segment members, for servers."""

from http import HTTPStatus
from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from customers.erasure import erase_customer
from customers.lookup import customer_by_id, customer_known_by
from customers.membership import change_members
from customers.serializers import batch_answer, customer_answer, read_batch, read_customer, read_members, read_query
from customers.upsert import upsert_customer, upsert_customers
from engage.envelope import success
from engage.errors import Refusal
from engage.views import ServerView


class WorkspaceNotFound(Refusal):
    """There is no such workspace, or it is another one than the key's: nobody learns which."""

    status = 404
    error = "Workspace not found"
    code = "workspace_not_found"


class _WorkspaceView(ServerView):
    """A call about one workspace, by a key of that workspace."""

    policy = "customers"
    limit_factor = 10

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        if kwargs["workspace_id"] != self.api_key.workspace_id:
            raise WorkspaceNotFound("This API key has no workspace with this id.")


class CustomersView(_WorkspaceView):
    """`/api/v1/customers/{workspaceId}`"""

    def put(self, request: Request, workspace_id: str) -> Response:
        data = read_customer(request.data)
        upserted = upsert_customer(workspace_id=workspace_id, data=data, now=timezone.now())
        answer = customer_answer(upserted.customer)
        if upserted.created:
            return success("Customer created.", answer, status=HTTPStatus.CREATED)
        return success("Customer updated.", answer)

    def get(self, request: Request, workspace_id: str) -> Response:
        customer = customer_known_by(workspace_id=workspace_id, known_by=read_query(request.query_params))
        return success("Customer found.", customer_answer(customer))


class CustomerBatchView(_WorkspaceView):
    """`/api/v1/customers/{workspaceId}/batch`"""

    def post(self, request: Request, workspace_id: str) -> Response:
        items = read_batch(request.data)
        answer = batch_answer(upsert_customers(workspace_id=workspace_id, items=items, now=timezone.now()))
        return success("{created} created, {updated} updated, {failed} failed.".format(**answer), answer)


class CustomerView(_WorkspaceView):
    """`/api/v1/customers/{workspaceId}/{customerId}`"""

    def get(self, request: Request, workspace_id: str, customer_id: str) -> Response:
        customer = customer_by_id(workspace_id=workspace_id, customer_id=customer_id)
        return success("Customer found.", customer_answer(customer))

    def delete(self, request: Request, workspace_id: str, customer_id: str) -> Response:
        erase_customer(workspace_id=workspace_id, customer_id=customer_id)
        return success("Customer erased.", {"customerId": customer_id, "deleted": True})


class SegmentMembersView(_WorkspaceView):
    """`/api/v1/customers/{workspaceId}/segments/{segmentId}/members`"""

    def post(self, request: Request, workspace_id: str, segment_id: str) -> Response:
        lists = read_members(request.data)
        change = change_members(workspace_id=workspace_id, segment_id=segment_id, **lists)
        return success(
            f"{change.added} added, {change.removed} removed.",
            {"added": change.added, "removed": change.removed, "unknown": change.unknown},
        )
