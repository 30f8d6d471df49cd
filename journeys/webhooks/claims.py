"""Claims due deliveries: as many as can be sent at once, and for no host more than it has room for.

1. A claim is one committed statement. It leases the delivery by postponing its due time for longer than a request can
   take: no other sender sends it meanwhile, and if the sender dies it is claimed again.
2. The hosts with waiting deliveries are found by skipping through the index from one to the next, however many
   deliveries wait at each.
3. Hosts with the fewest requests in flight come first. Each gets an equal share, the earliest due first. But before
   that, workspaces take turns: one with few requests in flight comes before one with many, however many hosts it has.
4. A host whose circuit is open is passed over, and of other hosts each source whose own is. Once that time is over, one
   sender may let one delivery through, and its claim opens the circuit again. A host's sources probe it in turn.
5. A host that is held is passed over, too. One with a rate gets no more than it is due: the claim notes when the next
   request may begin, and locks what it notes, so senders share the rate. So does a connection: of its rate and its
   host's, the lower counts.
6. A delivery whose journey is held is suspended. The journey's row is locked against a resumption meanwhile, which
   therefore finds it. A claim may be older than a hold that has been answered, so an attempt only begins for a moment
   after its claim began to look; later, it is looked at again, or given back.
7. A delivery that cannot be read, because the key is missing that decrypts it, costs the others nothing: it keeps its
   lease, and its `result` says why it waits. No attempt is used up.
"""

import json
import math
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any

import structlog

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Rows, Statement
from engage.encryption import decrypted, decrypted_json
from journeys.failures import for_the_record
from journeys.models import WebhookDelivery
from journeys.models.credentials import SECRET_URL
from journeys.webhooks.host_slots import HostSlots
from journeys.webhooks.signing_secrets import current_secrets

log = structlog.get_logger(__name__)
LEASE_SECONDS = 30
# After a claim has begun, its attempts begin within the first of these. A claim that takes longer than the second is
# looked at again.
BEGIN_SECONDS, _CLAIM_SECONDS = 0.5, 0.25
_MOST_SUSPENDED = 500  # how many more deliveries to a host a claim looks at while any journey is held


@dataclass(frozen=True, kw_only=True)
class ClaimedDelivery:
    """A delivery to be sent now, as attempt `number`. `secrets` sign it, the current one first.

    It was claimed `at` that time, `seconds_late` after it had become due.
    """

    id: int
    workspace_id: str
    webhook_id: str
    host: str
    source: str
    method: str
    url: str
    headers: Mapping[str, str] = field(repr=False)
    body: str | None = field(repr=False)
    number: int
    again: bool
    give_up_at: datetime | None
    answer_rules: str | None = field(repr=False)
    probes_host: bool
    probes_source: bool
    secrets: tuple[str, ...] = field(repr=False)
    at: datetime
    seconds_late: float
    leased_until: str
    asked: float = field(repr=False)
    _counted_from: float = field(default_factory=time.monotonic, repr=False)

    @property
    def probe(self) -> bool:
        """Whether it is the one request that an open circuit lets through."""
        return self.probes_host or self.probes_source

    def may_begin(self) -> bool:
        """Whether nothing can have been held since that this does not know of, and that was answered."""
        return time.monotonic() - self.asked < BEGIN_SECONDS

    @property
    def left(self) -> float:
        """Seconds until it is given up; less than 0 if it is too late for an attempt."""
        return math.inf if self.give_up_at is None else (self.give_up_at - self.now()).total_seconds()

    @property
    def seconds_overdue(self) -> float:
        """By now."""
        return self.seconds_late + (self.now() - self.at).total_seconds()

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

