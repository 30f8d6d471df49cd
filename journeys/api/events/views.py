"""The report of events, for servers."""

from http import HTTPStatus
from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from customers.api.items import items_as_sent
from engage.http.envelope import success
from engage.http.replays import once_per_key
from engage.http.views import WorkspaceView
from engage.sizes import MAX_LIST_BYTES
from journeys.api.events import answers, schema
from journeys.api.events.serializers import EventItemPart, read_report
from journeys.walking.recording import ReportedEvent, record_reported_event, record_reported_events


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
        body: Any = request.data
        sent = items_as_sent(body["events"], known={*EventItemPart().fields, *EventItemPart.aliases})
        return success(*answers.events_answer(outcomes, sent), status=HTTPStatus.ACCEPTED)
