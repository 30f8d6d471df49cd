"""The audit's call in the OpenAPI document."""

from drf_spectacular.utils import OpenApiParameter

from engage.api.audit import answers, examples
from engage.api.audit.serializers import AFTER_INVALID, ENTRIES, MOST_ENTRIES
from engage.errors import InvalidRequest
from engage.http.views import WorkspaceNotFound
from engage.schema.calls import WORKSPACE_ID, ServerCall, bad_page, page_parameters
from engage.schema.responses import Answer

_AFTER = OpenApiParameter(
    "after", {"type": "integer", "minimum": 0}, description="The `after` of an earlier answer; omit it to begin."
)

describe_audit = ServerCall(
    operation_id="listAudit",
    tag="Access",
    summary="Read who changed what",
    description="Lists what was changed in the workspace, by whom and from where: journeys, messages, segments, keys "
    "and apps with what they were before, erasures and exports of customers, secrets that were looked at, and calls "
    "that lacked a right. Triggers, events and changes of customers are not in it: they have a history of their own.",
    parameters=[WORKSPACE_ID, _AFTER, page_parameters(default=ENTRIES, at_most=MOST_ENTRIES)[0]],
    answers=Answer(
        data=answers.AuditPage,
        description="A page of entries, which is empty if there is nothing new.",
        examples={"A journey was switched on": (answers.AUDIT_MESSAGE, examples.PAGE)},
    ),
    refusals=[bad_page(at_most=MOST_ENTRIES)[0], InvalidRequest(AFTER_INVALID), WorkspaceNotFound()],
)