# What is held, or released in its turn, whenever it became due: so long as there is any, each delivery's journey is
# looked up. `delivery` has the enrollment and the due time.
_PAUSING = """
pausing AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM journeys_journey WHERE held_at IS NOT NULL OR resumed_at IS NOT NULL) AS any_journey
)
"""
_PAUSED_JOURNEY = """
    SELECT journey.id
    FROM (SELECT * FROM journeys_enrollment known WHERE known.id = delivery.enrollment_id LIMIT 1) AS standing
    CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = standing.journey_id LIMIT 1) AS journey
    WHERE (SELECT any_journey FROM pausing) AND (
        journey.held_at IS NOT NULL OR journey.per_minute IS NOT NULL AND delivery.due_at < journey.resumed_at
    )
"""
_STEERED_HOST = """
    SELECT * FROM journeys_steeredhost known
    WHERE known.workspace_id = {of}.workspace_id AND known.host = {of}.host LIMIT 1
"""

# The circuits whose time is over. A sender that has one locked may let one request through.
_PROBES = """
probes AS MATERIALIZED (
    SELECT id FROM journeys_webhookhost WHERE open_until <= now() FOR UPDATE SKIP LOCKED
), source_probes AS MATERIALIZED (
    SELECT id FROM journeys_webhookcircuit WHERE open_until <= now() FOR UPDATE SKIP LOCKED
)
"""

# Part of a WITH RECURSIVE statement: what is sent apart. Usually that is all that goes to a host. Where a source of it
# is left alone or has a rate, or the host is to be probed, it is what each source sends there, found by skipping
# through the index.
LANES = """
divided AS MATERIALIZED (
    SELECT workspace_id, host FROM journeys_webhookcircuit WHERE open_until IS NOT NULL
    UNION SELECT workspace_id, host FROM journeys_webhookhost WHERE open_until <= now()
    UNION SELECT workspace_id, host FROM journeys_connection WHERE per_second IS NOT NULL
), sources AS (
    SELECT divided.workspace_id, divided.host, first.source FROM divided CROSS JOIN LATERAL (
        SELECT source FROM journeys_webhookdelivery, {in_index_order}
        WHERE state = 'waiting' AND workspace_id = divided.workspace_id AND host = divided.host
        ORDER BY source LIMIT 1
    ) AS first
    UNION ALL
    SELECT sources.workspace_id, sources.host, following.source FROM sources CROSS JOIN LATERAL (
        SELECT source FROM journeys_webhookdelivery, {in_index_order}
        WHERE state = 'waiting' AND workspace_id = sources.workspace_id AND host = sources.host
          AND source > sources.source
        ORDER BY source LIMIT 1
    ) AS following
), lanes AS MATERIALIZED (
    SELECT undivided.*, NULL::varchar AS source
    FROM (SELECT workspace_id, host FROM hosts EXCEPT SELECT workspace_id, host FROM divided) AS undivided
    UNION ALL SELECT workspace_id, host, source FROM sources
)
""".replace("{in_index_order}", IN_INDEX_ORDER)

# The deliveries of a lane that are due, the earliest first.
_DUE_IN = """
    SELECT * FROM (
        SELECT id, due_at, enrollment_id, source FROM journeys_webhookdelivery, {in_index_order}
        WHERE {lane}.source IS NULL AND state = 'waiting' AND workspace_id = {lane}.workspace_id AND host = {lane}.host
          AND due_at <= now()
        ORDER BY due_at LIMIT {limit} {locked}
    ) AS at_host
    UNION ALL SELECT * FROM (
        SELECT id, due_at, enrollment_id, source FROM journeys_webhookdelivery, {in_index_order}
        WHERE {lane}.source IS NOT NULL AND state = 'waiting' AND workspace_id = {lane}.workspace_id
          AND host = {lane}.host AND source = {lane}.source AND due_at <= now()
        ORDER BY due_at LIMIT {limit} {locked}
    ) AS of_source
"""


FIRST_DUE = (
    _DUE_IN.replace("{lane}", "lanes")
    .replace("{limit}", "1")
    .replace("{locked}", "")
    .replace("{in_index_order}", IN_INDEX_ORDER)
)
_LOOKED_AT = "chosen.most + (SELECT CASE WHEN any_journey THEN {most_suspended} ELSE 0 END FROM pausing)"
_LOCKED = "FOR UPDATE OF journeys_webhookdelivery SKIP LOCKED"

