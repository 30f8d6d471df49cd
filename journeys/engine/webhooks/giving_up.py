"""Gives up deliveries that their step wants to be tried no later, without waiting for their turn.

A sender gives up what comes too late when its turn comes. Behind a circuit that is open, that would be one in half a
minute, and none of them would show whether the host is well again.
"""

from typing import Any

from engage.database.sql import Statement
from engage.redis.metric_counters import WEBHOOKS, metric_counters
from journeys.engine.due import Due
from journeys.engine.enrollments.trails import CALLED
from journeys.engine.webhooks.claim_statements import LEASE_SECONDS
from journeys.engine.webhooks.claims import ClaimedDelivery, traced
from journeys.engine.webhooks.results import given_up, write_each

_MOST = 500
# What would be needed to send one.
_UNSENT: dict[str, Any] = {
    "method": "", "url": "", "headers": {}, "body": None, "secrets": (), "asked": 0.0,
    "probes_host": False, "probes_source": False, "leased_until": "", "answer_rules": None, "seconds_late": 0.0,
}  # fmt: skip
# Whatever began in time has ended by then. What is held with its host waits until that is released.
_LATE = Statement(
    """
SELECT id, workspace_id, enrollment_id, ordinal, host, source, attempts + 1 AS number, again, give_up_at, now() AS at,
       called.*
FROM journeys_webhookdelivery delivery LEFT JOIN LATERAL ({called}) AS called ON true
WHERE state = 'waiting' AND give_up_at < now() - {lease} * interval '1 second' AND NOT EXISTS (
    SELECT FROM journeys_steeredhost steered
    WHERE steered.workspace_id = delivery.workspace_id AND steered.host = delivery.host AND steered.held_at IS NOT NULL
)
ORDER BY give_up_at LIMIT {most}
""",
    called=CALLED.replace("{enrollment_id}", "delivery.enrollment_id"),
)


def give_up_late() -> Due:
    """Ends some of the deliveries that are too late; returns what that makes due."""
    late = _LATE.records(lease=LEASE_SECONDS, most=_MOST)
    if not late:
        return Due()
    written = write_each([given_up(ClaimedDelivery(**traced(row), **_UNSENT)) for row in late], wait=False)
    for next_state, number in written.next_states.items():
        metric_counters.count(WEBHOOKS, next_state.name.lower(), by=number)
    return written.due
