"""Claims due deliveries: as many as can be sent at once, and for no host more than it has room for.

1. A claim is one committed statement. It leases the delivery by postponing its due time for longer than a request can
   take: no other sender sends it meanwhile, and if the sender dies it is claimed again.
2. The hosts with waiting deliveries are found by skipping through the index from one to the next, however many
   deliveries wait at each.
3. Hosts with the fewest requests in flight come first. Each gets an equal share, the earliest due first. But before
   that, workspaces take turns: one with few requests in flight comes before one with many, however many hosts it has.
4. A host whose circuit is open is passed over. Once that time is over, one sender may let one delivery through, and
   its claim opens the circuit again.
"""

import json
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Rows, Statement
from engage.encryption import decrypted, decrypted_json
from journeys.models import WebhookDelivery
from journeys.webhooks.host_slots import HostSlots
from journeys.webhooks.signing_secrets import current_secrets

LEASE_SECONDS = 30


@dataclass(frozen=True, kw_only=True)
class ClaimedDelivery:
    """A delivery to be sent now, as attempt `number`. `secrets` sign it, the current one first."""

    id: int
    workspace_id: str
    webhook_id: str
    host: str
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: str | None = field(repr=False)
    number: int
    again: bool
    probe: bool
    secrets: tuple[str, ...] = field(repr=False)
    at: datetime
    _counted_from: float = field(default_factory=time.monotonic, repr=False)

    def now(self) -> datetime:
        """The time by the database's clock: when the delivery was claimed, plus the seconds since."""
        return self.at + timedelta(seconds=time.monotonic() - self._counted_from)


# Part of a WITH RECURSIVE statement: skips from host to host through the index, however many deliveries wait at each.
WAITING_HOSTS = """
hosts AS (
    (SELECT workspace_id, host FROM journeys_webhookdelivery, {in_index_order} WHERE state = 'waiting'
     ORDER BY workspace_id, host LIMIT 1)
    UNION ALL
    SELECT following.workspace_id, following.host FROM hosts CROSS JOIN LATERAL (
        SELECT workspace_id, host FROM journeys_webhookdelivery, {in_index_order}
        WHERE state = 'waiting' AND (workspace_id, host) > (hosts.workspace_id, hosts.host)
        ORDER BY workspace_id, host LIMIT 1
    ) AS following
)
""".replace("{in_index_order}", IN_INDEX_ORDER)