# How many requests may begin now at each host, and by each connection, that has a rate. A sender that has its row
# locked may use them.
_ALLOWED = """
    CASE WHEN begin_at <= now()
        THEN 1 + floor(extract(epoch FROM now() - begin_at)::float * per_second)::int ELSE 0
    END AS allowed
"""
_PACED = """
paced AS MATERIALIZED (
    SELECT *, {allowed} FROM (
        SELECT id, per_second, greatest(next_at, now() - interval '100 milliseconds') AS begin_at
        FROM journeys_steeredhost WHERE per_second IS NOT NULL AND held_at IS NULL FOR UPDATE SKIP LOCKED
    ) AS host
), rated AS MATERIALIZED (
    SELECT id, 'connection:' || id AS source FROM journeys_connection WHERE per_second IS NOT NULL
), paced_source AS MATERIALIZED (
    SELECT *, {allowed} FROM (
        SELECT id, per_second, greatest(next_at, now() - interval '100 milliseconds') AS begin_at
        FROM journeys_connection WHERE per_second IS NOT NULL FOR NO KEY UPDATE SKIP LOCKED
    ) AS connection
)
""".replace("{allowed}", _ALLOWED)

# The lanes from which something may be sent now. If the host is to be probed, that is one: the next in turn.
_OPEN = """
open AS MATERIALIZED (
    SELECT lanes.*, probe.id AS probe_id, source_probe.id AS source_probe_id, paced.id AS paced_id, paced.allowed,
           rated.id AS rated_id, paced_source.allowed AS allowed_source,
           first.due_at, coalesce(known.requests, 0) AS requests, coalesce(in_flight, 0) AS in_flight,
           coalesce(known.room, {room}) AS room, probe.id IS NULL OR row_number() OVER (
               PARTITION BY lanes.workspace_id, lanes.host, probe.id
               ORDER BY lanes.source <= circuit.probed_source, lanes.source
           ) = 1 AS its_turn
    FROM lanes
    LEFT JOIN known USING (host)
    LEFT JOIN busy USING (workspace_id)
    LEFT JOIN LATERAL (
        SELECT id, open_until, probed_source FROM journeys_webhookhost failing
        WHERE failing.workspace_id = lanes.workspace_id AND failing.host = lanes.host LIMIT 1
    ) AS circuit ON true
    LEFT JOIN LATERAL (
        SELECT id, open_until FROM journeys_webhookcircuit failing
        WHERE failing.workspace_id = lanes.workspace_id AND failing.host = lanes.host AND failing.source = lanes.source
        LIMIT 1
    ) AS source_circuit ON true
    CROSS JOIN LATERAL (SELECT CASE WHEN circuit.id IN (SELECT id FROM probes) THEN circuit.id END AS id) AS probe
    CROSS JOIN LATERAL (
        SELECT CASE WHEN source_circuit.id IN (SELECT id FROM source_probes) THEN source_circuit.id END AS id
    ) AS source_probe
    CROSS JOIN LATERAL (SELECT due_at FROM ({first_due}) AS earliest LIMIT 1) AS first
    LEFT JOIN LATERAL ({steered_host}) AS steered ON true
    LEFT JOIN paced ON paced.id = steered.id
    LEFT JOIN rated ON rated.source = lanes.source
    LEFT JOIN paced_source ON paced_source.id = rated.id
    WHERE coalesce(known.room, 1) > 0 AND (circuit.open_until IS NULL OR probe.id IS NOT NULL)
      AND (source_circuit.open_until IS NULL OR source_probe.id IS NOT NULL)
      AND steered.held_at IS NULL AND (steered.per_second IS NULL OR paced.allowed > 0)
      AND (rated.id IS NULL OR paced_source.allowed > 0)
)
"""

