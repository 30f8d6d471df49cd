"""The report of events, for servers."""

from http import HTTPStatus

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from engage.envelope import success
from engage.replays import once_per_key
from engage.sizes import MAX_LIST_BYTES
from engage.views import WorkspaceView
from journeys.reported_events import answers, schema
from journeys.reported_events.recording import ReportedEvent, record_reported_event, record_reported_events
from journeys.reported_events.serializers import read_report


class EventsView(WorkspaceView):
    """`POST /api/v1/customers/{workspaceId}/events`"""

    policy = "events"
    max_inflated_bytes = MAX_LIST_BYTES

    @schema.describe_report
    @once_per_key()
    def post(self, request: Request, workspace_id: str) -> Response:
        report = read_report(request.data, now=timezone.now())
        if isinstance(report, ReportedEvent):
            recorded = record_reported_event(workspace_id=workspace_id, event=report)
            return success(answers.EVENT_MESSAGE, answers.event_data(recorded), status=HTTPStatus.ACCEPTED)
        outcomes = record_reported_events(workspace_id=workspace_id, events=report)
        return success(*answers.events_answer(outcomes), status=HTTPStatus.ACCEPTED)
