"""The views of the two bridge calls, which an app's SDK makes."""

from dataclasses import replace

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from bridge import schema
from bridge.actions import perform_action
from bridge.answers import CAPTURED_MESSAGE, action_answer, captured_data
from bridge.capture import capture_form
from bridge.serializers import identifiers_as_sent, read_action, read_capture
from engage.http.envelope import success
from engage.http.idempotency import Caller
from engage.http.replays import once_per_key
from engage.http.views import SdkView


class _MessageView(SdkView):
    @property
    def caller(self) -> Caller:
        return replace(super().caller, person=identifiers_as_sent(self.request.data))


class ActionView(_MessageView):
    """`POST /api/v1/sdk/bridge/action`: a button in a message was clicked."""

    @schema.describe_action
    @once_per_key()
    def post(self, request: Request) -> Response:
        call, action = read_action(request.data, address=self.address)
        recorded = perform_action(app=self.app, call=call, action=action, now=timezone.now())
        return success(*action_answer(recorded))


class CaptureView(_MessageView):
    """`POST /api/v1/sdk/bridge/capture`: a form in a message was submitted."""

    @schema.describe_capture
    @once_per_key()
    def post(self, request: Request) -> Response:
        call, submit = read_capture(request.data, address=self.address)
        recorded = capture_form(app=self.app, call=call, submit=submit, now=timezone.now())
        return success(CAPTURED_MESSAGE, captured_data(recorded))