# Whose turn it is: workspaces with few requests in flight first, and of their lanes those to hosts with few.
_CHOSEN = """
chosen AS MATERIALIZED (
    SELECT workspace_id, host, source, probe_id, source_probe_id, paced_id, rated_id, least(room, allowed) AS room,
           least(room, allowed, allowed_source, share,
               CASE WHEN probe_id IS NOT NULL OR source_probe_id IS NOT NULL THEN 1 END) AS most
    FROM (
        SELECT *, ceil({free} / count(*) OVER ()::numeric) AS share, in_flight + row_number() OVER (
            PARTITION BY workspace_id ORDER BY requests, due_at
        ) AS turn
        FROM open WHERE its_turn
    ) AS ranked
    ORDER BY turn, due_at LIMIT {free}
)
"""

# Deliveries of these lanes, locked, and behind each what is suspended with its journey.
_DUE = """
due AS MATERIALIZED (
    SELECT delivery.id, chosen.host, delivery.source, chosen.room, chosen.most, chosen.probe_id,
           chosen.source_probe_id, chosen.paced_id, chosen.rated_id, paused.id AS paused_id, row_number() OVER (
               PARTITION BY workspace_id, chosen.host, chosen.source, paused.id IS NULL ORDER BY due_at, delivery.id
           ) AS place, due_at
    FROM chosen CROSS JOIN LATERAL ({due_in_lane}) AS delivery
    LEFT JOIN LATERAL ({paused_journey}) AS paused ON true
), held AS MATERIALIZED (
    SELECT id FROM journeys_journey
    WHERE id = ANY(ARRAY(SELECT DISTINCT paused_id FROM due WHERE paused_id IS NOT NULL))
      AND (held_at IS NOT NULL OR per_minute IS NOT NULL)
    ORDER BY id FOR SHARE
), suspended AS (
    UPDATE journeys_webhookdelivery delivery SET state = 'held', held_for = due.paused_id
    FROM due WHERE delivery.id = ANY(ARRAY[due.id]) AND due.paused_id = ANY(ARRAY(SELECT id FROM held))
    RETURNING 1
)
"""

# Those that there is room for: in their lanes, at their hosts and in all.
_TAKEN = """
taken AS MATERIALIZED (
    SELECT id, source, probe_id, source_probe_id, paced_id, rated_id, due_at FROM (
        SELECT *, row_number() OVER (PARTITION BY host ORDER BY place, due_at, id) AS place_at_host
        FROM due WHERE paused_id IS NULL AND place <= most
    ) AS ranked
    WHERE place_at_host <= room ORDER BY place, due_at LIMIT {free}
)
"""

# What is noted of them: that a circuit is being probed, and when the next may begin at a host that has a rate.
_NOTED = """
probing AS (
    UPDATE journeys_webhookhost circuit
    SET open_until = now() + {lease} * interval '1 second', probed_source = taken.source
    FROM taken WHERE circuit.id = ANY(ARRAY[taken.probe_id])
), probing_source AS (
    UPDATE journeys_webhookcircuit SET open_until = now() + {lease} * interval '1 second'
    WHERE id = ANY(ARRAY(SELECT source_probe_id FROM taken))
), pacing AS (
    UPDATE journeys_steeredhost steered
    SET next_at = paced.begin_at + begun.number / paced.per_second * interval '1 second'
    FROM paced CROSS JOIN LATERAL (SELECT count(*) AS number FROM taken WHERE taken.paced_id = paced.id) AS begun
    WHERE steered.id = ANY(ARRAY[paced.id]) AND begun.number > 0
), pacing_source AS (
    UPDATE journeys_connection connection
    SET next_at = paced_source.begin_at + begun.number / paced_source.per_second * interval '1 second'
    FROM paced_source
    CROSS JOIN LATERAL (SELECT count(*) AS number FROM taken WHERE taken.rated_id = paced_source.id) AS begun
    WHERE connection.id = ANY(ARRAY[paced_source.id]) AND begun.number > 0
)
"""

