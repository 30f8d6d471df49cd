"""Who somebody is: `identify` for pages, and the merge for servers."""

from rest_framework.request import Request
from rest_framework.response import Response

from bridge.people import answers, schema
from bridge.people.identifying import identify, proven_words
from bridge.people.merging import merge_customers
from bridge.people.serializers import read_identify, read_merge
from bridge.views import KeyedView
from engage.http.envelope import success
from engage.http.replays import once_per_key
from engage.http.views import WorkspaceView
from engage.models import App


class IdentifyView(KeyedView):
    """`POST /api/v1/sdk/identify`: the person behind an anonymous user id has logged in."""

    @schema.describe_identify
    @once_per_key()
    def post(self, request: Request) -> Response:
        call, user_id = read_identify(request.data, sender=self.sender)
        added = identify(app=self.app, call=call, user_id=user_id)
        return success(*answers.identified_answer(added))

    def require_proof(self, request: Request) -> None:
        if self.app.identity == App.Identity.ENFORCE:
            call, user_id = read_identify(request.data, sender=self.sender)
            proven_words(app=self.app, call=call, user_id=user_id)


class MergeView(WorkspaceView):
    """`POST /api/v1/customers/{workspaceId}/merge`"""

    policy = "customers"

    @schema.describe_merge
    def post(self, request: Request, workspace_id: str) -> Response:
        anonymous, into = read_merge(request.data)
        customer_id, moved = merge_customers(workspace_id=workspace_id, anonymous=anonymous, into=into)
        return success(*answers.merged_answer(customer_id, moved))
