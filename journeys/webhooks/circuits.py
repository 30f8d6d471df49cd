"""A circuit breaker per host and workspace: a host that keeps failing is left alone for a while.

A host has a database row only while it is failing. Ten failures in a row within a minute open the circuit for half a
minute. Then the claim lets one request through at a time (claims.py): its success deletes the row, its failure opens
the circuit again. After a minute without ten failures the count starts over. If nobody calls the host any more, its row
stays until `prune` deletes it.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engage.database.sql import Rows, Statement

FAILURES = 10
SECONDS_OPEN = 30
_SECONDS_IN_A_ROW = 60
_HOSTS = {"workspace_id": "text", "host": "text"}


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
_LOCK = Statement(
    """
SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(concat_ws(' ', 'webhook host', workspace_id, host), 0) AS key
    FROM {hosts} ORDER BY key
) AS keys
""",
    hosts=Rows("noted", _HOSTS),
)

# Rows are deleted and updated by key (docs/sql.md).
_CLOSE = Statement(
    """
DELETE FROM journeys_webhookhost WHERE id = ANY(ARRAY(
    SELECT circuit.id FROM {hosts}
    CROSS JOIN LATERAL (
        SELECT id FROM journeys_webhookhost known
        WHERE known.workspace_id = healthy.workspace_id AND known.host = healthy.host
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS circuit
))
""",
    hosts=Rows("healthy", _HOSTS),
)

_COUNT = Statement(
    """
INSERT INTO journeys_webhookhost AS circuit (workspace_id, host, failures, failing_since, open_until)
SELECT failed.workspace_id, host, failures, now(),
       CASE WHEN failures >= {most} THEN now() + {open} * interval '1 second' END
FROM {failing}
JOIN engage_workspace workspace ON workspace.id = failed.workspace_id
ORDER BY failed.workspace_id, host
ON CONFLICT (workspace_id, host) DO UPDATE SET (failures, failing_since, open_until) = (
    SELECT count, since, CASE
        WHEN circuit.open_until IS NOT NULL THEN circuit.open_until
        WHEN count >= {most} THEN now() + {open} * interval '1 second'
    END
    FROM (
        SELECT CASE WHEN fresh THEN 0 ELSE circuit.failures END + excluded.failures AS count,
               CASE WHEN fresh THEN now() ELSE circuit.failing_since END AS since
        FROM (
            SELECT circuit.open_until IS NULL
                   AND circuit.failing_since < now() - {row} * interval '1 second' AS fresh
        ) AS age
    ) AS counted
)
""",
    failing=Rows("failed", {**_HOSTS, "failures": "int"}),
)

_OPEN_ANEW = Statement(
    """
UPDATE journeys_webhookhost circuit SET open_until = now() + {seconds} * interval '1 second'
FROM {hosts}
WHERE circuit.workspace_id = ANY(ARRAY[probed.workspace_id]) AND circuit.host = probed.host
""",
    hosts=Rows("probed", _HOSTS),
)


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
    if failing or any(attempt.probe for attempt in attempts):
        _LOCK.execute(hosts=list(streaks))
    if healthy:
        _CLOSE.execute(hosts=healthy)
    if failing:
        _COUNT.execute(failing=failing, most=FAILURES, open=SECONDS_OPEN, row=_SECONDS_IN_A_ROW)
    if probed:
        _OPEN_ANEW.execute(hosts=probed, seconds=SECONDS_OPEN)