_CLAIMED = """
claimed AS (
    UPDATE journeys_webhookdelivery delivery SET due_at = now() + {lease} * interval '1 second'
    FROM taken WHERE delivery.id = ANY(ARRAY[taken.id])
    RETURNING delivery.id, delivery.workspace_id, delivery.enrollment_id, delivery.ordinal, delivery.host,
        delivery.source, delivery.method, delivery.url, delivery.headers, delivery.body,
        delivery.attempts + 1 AS number, delivery.again, delivery.give_up_at,
        delivery.answer_rules::text AS answer_rules, delivery.due_at::text AS leased_until,
        taken.probe_id IS NOT NULL AS probes_host, taken.source_probe_id IS NOT NULL AS probes_source,
        ARRAY(
            SELECT secret FROM journeys_webhooksecret secret
            WHERE secret.workspace_id = delivery.workspace_id AND (retires_at IS NULL OR retires_at > now())
            ORDER BY secret.id DESC
        ) AS secrets, clock_timestamp() AS at,
        extract(epoch FROM clock_timestamp() - taken.due_at)::float8 AS seconds_late
)
"""

# Whether more is due to a host, or by a connection, that has a rate.
_ANY_PACED = """
    SELECT FROM journeys_steeredhost steered CROSS JOIN LATERAL (
        SELECT FROM journeys_webhookdelivery, {in_index_order}
        WHERE state = 'waiting' AND workspace_id = steered.workspace_id AND host = steered.host AND due_at <= now()
        LIMIT 1
    ) AS due_there
    WHERE per_second IS NOT NULL AND held_at IS NULL
    UNION ALL SELECT FROM journeys_connection connection CROSS JOIN LATERAL (
        SELECT FROM journeys_webhookdelivery, {in_index_order}
        WHERE state = 'waiting' AND workspace_id = connection.workspace_id AND host = connection.host
          AND source = 'connection:' || connection.id AND due_at <= now()
        LIMIT 1
    ) AS due_by_it
    WHERE per_second IS NOT NULL
"""

# Circuits and deliveries are looked up and updated by key (docs/sql.md).
_PIECES = (WAITING_HOSTS, LANES, _PAUSING, _PROBES, _PACED, _OPEN, _CHOSEN, _DUE, _TAKEN, _NOTED, _CLAIMED)
_CLAIM = Statement(
    """
WITH RECURSIVE known AS (SELECT * FROM {hosts}), busy AS (SELECT * FROM {workspaces}), {pieces}
SELECT claimed.*, (SELECT count(*) FROM suspended) AS suspended, EXISTS ({any_paced}) AS paced
FROM (VALUES (true)) AS always LEFT JOIN claimed ON true
""",
    pieces=", ".join(_PIECES),
    any_paced=_ANY_PACED,
    first_due=FIRST_DUE,
    due_in_lane=_DUE_IN.replace("{lane}", "chosen").replace("{limit}", _LOOKED_AT).replace("{locked}", _LOCKED),
    paused_journey=_PAUSED_JOURNEY,
    steered_host=_STEERED_HOST.replace("{of}", "lanes"),
    most_suspended=str(_MOST_SUSPENDED),
    in_index_order=IN_INDEX_ORDER,
    hosts=Rows("known", {"host": "text", "requests": "int", "room": "int"}),
    workspaces=Rows("busy", {"workspace_id": "text", "in_flight": "int"}),
)


