"""What webhooks wait for, and what is left alone at the moment because it keeps failing: in words, for people."""

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime

from django.utils import timezone

from engage.database.sql import Statement
from journeys.engine.webhooks.circuits import DISABLED_UNTIL
from journeys.engine.webhooks.sources import step_of
from journeys.models import WebhookCircuit, WebhookHost


@dataclass(frozen=True, kw_only=True)
class LeftAlone:
    """An open circuit: of a host, or of a source at one. `until` may be over while nobody has been let through yet."""

    workspace_id: str
    host: str
    source: str | None
    failures: int
    last_failure: str
    since: datetime
    until: datetime

    @property
    def step(self) -> tuple[str, str] | None:
        """The ids of the journey and the step that are left alone; None if it is something else."""
        return None if self.source is None else step_of(self.source)

    @property
    def because(self) -> str:
        return because(failures=self.failures, last_failure=self.last_failure, until=self.until)


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """When the next attempt may begin at the earliest; None: not before staff release the host. `because` may be ""."""

    next_attempt_at: datetime | None
    because: str


def because(*, failures: int, last_failure: str, until: datetime) -> str:
    """Why something is left alone: `Left alone until 19:26:30 UTC after 10 failures in a row: Answered 500.`"""
    if until == DISABLED_UNTIL:
        return last_failure
    if until <= timezone.now():
        return f"One at a time is tried after {failures} failures in a row: {last_failure}"
    return f"Left alone until {until:%H:%M:%S} UTC after {failures} failures in a row: {last_failure}"


# Each is looked up by its key (docs/sql.md).
_WAITING = Statement("""
SELECT delivery.id, delivery.result, steered.id IS NOT NULL AS held,
       journeys_next_attempt(delivery.workspace_id, delivery.host, delivery.source, delivery.due_at) AS next_attempt_at,
       coalesce(at_host.failures, of_source.failures) AS failures,
       coalesce(at_host.last_failure, of_source.last_failure) AS last_failure,
       coalesce(at_host.open_until, of_source.open_until) AS until
FROM journeys_webhookdelivery delivery
LEFT JOIN LATERAL (
    SELECT id FROM journeys_steeredhost known
    WHERE known.workspace_id = delivery.workspace_id AND known.host = delivery.host AND held_at IS NOT NULL LIMIT 1
) AS steered ON true
LEFT JOIN LATERAL (
    SELECT failures, last_failure, open_until FROM journeys_webhookhost known
    WHERE known.workspace_id = delivery.workspace_id AND known.host = delivery.host AND open_until IS NOT NULL LIMIT 1
) AS at_host ON true
LEFT JOIN LATERAL (
    SELECT failures, last_failure, open_until FROM journeys_webhookcircuit known
    WHERE known.workspace_id = delivery.workspace_id AND known.host = delivery.host
      AND known.source = delivery.source AND open_until IS NOT NULL
    LIMIT 1
) AS of_source ON true
WHERE delivery.id = ANY({ids}::bigint[]) AND delivery.state || '' = 'waiting'
""")


def waiting(delivery_ids: Collection[int]) -> Mapping[int, Waiting]:
    """Those of the deliveries that wait for an attempt, by id, in one statement; none for no ids."""
    if not delivery_ids:
        return {}
    return {
        row["id"]: Waiting(next_attempt_at=row["next_attempt_at"], because=_because(row))
        for row in _WAITING.records(ids=list(delivery_ids))
    }


def _because(row: Mapping[str, object]) -> str:
    match row:
        case {"held": True}:
            return "Webhooks to this host are held."
        case {"until": datetime() as until, "failures": int(failures), "last_failure": str(last)}:
            return because(failures=failures, last_failure=last, until=until)
        case _:
            return str(row["result"])


def left_alone(*, workspaces: Collection[str] | None, at_most: int) -> Sequence[LeftAlone]:
    """What is left alone in these workspaces (None: in all), the longest failing first."""
    found: list[LeftAlone] = []
    for kind in (WebhookHost, WebhookCircuit):
        open_now = kind.objects.filter(open_until__gt=timezone.now()).order_by("failing_since")
        if workspaces is not None:
            open_now = open_now.filter(workspace__in=workspaces)
        found += [
            LeftAlone(
                workspace_id=one.workspace_id,
                host=one.host,
                source=one.source if isinstance(one, WebhookCircuit) else None,
                failures=one.failures,
                last_failure=one.last_failure,
                since=one.failing_since or one.open_until,
                until=one.open_until,
            )
            for one in open_now[:at_most]
            if one.open_until
        ]
    return sorted(found, key=lambda one: one.since)[:at_most]
