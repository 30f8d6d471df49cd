"""The backlog and how late it is, for a monitoring system: queries that stay cheap however much waits or has passed.

Ages are read at the ends of indexes; counts stop at a limit.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Statement
from journeys.engine.steering.acts import GUARD
from journeys.engine.webhooks.claim_statements import DUE_HOSTS, FIRST_DUE, LANES
from journeys.models import Chunk

COUNTED_AT_MOST = 100_000


@dataclass(frozen=True, kw_only=True)
class Waiting:
    """Work of one kind: how much there is, up to COUNTED_AT_MOST, and how many seconds the most overdue is late."""

    number: int
    seconds_late: float


@dataclass(frozen=True, kw_only=True)
class LaneBacklog:
    """The jobs of a lane, counted over at most COUNTED_AT_MOST chunks. A chunk is late once its turn has come.

    In place of a lane, `scheduled` has those that have come due and that no scheduler has put into one yet.
    """

    lane: str
    jobs: Waiting


@dataclass(frozen=True, kw_only=True)
class Backlog:
    """The backlog of all workspaces together.

    `open_circuits` are those of hosts and of sources together. `seconds_failing` is for how long the first of them has
    failed without a success; 0 if none is open.
    """

    lanes: Sequence[LaneBacklog]
    enrollments: Waiting
    webhooks: Waiting
    open_circuits: int
    seconds_failing: float
    held: "HeldNow"
    subscriptions: "SubscriptionsNow"


@dataclass(frozen=True, kw_only=True)
class HeldNow:
    """How many journeys are held, by their own guards and by others, and how many hosts."""

    by_guard: int
    by_others: int
    hosts: int


@dataclass(frozen=True, kw_only=True)
class SubscriptionsNow:
    """How many subscriptions are paused, and for how long the first of the others has taken nothing; 0 if all do."""

    paused: int
    seconds_failing: float


# The first turns are found by skipping from workspace to workspace.
_LANES = Statement(
    """
WITH RECURSIVE first AS (
    SELECT lane, chunk.* FROM unnest({lanes}::text[]) AS wanted(lane) CROSS JOIN LATERAL (
        SELECT workspace_id, turn_at FROM journeys_chunk, {in_index_order}
        WHERE lane = wanted.lane ORDER BY workspace_id, turn_at LIMIT 1
    ) AS chunk
    UNION ALL
    SELECT lane, chunk.* FROM first CROSS JOIN LATERAL (
        SELECT workspace_id, turn_at FROM journeys_chunk, {in_index_order}
        WHERE lane = first.lane AND workspace_id > first.workspace_id ORDER BY workspace_id, turn_at LIMIT 1
    ) AS chunk
)
SELECT lane,
       (SELECT coalesce(sum(stop - start), 0) FROM (
            SELECT start, stop FROM journeys_chunk WHERE lane = wanted.lane LIMIT {most}
        ) AS counted),
       extract(epoch FROM now() - (SELECT min(turn_at) FROM first WHERE first.lane = wanted.lane))
FROM unnest({lanes}::text[]) AS wanted(lane)
UNION ALL
SELECT 'scheduled', coalesce(sum(stop - start), 0), extract(epoch FROM now() - min(due_at)) FROM (
    SELECT start, stop, due_at FROM journeys_chunk
    WHERE lane = 'scheduled' AND due_at <= now() ORDER BY due_at LIMIT {most}
) AS overdue
""",
    in_index_order=IN_INDEX_ORDER,
)

_ENROLLMENTS = Statement("""
SELECT (SELECT count(*) FROM (
            SELECT FROM journeys_enrollment WHERE due_at <= now() LIMIT {most}
        ) AS counted),
       extract(epoch FROM now() - (SELECT min(due_at) FROM journeys_enrollment WHERE state = 'active'))
""")

# A delivery whose host or source is left alone is meant to wait; it is late only after the circuit's time. One to a
# host that is held is not late at all.
_WEBHOOKS = Statement(
    """
WITH RECURSIVE {hosts}, {lanes}, open AS (
    SELECT failing_since FROM journeys_webhookhost WHERE open_until > now()
    UNION ALL SELECT failing_since FROM journeys_webhookcircuit WHERE open_until > now()
)
SELECT (SELECT count(*) FROM (SELECT FROM journeys_webhookdelivery WHERE state = 'waiting' LIMIT {most}) AS counted),
       extract(epoch FROM now() - (
            SELECT min(greatest(first.due_at, circuit.open_until, source_circuit.open_until))
            FROM lanes LEFT JOIN journeys_webhookhost circuit USING (workspace_id, host)
            LEFT JOIN journeys_webhookcircuit source_circuit USING (workspace_id, host, source)
            LEFT JOIN journeys_steeredhost steered USING (workspace_id, host)
            CROSS JOIN LATERAL (SELECT due_at FROM ({first_due}) AS earliest LIMIT 1) AS first
            WHERE steered.held_at IS NULL
       )),
       (SELECT count(*) FROM open), (SELECT extract(epoch FROM now() - min(failing_since)) FROM open)
""",
    hosts=DUE_HOSTS,
    lanes=LANES,
    first_due=FIRST_DUE,
)


# The condition of the index of all journeys that are steered.
_HELD = Statement("""
SELECT count(*) FILTER (WHERE held_by = {guard}), count(*) FILTER (WHERE held_by <> {guard}),
       (SELECT count(*) FROM journeys_steeredhost WHERE held_at IS NOT NULL)
FROM journeys_journey WHERE (held_at IS NOT NULL OR resumed_at IS NOT NULL) AND held_at IS NOT NULL
""")


_SUBSCRIPTIONS = Statement("""
SELECT count(*) FILTER (WHERE paused_at IS NOT NULL),
       extract(epoch FROM now() - min(failing_since) FILTER (WHERE paused_at IS NULL))
FROM journeys_subscription
""")


def backlog() -> Backlog:
    """The current backlog, and what is held or paused, in five statements."""
    lanes = _LANES.rows(lanes=Chunk.Lane.values, most=COUNTED_AT_MOST)
    (enrollments,) = _ENROLLMENTS.rows(most=COUNTED_AT_MOST)
    ((webhooks, late, circuits, failing),) = _WEBHOOKS.rows(most=COUNTED_AT_MOST)
    ((by_guard, by_others, hosts),) = _HELD.rows(guard=GUARD)
    ((paused, subscription_failing),) = _SUBSCRIPTIONS.rows()
    return Backlog(
        lanes=[LaneBacklog(lane=lane, jobs=_waiting(*waiting)) for lane, *waiting in lanes],
        enrollments=_waiting(*enrollments),
        webhooks=_waiting(webhooks, late),
        open_circuits=circuits,
        seconds_failing=float(failing or 0),
        held=HeldNow(by_guard=by_guard, by_others=by_others, hosts=hosts),
        subscriptions=SubscriptionsNow(paused=paused, seconds_failing=max(0.0, float(subscription_failing or 0))),
    )


def _waiting(number: int, late: float | None) -> Waiting:
    return Waiting(number=int(number), seconds_late=max(0.0, float(late or 0)))
