"""What is wrong in single workspaces at this moment: the causes of the alerts that their people are told of.

A statement per rule, whatever the number of workspaces. A further rule is one more function in CAUSES.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from engage.alerts import Cause
from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Statement
from engage.notations.plurals import counted
from journeys.engine.steering.acts import GUARD
from journeys.engine.webhooks.claim_statements import DUE_HOSTS, FIRST_DUE, LANES
from journeys.models import Chunk

Wanted = Sequence[str | None]
# The thresholds of monitoring/rules.yml, by the names of its alerts; a share is of at least so many attempts.
LATE_SECONDS: Mapping[str, float] = {
    Chunk.Lane.SINGLE: 10, Chunk.Lane.BULK: 300, "enrollments": 30, "webhooks": 60,
}  # fmt: skip
LEFT_ALONE_SECONDS = 600
FAILING_SHARE, FAILING_HOLDS = 0.2, 600
_FAILING_OF, _FAILING_MINUTES, _MOST_ATTEMPTS = 20, 15, 20_000

# The condition of the index of all journeys that are steered.
_HELD = Statement("""
SELECT workspace_id, id, name, held_because FROM journeys_journey
WHERE (held_at IS NOT NULL OR resumed_at IS NOT NULL) AND held_at IS NOT NULL AND held_by = {guard}
  AND workspace_id = ANY({workspace_ids}::text[])
""")

_PAUSED = Statement("""
SELECT workspace_id, id, key, last_failure FROM journeys_subscription
WHERE paused_at IS NOT NULL AND workspace_id = ANY({workspace_ids}::text[])
""")

_LEFT_ALONE = Statement("""
SELECT workspace_id, host, min(failing_since) FROM (
    SELECT workspace_id, host, failing_since FROM journeys_webhookhost WHERE open_until > now()
    UNION ALL SELECT workspace_id, host, failing_since FROM journeys_webhookcircuit WHERE open_until > now()
) AS failing
WHERE workspace_id = ANY({workspace_ids}::text[])
GROUP BY 1, 2 HAVING min(failing_since) < now() - {seconds} * interval '1 second'
""")

# The latest attempts, of all workspaces: read backwards by their ids, and no more than so many.
_FAILING = Statement("""
SELECT workspace_id, count(*), count(*) FILTER (WHERE status IS NULL OR status NOT BETWEEN 200 AND 299) AS failed
FROM (SELECT workspace_id, at, status FROM journeys_webhookattempt ORDER BY id DESC LIMIT {most}) AS latest
WHERE at > now() - {minutes} * interval '1 minute'
GROUP BY GROUPING SETS ((workspace_id), ())
""")

# Each of a workspace's oldest is read at the end of the index that serves its turns.
_LATE = Statement(
    """
WITH RECURSIVE asked AS (SELECT * FROM unnest({workspace_ids}::text[]) AS asked (id)), {hosts}, {lanes}
SELECT asked.id, lane, extract(epoch FROM now() - first.turn_at)::float8
FROM asked CROSS JOIN unnest({chunk_lanes}::text[]) AS wanted(lane) CROSS JOIN LATERAL (
    SELECT turn_at FROM journeys_chunk, {in_index_order}
    WHERE lane = wanted.lane AND workspace_id = asked.id ORDER BY lane, workspace_id, turn_at LIMIT 1
) AS first
UNION ALL
SELECT asked.id, 'enrollments', extract(epoch FROM now() - first.due_at)::float8
FROM asked CROSS JOIN (VALUES (false), (true)) AS kind(crowd) CROSS JOIN LATERAL (
    SELECT due_at FROM journeys_enrollment, {in_index_order}
    WHERE due_at IS NOT NULL AND attempts = 0 AND crowd = kind.crowd AND workspace_id = asked.id
    ORDER BY crowd, workspace_id, coalesce(due_at, 'infinity') LIMIT 1
) AS first
UNION ALL
SELECT workspace_id, 'webhooks',
       extract(epoch FROM now() - greatest(first.due_at, circuit.open_until, source_circuit.open_until))::float8
