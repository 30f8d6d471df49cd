"""Circuit breakers, per workspace: what keeps failing is left alone for a while.

1. A source, such as a journey's step, has a circuit at each host that it sends to; it has a row only while it fails.
   Ten failures in a row, however long they take, open it for half a minute. Then the claim lets one request through at
   a time (claims.py): its success deletes the row, its failure opens the circuit again.
2. A host has one of its own, which stops all sources. Ten failures in a row open it if no connection was made, or if
   they were of three sources: one bad address, or one bad template, is no reason to leave all others waiting. What only
   shows that a source which is left alone still fails does not count for its host. Any answer that is well deletes the
   row. Its sources probe it in turn.

3. A receiver that asks for nothing more (`webhook-delivery: disable`) opens the circuit of the source for good: until
   staff have it tried again, which lets one request through as after any other failure. It says nothing of the host.

If nobody calls a host any more, rows stay until `prune` deletes them.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime

from engage.database.sql import Rows, Statement

FAILURES = 10
SOURCES = 3
SECONDS_OPEN = 30
# How long a circuit is open that a receiver asked for; `journeys_next_attempt` knows it as well.
DISABLED_UNTIL = datetime(9999, 1, 1, tzinfo=UTC)
DISABLED = "Its receiver asked for nothing more (webhook-delivery: disable). It is sent again once staff have it tried."
_DISABLED = f"'{DISABLED_UNTIL.isoformat()}'::timestamptz"
_HOSTS = {"workspace_id": "text", "host": "text"}
_CIRCUITS = {**_HOSTS, "source": "text"}


@dataclass(frozen=True, kw_only=True)
class Attempted:
    """What an attempt reveals about its host and its source.

    `probes_host` and `probes_source`: it was the one request that an open circuit let through. `disables`: the receiver
    asked for nothing more of this source. `failure` is in words.
    """

    workspace_id: str
    host: str
    source: str
    healthy: bool
    connected: bool = True
    probes_host: bool = False
    probes_source: bool = False
    disables: bool = False
    failure: str = ""

    @property
    def host_key(self) -> tuple[str, str]:
        return self.workspace_id, self.host

    @property
    def circuit_key(self) -> tuple[str, str, str]:
        return self.workspace_id, self.host, self.source

    @property
    def counts_for_host(self) -> bool:
        return not (self.probes_source and self.connected) or self.probes_host


@dataclass(kw_only=True)
class _Streak:
    """The failures since the last healthy answer, in the order of the attempts."""

    healthy: bool = False
    failures: int = 0
    unconnected: int = 0
    probe_failed: bool = False
    sources: set[str] = field(default_factory=set)
    last: str = ""

    def fail(self, attempt: Attempted, *, probe: bool) -> None:
        self.failures += 1
        self.unconnected = 0 if attempt.connected else self.unconnected + 1
        self.probe_failed |= probe
        self.sources.add(attempt.source)
        self.last = attempt.failure


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
WITH healthy AS MATERIALIZED (
    SELECT * FROM {circuits}
), of_sources AS (
    DELETE FROM journeys_webhookcircuit WHERE id = ANY(ARRAY(
        SELECT circuit.id FROM healthy CROSS JOIN LATERAL (
            SELECT id FROM journeys_webhookcircuit known
            WHERE known.workspace_id = healthy.workspace_id AND known.host = healthy.host
              AND known.source = healthy.source AND known.open_until IS DISTINCT FROM {disabled}
            LIMIT 1 FOR UPDATE SKIP LOCKED
        ) AS circuit
    ))
)
DELETE FROM journeys_webhookhost WHERE id = ANY(ARRAY(
    SELECT circuit.id FROM (SELECT DISTINCT workspace_id, host FROM healthy) AS healthy CROSS JOIN LATERAL (
        SELECT id FROM journeys_webhookhost known
        WHERE known.workspace_id = healthy.workspace_id AND known.host = healthy.host
        LIMIT 1 FOR UPDATE SKIP LOCKED
    ) AS circuit
))
""",
    circuits=Rows("noted", _CIRCUITS),
    disabled=_DISABLED,
)

_COUNT = Statement(
    """
WITH of_sources AS (
    INSERT INTO journeys_webhookcircuit AS circuit
        (workspace_id, host, source, failures, failing_since, open_until, last_failure)
    SELECT failing.workspace_id, host, source, failures, now(),
           CASE WHEN failures >= {most} THEN now() + {open} * interval '1 second' END, last_failure
    FROM {circuits}
    JOIN engage_workspace workspace ON workspace.id = failing.workspace_id
    ORDER BY failing.workspace_id, host, source
    ON CONFLICT (workspace_id, host, source) DO UPDATE SET
        failures = circuit.failures + excluded.failures, last_failure = excluded.last_failure,
        open_until = CASE
            WHEN circuit.open_until IS NOT NULL THEN circuit.open_until
            WHEN circuit.failures + excluded.failures >= {most} THEN now() + {open} * interval '1 second'
        END
)
INSERT INTO journeys_webhookhost AS circuit
    (workspace_id, host, failures, unconnected, failing_sources, failing_since, open_until, last_failure, probed_source)
SELECT failed.workspace_id, host, failures, unconnected, sources, now(), CASE
           WHEN unconnected >= {most} OR failures >= {most} AND cardinality(sources) >= {several}
           THEN now() + {open} * interval '1 second'
       END, last_failure, ''
FROM {hosts}
JOIN engage_workspace workspace ON workspace.id = failed.workspace_id
CROSS JOIN LATERAL (SELECT ARRAY(SELECT jsonb_array_elements_text(failed.sources_json::jsonb)) AS sources) AS listed
ORDER BY failed.workspace_id, host
ON CONFLICT (workspace_id, host) DO UPDATE SET (
    failures, unconnected, failing_sources, last_failure, open_until
) = (
    SELECT count, in_vain, sources, excluded.last_failure, CASE
        WHEN circuit.open_until IS NOT NULL THEN circuit.open_until
        WHEN in_vain >= {most} OR count >= {most} AND cardinality(sources) >= {several}
        THEN now() + {open} * interval '1 second'
    END
    FROM (
        SELECT circuit.failures + excluded.failures AS count,
               CASE WHEN excluded.unconnected < excluded.failures THEN excluded.unconnected
                    ELSE circuit.unconnected + excluded.unconnected END AS in_vain,
               ARRAY(
                   SELECT DISTINCT unnest(circuit.failing_sources || excluded.failing_sources) LIMIT {several}
               ) AS sources
    ) AS counted
)
""",
    circuits=Rows("failing", {**_CIRCUITS, "failures": "int", "last_failure": "text"}),
    hosts=Rows(
        "failed",
        {**_HOSTS, "failures": "int", "unconnected": "int", "sources_json": "text", "last_failure": "text"},
    ),
)