_NOT_HELD = Statement(
    """
WITH {pausing}
SELECT delivery.id FROM journeys_webhookdelivery delivery
LEFT JOIN LATERAL ({steered_host}) AS steered ON true
LEFT JOIN LATERAL ({paused_journey}) AS paused ON true
WHERE delivery.id = ANY({ids}::bigint[]) AND paused.id IS NULL AND steered.held_at IS NULL
""",
    pausing=_PAUSING,
    paused_journey=_PAUSED_JOURNEY,
    steered_host=_STEERED_HOST.replace("{of}", "delivery"),
)
_GIVE_BACK = Statement(
    """
UPDATE journeys_webhookdelivery delivery SET due_at = now()
FROM {unsent} WHERE delivery.id = ANY(ARRAY[unsent.id]) AND delivery.attempts = unsent.number - 1
  AND delivery.due_at = unsent.leased_until AND delivery.state || '' = 'waiting'
""",
    unsent=Rows("unsent", {"id": "bigint", "number": "int", "leased_until": "timestamptz"}),
)
_SAY_WHY = Statement(
    """
UPDATE journeys_webhookdelivery delivery SET result = unready.reason
FROM {unready} WHERE delivery.id = ANY(ARRAY[unready.id]) AND delivery.state || '' = 'waiting'
  AND delivery.result <> unready.reason
""",
    unready=Rows("unready", {"id": "bigint", "reason": "text"}),
)


def claim_due(slots: HostSlots) -> list[ClaimedDelivery]:
    """Claims deliveries to send now, no more than there is room for; notes whether hosts have more than their rate."""
    while True:
        asked = time.monotonic()
        found = _CLAIM.records(
            free=slots.free,
            room=slots.of_a_host,
            lease=LEASE_SECONDS,
            hosts=list(slots.of_known_hosts()),
            workspaces=list(slots.of_workspaces.items()),
        )
        slots.paced, suspended = found[0]["paced"], found[0]["suspended"]
        claimed, unready = _opened([row for row in found if row["id"] is not None], asked)
        if unready:
            _SAY_WHY.execute(unready=unready)
        if claimed or not (unready or suspended):
            break
    return _confirmed(claimed, asked)


def _opened(rows: Sequence[dict[str, Any]], asked: float) -> tuple[list[ClaimedDelivery], list[tuple[int, str]]]:
    """The deliveries as they are sent; and the ids of those that cannot be, with the reasons."""
    made = current_secrets(row["workspace_id"] for row in rows if not row["secrets"])
    claimed, unready = [], []
    for row in rows:
        try:
            secrets = tuple(map(decrypted, row["secrets"])) or (made[row["workspace_id"]],)
            claimed.append(_claimed(row, asked, secrets=secrets))
        except Exception as error:  # noqa: BLE001 - whatever is wrong with it, the others are sent
            unready.append((row["id"], for_the_record(error)))
    if unready:
        log.warning("webhooks_unready", webhooks=len(unready), error=unready[0][1])
    return claimed, unready


def _confirmed(claimed: list[ClaimedDelivery], asked: float) -> list[ClaimedDelivery]:
    """Those that are still not held, if the claim took a while; the others are given back."""
    if not claimed or time.monotonic() - asked < _CLAIM_SECONDS:
        return claimed
    asked = time.monotonic()
    fine = set(_NOT_HELD.column(ids=[one.id for one in claimed]))
    release([one for one in claimed if one.id not in fine])
    return [replace(one, asked=asked) for one in claimed if one.id in fine]


def release(unsent: Sequence[ClaimedDelivery]) -> None:
    """Makes deliveries due at once whose attempts have not begun; the claims do not count."""
    if unsent:
        _GIVE_BACK.execute(unsent=[(one.id, one.number, one.leased_until) for one in unsent])


def _claimed(row: dict[str, Any], asked: float, *, secrets: tuple[str, ...]) -> ClaimedDelivery:
    sent = WebhookDelivery(enrollment_id=row.pop("enrollment_id"), ordinal=row.pop("ordinal"))
    del row["suspended"], row["paced"]
    headers = dict(decrypted_json(json.loads(row["headers"])))
    known = row | {"url": headers.pop(SECRET_URL, row["url"]), "headers": headers, "secrets": secrets}
    return ClaimedDelivery(webhook_id=sent.webhook_id, asked=asked, **known)
