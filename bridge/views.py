"""The two calls of an app's SDK."""

from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from bridge.actions import perform_action
from bridge.capture import capture_form
from bridge.models import Interaction
from bridge.serializers import read_action, read_capture
from engage.envelope import success
from engage.views import SdkView


class ActionView(SdkView):
    """`POST /api/v1/sdk/bridge/action`: a button in a message was clicked."""

    def post(self, request: Request) -> Response:
        call, action = read_action(request.data)
        interaction = perform_action(app=self.app, call=call, action=action, now=timezone.now())
        return _action_answer(interaction)


class CaptureView(SdkView):
    """`POST /api/v1/sdk/bridge/capture`: a form in a message was submitted."""

    def post(self, request: Request) -> Response:
        call, submit = read_capture(request.data)
        interaction = capture_form(app=self.app, call=call, submit=submit, now=timezone.now())
        data: dict[str, Any] = {"attributesUpdated": interaction.attributes_written}
        if interaction.event_id is not None:
            data = {"eventId": interaction.event_id, **data}
        return success("Form captured.", data)


def _action_answer(interaction: Interaction) -> Response:
    match interaction.kind:
        case Interaction.Kind.TRACK_EVENT:
            return success("Event tracked.", {"eventId": interaction.event_id})
        case Interaction.Kind.UPDATE_PROFILE:
            return success("Profile updated.", {"updated": True, "attributes": interaction.attributes_written})
        case Interaction.Kind.LINK:
            return success("Link recorded.", {"opened": True})
        case _:
            return success("Message closed.", {"closed": True})
