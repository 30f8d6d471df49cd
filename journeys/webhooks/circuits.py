"""A circuit breaker per host and workspace: a host that keeps failing is left alone for a while.

A host has a database row only while it is failing. Ten failures in a row within a minute open the circuit for half a
minute. Then the claim lets one request through at a time (claims.py): its success deletes the row, its failure opens
the circuit again. After a minute without ten failures the count starts over. If nobody calls the host any more, its row
stays until `prune` deletes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection

FAILURES = 10
SECONDS_OPEN = 30
_SECONDS_IN_A_ROW = 60


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """What an attempt reveals about its host; a `probe` is the one request that an open circuit let through."""

    workspace_id: str
    host: str
    healthy: bool
    probe: bool


@dataclass(kw_only=True)
class _Streak:
    healthy: bool = False
    failures: int = 0  # since the last healthy answer
    probe_failed: bool = False


# Takes all locks before any change and in one order, so that two senders that note the same hosts wait for each other.
# Row locks would not do, because the rows come and go. A sender with neither failures nor probes takes no lock: it
# usually finds no row, skips rows that another sender is updating, and so never waits. A probe's success must delete
# its row, so it does wait.
_LOCK = """
SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(concat_ws(' ', 'webhook host', workspace_id, host), 0) AS key
    FROM unnest(%s::text[], %s::text[]) AS noted(workspace_id, host) ORDER BY key
) AS keys
"""

# Rows are deleted and updated by key, as in entering/waiting_jobs.py.
_CLOSE = """
DELETE FROM journeys_webhookhost WHERE id = ANY(ARRAY(
    SELECT circuit.id FROM unnest(%s::text[], %s::text[]) AS healthy(workspace_id, host)
    CROSS JOIN LATERAL (
        SELECT id FROM journeys_webhookhost known
        WHERE known.workspace_id = healthy.workspace_id AND known.host = healthy.host
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS circuit
))
"""

_COUNT = """
INSERT INTO journeys_webhookhost AS circuit (workspace_id, host, failures, failing_since, open_until)
SELECT failed.workspace_id, host, failures, now(),
       CASE WHEN failures >= %(most)s THEN now() + %(open)s * interval '1 second' END
FROM unnest(%(workspaces)s::text[], %(hosts)s::text[], %(failures)s::int[]) AS failed(workspace_id, host, failures)
JOIN engage_workspace workspace ON workspace.id = failed.workspace_id
ORDER BY failed.workspace_id, host
ON CONFLICT (workspace_id, host) DO UPDATE SET (failures, failing_since, open_until) = (
    SELECT count, since, CASE
        WHEN circuit.open_until IS NOT NULL THEN circuit.open_until
        WHEN count >= %(most)s THEN now() + %(open)s * interval '1 second'
    END
    FROM (
        SELECT CASE WHEN fresh THEN 0 ELSE circuit.failures END + excluded.failures AS count,
               CASE WHEN fresh THEN now() ELSE circuit.failing_since END AS since
        FROM (
            SELECT circuit.open_until IS NULL
                   AND circuit.failing_since < now() - %(row)s * interval '1 second' AS fresh
        ) AS age
    ) AS counted
)
"""

_OPEN_ANEW = """
UPDATE journeys_webhookhost circuit SET open_until = now() + %s * interval '1 second'
FROM unnest(%s::text[], %s::text[]) AS probed(workspace_id, host)
WHERE circuit.workspace_id = ANY(ARRAY[probed.workspace_id]) AND circuit.host = probed.host
"""


def note_attempts(attempts: Sequence[Attempted]) -> None:
    """Updates the circuits from attempts in the order in which they ended, within the caller's transaction."""
    streaks: dict[tuple[str, str], _Streak] = {}
    for attempt in attempts:
        streak = streaks.setdefault((attempt.workspace_id, attempt.host), _Streak())
        if attempt.healthy:
            streak.healthy, streak.failures, streak.probe_failed = True, 0, False
        else:
            streak.failures += 1
            streak.probe_failed |= attempt.probe
    healthy = sorted(key for key, streak in streaks.items() if streak.healthy)
    failing = sorted((*key, streak.failures) for key, streak in streaks.items() if streak.failures)
    probed = sorted(key for key, streak in streaks.items() if streak.probe_failed)
    with connection.cursor() as cursor:
        if failing or any(attempt.probe for attempt in attempts):
            cursor.execute(_LOCK, _columns(list(streaks)))
        if healthy:
            cursor.execute(_CLOSE, _columns(healthy))
        if failing:
            workspaces, hosts, failures = map(list, zip(*failing, strict=True))
            cursor.execute(
                _COUNT,
                {
                    "workspaces": workspaces, "hosts": hosts, "failures": failures,
                    "most": FAILURES, "open": SECONDS_OPEN, "row": _SECONDS_IN_A_ROW,
                },
            )  # fmt: skip
        if probed:
            cursor.execute(_OPEN_ANEW, [SECONDS_OPEN, *_columns(probed)])


def _columns(keys: Sequence[tuple[str, str]]) -> list[list[str]]:
    return [[workspace_id for workspace_id, _ in keys], [host for _, host in keys]]
