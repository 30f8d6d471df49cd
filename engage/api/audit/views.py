"""The audit of a workspace, for servers."""

from rest_framework.request import Request
from rest_framework.response import Response

from engage.api.audit import answers, schema
from engage.api.audit.serializers import read_audit_query
from engage.audit.reading import entries_after
from engage.http.envelope import success
from engage.http.views import WorkspaceView


class AuditView(WorkspaceView):
    """`GET /api/v1/audit/{workspaceId}`"""

    policy = "lookup"

    @schema.describe_audit
    def get(self, request: Request, workspace_id: str) -> Response:
        after, limit = read_audit_query(request.query_params)
        entries = entries_after(workspace_id=workspace_id, position=after, limit=limit)
        return success(answers.AUDIT_MESSAGE, answers.audit_page(entries, after=after))
