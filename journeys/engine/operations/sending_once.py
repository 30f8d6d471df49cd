"""One request by a connection, sent at once: a test of it, or an alert. It is none of the workspace's deliveries."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.conf import settings
from django.db import connection as database

from customers.conditions import CustomerFacts
from engage.credentials.sealed import UnknownEncryptionKey
from engage.database.object_ids import new_object_id
from engage.errors import Refusal
from journeys.engine.connections.providers import provider_of
from journeys.engine.connections.surroundings import variables_of
from journeys.engine.webhooks.answers import read_answer
from journeys.engine.webhooks.client import Client, Request
from journeys.engine.webhooks.schedule import NextState, in_words, judge
from journeys.engine.webhooks.signing import signed_headers
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.models import Connection
from journeys.steps.context import StepContext
from journeys.steps.results import StepFailed, StepSkipped
from journeys.steps.surroundings import Surroundings

_NOBODY = "0" * 24


@dataclass(frozen=True, kw_only=True)
class Tried:
    """What came of it: `sent` as it is shown, the verdict in words, the answer's first bytes, what is kept of it."""

    sent: str
    ok: bool
    verdict: str
    status: int | None = None
    milliseconds: int = 0
    answer: str = ""
    kept: Mapping[str, Any] | None = None


def accepted_inputs(connection: Connection, offered: Mapping[str, Any]) -> dict[str, Any]:
    """Those of the inputs that the connection knows; all of them if it cannot be read, which sending then says."""
    try:
        known = provider_of(connection).inputs
    except Refusal:
        return dict(offered)
    return {name: value for name, value in offered.items() if known.describes(name)}


def send_once(connection: Connection, inputs: dict[str, Any], *, now: datetime) -> Tried:
    """Sends the inputs by it, as a step would. It waits for the answer, so it belongs into no transaction."""
    assert not database.in_atomic_block
    workspace_id = connection.workspace_id
    rendering = _context(workspace_id, now).rendering()
    try:
        provider = provider_of(connection)
        request, rules = provider.filled(inputs, rendering), provider.request.answer_rules
    except (StepFailed, StepSkipped, UnknownEncryptionKey, Refusal) as failed:
        return Tried(sent="", ok=False, verdict=str(failed))
    body = None if request.body is None else request.body.encode()
    signed = signed_headers(
        webhook_id=f"msg_test_{new_object_id()}",
        timestamp=int(now.timestamp()),
        body=body or b"",
        signing_secrets=[current_secrets([workspace_id])[workspace_id]],
    )
    client = Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS, rules=settings.WEBHOOK_TARGETS)
    outcome = client.send(
        Request(
            method=request.method,
            url=request.secret_url or request.url,
            headers=request.headers,
            signed=signed,
            body=body,
        ),
        at=now,
    )
    read = None if rules is None else read_answer(outcome, rules)
    verdict = judge(outcome, number=1, once=False, chance=0, read=read)
    return Tried(
        sent=f"{request.method} {request.url}",
        ok=verdict.next_state is NextState.DELIVERED,
        verdict=verdict.reason or f"{in_words(outcome)} A step would try it again.",
        status=outcome.status,
        milliseconds=outcome.milliseconds,
        answer=outcome.answer,
        kept=verdict.kept,
    )


def _context(workspace_id: str, now: datetime) -> StepContext:
    return StepContext(
        journey_id=_NOBODY,
        journey_name="",
        enrollment_id=_NOBODY,
        customer=CustomerFacts(id=_NOBODY, external_id=None, email=None, phone=None, user_id=None, attributes={}),
        payload={},
        event=None,
        chain=0,
        now=now,
        surroundings=Surroundings(variables=variables_of([workspace_id]).get(workspace_id, {})),
    )
