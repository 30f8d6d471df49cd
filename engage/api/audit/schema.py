"""The audit's call in the OpenAPI document."""

from drf_spectacular.utils import OpenApiParameter

from engage.api.audit import answers
from engage.api.audit.answers import AuditPage
from engage.api.audit.serializers import AFTER_INVALID, ENTRIES, MOST_ENTRIES
from engage.errors import InvalidRequest
from engage.http.views import WorkspaceNotFound
from engage.schema.calls import WORKSPACE_ID, ServerCall, bad_page, page_parameters
from engage.schema.responses import Answer

_PAGE = AuditPage(
    entries=[
        {
            "entryId": "6b00b1b1aa4223798a14fef0",
            "at": "2026-11-20T19:08:00.000Z",
            "action": "changed",
            "actor": {"kind": "staff", "id": "7", "name": "grace", "address": "203.0.113.7"},
            "object": {"kind": "journey", "id": "6b00b1b1aa4223798a14fee8", "name": "Welcome"},
            "changes": {"active": {"before": False, "after": True}},
            "note": None,
            "requestId": "9f2c4e0d8b7a4c1f8e6d5b3a2c1d0e9f",
        }
    ],
    after=42,
)

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
        examples={"A journey was switched on": (answers.AUDIT_MESSAGE, _PAGE)},
    ),
    refusals=[bad_page(at_most=MOST_ENTRIES)[0], InvalidRequest(AFTER_INVALID), WorkspaceNotFound()],
)
