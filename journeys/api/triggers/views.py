"""The trigger and its look-ups."""

import re
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from typing import Any

from django.http.response import HttpResponseBase
from django.utils import timezone
from rest_framework.request import Request
from rest_framework.response import Response

from customers.audience.selection import Audience
from engage.http.envelope import success
from engage.http.long_answers import long_answer
from engage.http.replays import once_per_key
from engage.http.views import ServerView
from engage.scopes import Scope, require_scope
from journeys.api.triggers import answers, schema
from journeys.api.triggers.dry_run_answers import DRY_RUN_MESSAGE, dry_run_data, dry_run_pieces
from journeys.api.triggers.serializers import TriggerCall, read_dry_run, read_trigger_call
from journeys.entering.dry_runs import dry_run_many, dry_run_one
from journeys.entering.trigger import Excluded, JourneyNotFound, Recipient, queued_before, trigger_many, trigger_one

_RETURN = re.compile(r"(?:^|,)\s*return\s*=\s*\"?([a-z]+)\"?\s*(?=[,;]|$)", re.IGNORECASE)


def _is_dry_run(request: Request) -> bool:
    """Whether it queues nothing: it may be repeated at will, and must not use up the key of the call it rehearses."""
    return read_dry_run(request.query_params)


def _prefers_minimal(request: Request) -> bool:
    """Whether `Prefer: return=minimal` was sent; of several preferences for `return` the first counts (RFC 7240)."""
    preferred = _RETURN.search(request.headers.get("Prefer", ""))
    return preferred is not None and preferred.group(1).lower() == "minimal"


def _minimal(message: str, data: Mapping[str, Any], *, status: int = HTTPStatus.OK) -> Response:
    """The answer to a call that prefers a minimal one."""
    answer = success(message, data, status=status)
    answer["Preference-Applied"] = "return=minimal"
    return answer


class TriggerView(ServerView):
    """`POST /api/v1/journeys/{workspaceId}/{journeyId}/trigger`"""

    policy = "trigger"

    @schema.describe_trigger
    @once_per_key(unless=_is_dry_run)
    def post(self, request: Request, workspace_id: str, journey_id: str) -> HttpResponseBase:
        call = read_trigger_call(request.data)
        is_dry_run = _is_dry_run(request)
        if is_dry_run:  # it shows what is known of people
            require_scope(self.api_key.scopes, Scope.CUSTOMERS_READ)
        self.require_own(workspace_id, otherwise=JourneyNotFound(journey_id))
        match call.target:
            case Recipient() as recipient if is_dry_run:
                return self._dry_run_one(journey_id, recipient, call)
            case Audience() as audience if is_dry_run:
                return self._dry_run_many(journey_id, audience, call)
            case Recipient() as recipient:
                return self._one(journey_id, recipient, call)
            case Audience() as audience:
                return self._many(journey_id, audience, call)

    def _one(self, journey_id: str, recipient: Recipient, call: TriggerCall) -> Response:
        outcome = trigger_one(
            workspace_id=self.api_key.workspace_id,
            journey_id=journey_id,
            recipient=recipient,
            exclude_external_ids=call.exclude_external_ids,
            payload=call.payload,
            called_by=self.api_key.id,
        )
        if isinstance(outcome, Excluded):
            return success(answers.EXCLUDED_MESSAGE, answers.excluded_data(outcome))
        return success(answers.SINGLE_MESSAGE, answers.single_data(outcome), status=HTTPStatus.ACCEPTED)

    def _many(self, journey_id: str, audience: Audience, call: TriggerCall) -> HttpResponseBase:
        queued = trigger_many(
            workspace_id=self.api_key.workspace_id,
            journey_id=journey_id,
            audience=audience,
            payload=call.payload,
            called_by=self.api_key.id,
        )
        if _prefers_minimal(self.request):
            return _minimal(answers.bulk_message(queued), answers.bulk_data(queued), status=HTTPStatus.ACCEPTED)
        facts = {
            "journey_id": queued.trigger.journey_id,
            "trigger_id": queued.trigger.id,
            "customers": queued.trigger.customers,
            "queued_ms": queued.trigger.queued_ms,
        }
        return long_answer(answers.bulk_pieces(queued), facts=facts, status=HTTPStatus.ACCEPTED)

    def replay(self, facts: Mapping[str, Any]) -> Iterator[str]:
        return answers.bulk_pieces(queued_before(**facts))

    def _dry_run_one(self, journey_id: str, recipient: Recipient, call: TriggerCall) -> Response:
        run = dry_run_one(
            workspace_id=self.api_key.workspace_id,
            journey_id=journey_id,
            recipient=recipient,
            exclude_external_ids=call.exclude_external_ids,
            payload=call.payload,
            now=timezone.now(),
        )
        return success(DRY_RUN_MESSAGE, dry_run_data(run, listed=True))

    def _dry_run_many(self, journey_id: str, audience: Audience, call: TriggerCall) -> HttpResponseBase:
        run = dry_run_many(
            workspace_id=self.api_key.workspace_id, journey_id=journey_id, audience=audience, payload=call.payload
        )
        if _prefers_minimal(self.request):
            return _minimal(DRY_RUN_MESSAGE, dry_run_data(run, listed=False))
        return long_answer(dry_run_pieces(run))