_OPEN_ANEW = Statement(
    """
WITH of_sources AS (
    UPDATE journeys_webhookcircuit circuit SET open_until = now() + {seconds} * interval '1 second'
    FROM {circuits}
    WHERE circuit.workspace_id = ANY(ARRAY[probing.workspace_id]) AND circuit.host = probing.host
      AND circuit.source = probing.source
)
UPDATE journeys_webhookhost circuit SET open_until = now() + {seconds} * interval '1 second'
FROM {hosts}
WHERE circuit.workspace_id = ANY(ARRAY[probed.workspace_id]) AND circuit.host = probed.host
""",
    circuits=Rows("probing", _CIRCUITS),
    hosts=Rows("probed", _HOSTS),
)

_Circuits = dict[tuple[str, str, str], _Streak]
_Hosts = dict[tuple[str, str], _Streak]


def note_attempts(attempts: Sequence[Attempted]) -> None:
    """Updates the circuits from attempts in the order in which they ended, within the caller's transaction."""
    disabled = sorted({attempt.circuit_key for attempt in attempts if attempt.disables})
    circuits, hosts = _streaks(attempt for attempt in attempts if not attempt.disables)
    failing = sorted((*key, one.failures, one.last) for key, one in circuits.items() if one.failures)
    if failing or disabled or any(attempt.probes_host or attempt.probes_source for attempt in attempts):
        _LOCK.execute(hosts=sorted({attempt.host_key for attempt in attempts}))
    if healthy := sorted(key for key, one in circuits.items() if one.healthy):
        _CLOSE.execute(circuits=healthy)
    if failing:
        _COUNT.execute(circuits=failing, hosts=list(_failed(hosts)), most=FAILURES, several=SOURCES, open=SECONDS_OPEN)
    probing = sorted(key for key, one in circuits.items() if one.probe_failed)
    probed = sorted(key for key, one in hosts.items() if one.probe_failed)
    if probing or probed:
        _OPEN_ANEW.execute(circuits=probing, hosts=probed, seconds=SECONDS_OPEN)
    if disabled:
        _DISABLE.execute(circuits=disabled, why=DISABLED)


def _streaks(attempts: Iterable[Attempted]) -> tuple[_Circuits, _Hosts]:
    circuits, hosts = _Circuits(), _Hosts()
    for attempt in attempts:
        host, circuit = attempt.host_key, attempt.circuit_key
        if attempt.healthy:
            circuits[circuit], hosts[host] = _Streak(healthy=True), _Streak(healthy=True)
            continue
        circuits.setdefault(circuit, _Streak()).fail(attempt, probe=attempt.probes_source)
        counted = hosts.setdefault(host, _Streak())
        if attempt.counts_for_host:
            counted.fail(attempt, probe=attempt.probes_host)
    return circuits, hosts


_DISABLE = Statement(
    """
INSERT INTO journeys_webhookcircuit AS circuit
    (workspace_id, host, source, failures, failing_since, open_until, last_failure)
SELECT noted.workspace_id, host, source, 0, now(), {disabled}, {why}
FROM {circuits}
JOIN engage_workspace workspace ON workspace.id = noted.workspace_id
WHERE source <> ''
ORDER BY noted.workspace_id, host, source
ON CONFLICT (workspace_id, host, source) DO UPDATE
SET open_until = excluded.open_until, last_failure = excluded.last_failure
""",
    circuits=Rows("noted", _CIRCUITS),
    disabled=_DISABLED,
)

_TRY_NOW = Statement("""
WITH of_sources AS (
    UPDATE journeys_webhookcircuit SET open_until = now()
    WHERE workspace_id = {workspace_id} AND host = {host} AND open_until > now()
      AND source = coalesce({source}, source)
    RETURNING 1
), of_host AS (
    UPDATE journeys_webhookhost SET open_until = now()
    WHERE workspace_id = {workspace_id} AND host = {host} AND open_until > now()
    RETURNING 1
)
SELECT count(*) FROM (SELECT FROM of_sources UNION ALL SELECT FROM of_host) AS tried
""")


def try_now(*, workspace_id: str, host: str, source: str | None) -> bool:
    """Ends the time for which a source is left alone at the host (None: all of them, and the host itself).

    The next claim lets one request of each through. The caller wakes the sender. Returns whether any was left alone.
    """
    return _TRY_NOW.column(workspace_id=workspace_id, host=host, source=source) != [0]


def _failed(hosts: _Hosts) -> Iterator[tuple[str, str, int, int, str, str]]:
    for key, one in sorted(hosts.items(), key=lambda item: item[0]):
        if one.failures:
            yield (*key, one.failures, one.unconnected, json.dumps(sorted(one.sources)[:SOURCES]), one.last)