# Circuits and deliveries are looked up and updated by key (docs/sql.md).
_CLAIM = Statement(
    """
WITH RECURSIVE {waiting_hosts}, known AS (
    SELECT * FROM {hosts}
), busy AS (
    SELECT * FROM {workspaces}
), probes AS MATERIALIZED (
    SELECT id FROM journeys_webhookhost WHERE open_until <= now() FOR UPDATE SKIP LOCKED
), chosen AS MATERIALIZED (
    SELECT hosts.workspace_id, hosts.host, probe.id AS probe_id,
           CASE WHEN probe.id IS NULL THEN coalesce(room, {room}) ELSE 1 END AS room,
           ceil({free} / count(*) OVER ()::numeric) AS share
    FROM hosts
    LEFT JOIN known USING (host)
    LEFT JOIN busy USING (workspace_id)
    LEFT JOIN LATERAL (
        SELECT id, open_until FROM journeys_webhookhost failing
        WHERE failing.workspace_id = hosts.workspace_id AND failing.host = hosts.host LIMIT 1
    ) AS circuit ON true
    CROSS JOIN LATERAL (SELECT CASE WHEN circuit.id IN (SELECT id FROM probes) THEN circuit.id END AS id) AS probe
    CROSS JOIN LATERAL (
        SELECT due_at FROM journeys_webhookdelivery, {in_index_order}
        WHERE state = 'waiting' AND workspace_id = hosts.workspace_id AND host = hosts.host AND due_at <= now()
        ORDER BY due_at LIMIT 1
    ) AS first
    WHERE coalesce(room, 1) > 0 AND (circuit.open_until IS NULL OR probe.id IS NOT NULL)
    ORDER BY coalesce(in_flight, 0) + row_number() OVER (
        PARTITION BY hosts.workspace_id ORDER BY coalesce(requests, 0), first.due_at
    ), first.due_at LIMIT {free}
), due AS MATERIALIZED (
    SELECT delivery.id, chosen.host, chosen.room, chosen.probe_id,
           row_number() OVER (PARTITION BY workspace_id, chosen.host ORDER BY due_at, delivery.id) AS place, due_at
    FROM chosen CROSS JOIN LATERAL (
        SELECT id, due_at FROM journeys_webhookdelivery, {in_index_order}
        WHERE state = 'waiting' AND workspace_id = chosen.workspace_id AND host = chosen.host AND due_at <= now()
        ORDER BY due_at LIMIT least(chosen.room, chosen.share) FOR UPDATE OF journeys_webhookdelivery SKIP LOCKED
    ) AS delivery
), taken AS MATERIALIZED (
    SELECT id, probe_id FROM (
        SELECT *, row_number() OVER (PARTITION BY host ORDER BY place, due_at, id) AS place_at_host FROM due
    ) AS ranked
    WHERE place_at_host <= room ORDER BY place, due_at LIMIT {free}
), probing AS (
    UPDATE journeys_webhookhost SET open_until = now() + {lease} * interval '1 second'
    WHERE id = ANY(ARRAY(SELECT probe_id FROM taken))
)
UPDATE journeys_webhookdelivery delivery SET due_at = now() + {lease} * interval '1 second'
FROM taken WHERE delivery.id = ANY(ARRAY[taken.id])
RETURNING delivery.id, delivery.workspace_id, delivery.enrollment_id, delivery.ordinal, delivery.host, delivery.method,
    delivery.url, delivery.headers, delivery.body, delivery.attempts + 1 AS number, delivery.again,
    taken.probe_id IS NOT NULL AS probe,
    ARRAY(
        SELECT secret FROM journeys_webhooksecret secret
        WHERE secret.workspace_id = delivery.workspace_id AND (retires_at IS NULL OR retires_at > now())
        ORDER BY secret.id DESC
    ) AS secrets, clock_timestamp() AS at
""",
    waiting_hosts=WAITING_HOSTS,
    in_index_order=IN_INDEX_ORDER,
    hosts=Rows("known", {"host": "text", "requests": "int", "room": "int"}),
    workspaces=Rows("busy", {"workspace_id": "text", "in_flight": "int"}),
)


def claim_due(slots: HostSlots) -> list[ClaimedDelivery]:
    """Claims deliveries to send now, no more than there is room for."""
    rows = _CLAIM.records(
        free=slots.free,
        room=slots.of_a_host,
        lease=LEASE_SECONDS,
        hosts=list(slots.of_known_hosts()),
        workspaces=list(slots.of_workspaces.items()),
    )
    made = current_secrets(row["workspace_id"] for row in rows if not row["secrets"])
    return [
        _claimed(row, secrets=tuple(map(decrypted, row["secrets"])) or (made[row["workspace_id"]],)) for row in rows
    ]


def _claimed(row: Mapping[str, Any], *, secrets: tuple[str, ...]) -> ClaimedDelivery:
    return ClaimedDelivery(
        id=row["id"],
        workspace_id=row["workspace_id"],
        webhook_id=WebhookDelivery(enrollment_id=row["enrollment_id"], ordinal=row["ordinal"]).webhook_id,
        host=row["host"],
        method=row["method"],
        url=row["url"],
        headers=decrypted_json(json.loads(row["headers"])),
        body=row["body"],
        number=row["number"],
        again=row["again"],
        probe=row["probe"],
        secrets=secrets,
        at=row["at"],
    )
