"""Attempts that are noted of a host and its sources, and the circuits that this opens."""

from typing import Any

from django.db import connection

from engage.models import Workspace
from journeys.engine.webhooks.circuits import Attempted, note_attempts
from journeys.models import WebhookCircuit, WebhookHost
from tests.journeys.webhooks.standing import SOURCE

HOST = "one.example:80"


def attempted(workspace: Workspace, *, healthy: bool, host: str = HOST, source: str = SOURCE, **more: Any) -> Attempted:
    return Attempted(
        workspace_id=workspace.id, host=host, source=source, healthy=healthy, failure="Answered 500.", **more
    )


def note(workspace: Workspace, attempts: str, *, probe: bool = False, source: str = SOURCE, **more: Any) -> None:
    """Attempts in their order: `+` was healthy, `-` failed. `probe`: of the source's circuit."""
    note_attempts(
        [attempted(workspace, healthy=sign == "+", source=source, probes_source=probe, **more) for sign in attempts]
    )


def is_open(workspace: Workspace, *, source: str = SOURCE) -> bool:
    known = WebhookCircuit.objects.filter(workspace=workspace, host=HOST, source=source)
    return known.exclude(open_until=None).exists()


def host_is_open(workspace: Workspace) -> bool:
    return WebhookHost.objects.filter(workspace=workspace, host=HOST).exclude(open_until=None).exists()


def let_time_pass(seconds: float) -> None:
    with connection.cursor() as cursor:
        for table in ("journeys_webhookhost", "journeys_webhookcircuit"):
            cursor.execute(
                f"UPDATE {table} SET failing_since = failing_since - %(s)s * interval '1 second', "
                "open_until = open_until - %(s)s * interval '1 second'",
                {"s": seconds},
            )
