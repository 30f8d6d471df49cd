"""The statement that claims deliveries, piece by piece (claims.py says what it does), and the one that looks again."""

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.sql import Rows, Statement
from journeys.engine.enrollments.trails import CALLED

LEASE_SECONDS = 30
BEGIN_SECONDS = 0.5  # after a claim has begun, its attempts begin within these
_MOST_SUSPENDED = 500  # how many more deliveries to a host a claim looks at while any journey is held

# The hosts at which something may be due, by their notes (due_hosts.py).
DUE_HOSTS = """
hosts AS MATERIALIZED (SELECT DISTINCT workspace_id, host FROM journeys_hostdue WHERE due_at <= now())
"""

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
STEERED_HOST = """
    SELECT * FROM journeys_steeredhost known
    WHERE known.workspace_id = {of}.workspace_id AND known.host = {of}.host LIMIT 1
"""

# The circuits whose time is over. A sender that has one locked may let one request through.
PROBES = """
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
PACED = """
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
OPEN = """
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
CHOSEN = """
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
TAKEN = """
taken AS MATERIALIZED (
    SELECT id, source, probe_id, source_probe_id, paced_id, rated_id, due_at FROM (
        SELECT *, row_number() OVER (PARTITION BY host ORDER BY place, due_at, id) AS place_at_host
        FROM due WHERE paused_id IS NULL AND place <= most
    ) AS ranked
    WHERE place_at_host <= room ORDER BY place, due_at LIMIT {free}
)
"""

# What is noted of them: that a circuit is being probed, and when the next may begin at a host that has a rate.
NOTED = """
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

# The secrets of the workspace of a `delivery`, the current one first.
SECRETS = """
        ARRAY(
            SELECT secret FROM journeys_webhooksecret secret
            WHERE secret.workspace_id = delivery.workspace_id AND (retires_at IS NULL OR retires_at > now())
            ORDER BY secret.id DESC
        )
"""
_CLAIMED = """
claimed AS (
    UPDATE journeys_webhookdelivery delivery SET due_at = now() + {lease} * interval '1 second'
    FROM taken WHERE delivery.id = ANY(ARRAY[taken.id])
    RETURNING delivery.id, delivery.workspace_id, delivery.enrollment_id, delivery.ordinal, delivery.host,
        delivery.source, delivery.method, delivery.url, delivery.headers, delivery.body,
        delivery.attempts + 1 AS number, delivery.again, delivery.give_up_at,
        delivery.answer_rules::text AS answer_rules, delivery.contact::text AS contact,
        delivery.due_at::text AS leased_until,
        taken.probe_id IS NOT NULL AS probes_host, taken.source_probe_id IS NOT NULL AS probes_source,
        {secrets} AS secrets, clock_timestamp() AS at,
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
_PIECES = (DUE_HOSTS, LANES, _PAUSING, PROBES, PACED, OPEN, CHOSEN, _DUE, TAKEN, NOTED, _CLAIMED)
CLAIM = Statement(
    """
WITH RECURSIVE known AS (SELECT * FROM {hosts}), busy AS (SELECT * FROM {workspaces}), {pieces}
SELECT claimed.*, called.*, (SELECT count(*) FROM suspended) AS suspended, EXISTS ({any_paced}) AS paced
FROM (VALUES (true)) AS always LEFT JOIN claimed ON true LEFT JOIN LATERAL ({called}) AS called ON true
""",
    called=CALLED.replace("{enrollment_id}", "claimed.enrollment_id"),
    pieces=", ".join(_PIECES),
    any_paced=_ANY_PACED,
    secrets=SECRETS,
    first_due=FIRST_DUE,
    due_in_lane=_DUE_IN.replace("{lane}", "chosen").replace("{limit}", _LOOKED_AT).replace("{locked}", _LOCKED),
    paused_journey=_PAUSED_JOURNEY,
    steered_host=STEERED_HOST.replace("{of}", "lanes"),
    most_suspended=str(_MOST_SUSPENDED),
    in_index_order=IN_INDEX_ORDER,
    hosts=Rows("known", {"host": "text", "requests": "int", "room": "int"}),
    workspaces=Rows("busy", {"workspace_id": "text", "in_flight": "int"}),
)


NOT_HELD = Statement(
    """
WITH {pausing}
SELECT delivery.id FROM journeys_webhookdelivery delivery
LEFT JOIN LATERAL ({steered_host}) AS steered ON true
LEFT JOIN LATERAL ({paused_journey}) AS paused ON true
WHERE delivery.id = ANY({ids}::bigint[]) AND paused.id IS NULL AND steered.held_at IS NULL
""",
    pausing=_PAUSING,
    paused_journey=_PAUSED_JOURNEY,
    steered_host=STEERED_HOST.replace("{of}", "delivery"),
)
