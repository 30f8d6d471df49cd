"""The API's views that steer journeys and calls, for servers."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from engage.http.envelope import success
from engage.http.views import ServerView
from engage.scopes import Scope, require_scope
from journeys import wakeups
from journeys.api.steering import answers, schema
from journeys.api.steering.serializers import read_abort, read_cancel, read_reason, read_resume
from journeys.api.triggers.serializers import read_dry_run
from journeys.design.opening import activate, close
from journeys.due import Due
from journeys.entering.trigger import JourneyNotFound, own_journey
from journeys.jobs.trigger_states import TriggerNotFound, journey_of_trigger, own_trigger
from journeys.steering.aborting import abort
from journeys.steering.acts import Steered, by_key
from journeys.steering.cancelling import cancel_trigger
from journeys.steering.holding import hold, resume


class _SteeringView(ServerView):
    policy = "steer"

    def steered(
        self, workspace_id: str, journey_id: str, act: Callable[..., Steered], said: Mapping[str, Any], message: str
    ) -> Response:
        """The answer to an act on the workspace's own journey, with what the body said."""
        dry_run = read_dry_run(self.request.query_params)
        self.require_own(workspace_id, otherwise=JourneyNotFound(journey_id))
        journey = own_journey(workspace_id=workspace_id, journey_id=journey_id)
        steered = act(journey, **said, actor=by_key(self.api_key), dry_run=dry_run)
        if act is resume and not dry_run:
            wakeups.wake(Due(walk=True, webhooks=True))
        data = answers.steering_data(steered, dry_run=dry_run)
        said_so = answers.REHEARSED_MESSAGE if dry_run else message + ("" if steered.settled else answers.NOT_SETTLED)
        return success(said_so, data)


class HoldView(_SteeringView):
    """`POST /api/v1/journeys/{workspaceId}/{journeyId}/hold`"""

    @schema.describe_hold
    def post(self, request: Request, workspace_id: str, journey_id: str) -> Response:
        return self.steered(workspace_id, journey_id, hold, read_reason(request.data), answers.HELD_MESSAGE)


class ResumeView(_SteeringView):
    """`POST /api/v1/journeys/{workspaceId}/{journeyId}/resume`"""

    @schema.describe_resume
    def post(self, request: Request, workspace_id: str, journey_id: str) -> Response:
        return self.steered(workspace_id, journey_id, resume, read_resume(request.data), answers.RESUMED_MESSAGE)


class CloseView(_SteeringView):
    """`POST /api/v1/journeys/{workspaceId}/{journeyId}/close`"""

    @schema.describe_close
    def post(self, request: Request, workspace_id: str, journey_id: str) -> Response:
        close_now = partial(close, now=timezone.now())
        return self.steered(workspace_id, journey_id, close_now, read_reason(request.data), answers.CLOSED_MESSAGE)


class ActivateView(_SteeringView):
    """`POST /api/v1/journeys/{workspaceId}/{journeyId}/activate`"""

    @schema.describe_activate
    def post(self, request: Request, workspace_id: str, journey_id: str) -> Response:
        activate_now = partial(activate, now=timezone.now())
        return self.steered(
            workspace_id, journey_id, activate_now, read_reason(request.data), answers.ACTIVATED_MESSAGE
        )


class AbortView(_SteeringView):
    """`POST /api/v1/journeys/{workspaceId}/{journeyId}/abort`"""

    @schema.describe_abort
    def post(self, request: Request, workspace_id: str, journey_id: str) -> Response:
        return self.steered(workspace_id, journey_id, abort, read_abort(request.data), answers.ABORTED_MESSAGE)


class CancelTriggerView(_SteeringView):
    """`POST /api/v1/journeys/{workspaceId}/triggers/{triggerId}/cancel`"""

    def journey_of(self, ids: Mapping[str, str]) -> str | None:
        return journey_of_trigger(workspace_id=self.api_key.workspace_id, trigger_id=ids["trigger_id"])

    @schema.describe_cancel_trigger
    def post(self, request: Request, workspace_id: str, trigger_id: str) -> Response:
        said, dry_run = read_cancel(request.data), read_dry_run(request.query_params)
        if said["exit_enrollments"]:
            require_scope(self.api_key.scopes, Scope.ENROLLMENTS)
        self.require_own(workspace_id, otherwise=TriggerNotFound(trigger_id))
        trigger = own_trigger(workspace_id=workspace_id, trigger_id=trigger_id)
        cancelled = cancel_trigger(trigger, **said, actor=by_key(self.api_key), dry_run=dry_run)
        message = answers.REHEARSED_MESSAGE if dry_run else answers.CANCELLED_TRIGGER_MESSAGE
        return success(message, answers.cancelled_trigger_data(cancelled, dry_run=dry_run))