FROM lanes LEFT JOIN journeys_webhookhost circuit USING (workspace_id, host)
LEFT JOIN journeys_webhookcircuit source_circuit USING (workspace_id, host, source)
LEFT JOIN journeys_steeredhost steered USING (workspace_id, host)
CROSS JOIN LATERAL (SELECT due_at FROM ({first_due}) AS earliest LIMIT 1) AS first
WHERE steered.held_at IS NULL AND workspace_id = ANY({workspace_ids}::text[])
""",
    hosts=DUE_HOSTS,
    lanes=LANES,
    first_due=FIRST_DUE,
    in_index_order=IN_INDEX_ORDER,
)
_LATE_AS: Mapping[str, tuple[str, str]] = {
    Chunk.Lane.SINGLE: ("EngageDecisionsLate", "Single triggers are decided late."),
    Chunk.Lane.BULK: ("EngageDecisionsLate", "Large calls are decided late."),
    "enrollments": ("EngageEnrollmentsLate", "The steps of journeys are late."),
    "webhooks": ("EngageWebhooksLate", "Webhooks are late."),
}


def _held(workspace_ids: Wanted) -> Iterator[Cause]:
    for workspace_id, journey_id, name, because in _HELD.rows(guard=GUARD, workspace_ids=list(workspace_ids)):
        says = f"The guard of the journey {name!r} holds it. {because}".strip()
        yield Cause(workspace_id=workspace_id, rule="EngageJourneyHeldByGuard", about=journey_id, says=says)


def _paused(workspace_ids: Wanted) -> Iterator[Cause]:
    for workspace_id, subscription_id, key, because in _PAUSED.rows(workspace_ids=list(workspace_ids)):
        says = f"Nothing is pushed to the subscription {key} until it is resumed. {because}".strip()
        yield Cause(workspace_id=workspace_id, rule="EngageSubscriptionPaused", about=subscription_id, says=says)


def _left_alone(workspace_ids: Wanted) -> Iterator[Cause]:
    rows = _LEFT_ALONE.rows(seconds=LEFT_ALONE_SECONDS, workspace_ids=list(workspace_ids))
    for workspace_id, host, since in rows:
        says = f"Webhooks to {host} have failed since {since:%Y-%m-%d %H:%M} UTC; they wait."
        yield Cause(workspace_id=workspace_id, rule="EngageHostLeftAlone", about=host, says=says)


def _failing(workspace_ids: Wanted) -> Iterator[Cause]:
    """Of the whole service as well, if None is among those asked for."""
    for workspace_id, attempts, failed in _FAILING.rows(most=_MOST_ATTEMPTS, minutes=_FAILING_MINUTES):
        if workspace_id in workspace_ids and attempts >= _FAILING_OF and failed > FAILING_SHARE * attempts:
            says = f"{failed} of {counted(attempts, 'attempt')} at webhooks failed within {_FAILING_MINUTES} minutes."
            yield Cause(workspace_id=workspace_id, rule="EngageWebhooksFail", says=says)


def _late(workspace_ids: Wanted) -> Iterator[Cause]:
    lanes = [Chunk.Lane.SINGLE.value, Chunk.Lane.BULK.value]
    for workspace_id, work, seconds in _LATE.rows(workspace_ids=list(workspace_ids), chunk_lanes=lanes):
        if seconds > LATE_SECONDS[work]:
            rule, says = _LATE_AS[work]
            yield Cause(workspace_id=workspace_id, rule=rule, about=work, says=says)


CAUSES: Sequence[Callable[[Wanted], Iterator[Cause]]] = (_held, _paused, _left_alone, _failing, _late)


def causes_in(workspace_ids: Wanted) -> list[Cause]:
    """All that is wrong in these workspaces now; one cause of a rule about the same thing.

    None among them: also that too many webhooks fail in the whole service. Its other rules look at its metrics.
    """
    found: dict[Any, Cause] = {}
    for causes in CAUSES if workspace_ids else ():
        for cause in causes(workspace_ids):
            found.setdefault(cause.key, cause)
    return list(found.values())
