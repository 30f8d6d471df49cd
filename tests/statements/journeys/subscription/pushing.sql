-- journeys.subscription.pushing.claims: _ANY_DUE
SELECT EXISTS (SELECT FROM journeys_push WHERE state = 'waiting' AND due_at <= now())

-- journeys.subscription.pushing.claims: _CLAIM
WITH known AS (SELECT * FROM {hosts}), busy AS (SELECT * FROM {workspaces}), 
ready AS MATERIALIZED (
    SELECT push.id, push.due_at, push.workspace_id, subscription.host, 'subscription:' || subscription.id AS source
    FROM journeys_push push JOIN journeys_subscription subscription ON subscription.id = push.subscription_id
    WHERE push.state = 'waiting' AND push.due_at <= now() AND (subscription.paused_at IS NULL OR push.test)
), lanes AS MATERIALIZED (
    SELECT DISTINCT workspace_id, host, source FROM ready
)
, 
probes AS MATERIALIZED (
    SELECT id FROM journeys_webhookhost WHERE open_until <= now() FOR UPDATE SKIP LOCKED
), source_probes AS MATERIALIZED (
    SELECT id FROM journeys_webhookcircuit WHERE open_until <= now() FOR UPDATE SKIP LOCKED
)
, 
paced AS MATERIALIZED (
    SELECT *, 
    CASE WHEN begin_at <= now()
        THEN 1 + floor(extract(epoch FROM now() - begin_at)::float * per_second)::int ELSE 0
    END AS allowed
 FROM (
        SELECT id, per_second, greatest(next_at, now() - interval '100 milliseconds') AS begin_at
        FROM journeys_steeredhost WHERE per_second IS NOT NULL AND held_at IS NULL FOR UPDATE SKIP LOCKED
    ) AS host
), rated AS MATERIALIZED (
    SELECT id, 'connection:' || id AS source FROM journeys_connection WHERE per_second IS NOT NULL
), paced_source AS MATERIALIZED (
    SELECT *, 
    CASE WHEN begin_at <= now()
        THEN 1 + floor(extract(epoch FROM now() - begin_at)::float * per_second)::int ELSE 0
    END AS allowed
 FROM (
        SELECT id, per_second, greatest(next_at, now() - interval '100 milliseconds') AS begin_at
        FROM journeys_connection WHERE per_second IS NOT NULL FOR NO KEY UPDATE SKIP LOCKED
    ) AS connection
)
, 
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
    CROSS JOIN LATERAL (SELECT due_at FROM (SELECT due_at FROM ready WHERE ready.source = lanes.source ORDER BY due_at LIMIT 1) AS earliest LIMIT 1) AS first
    LEFT JOIN LATERAL (
    SELECT * FROM journeys_steeredhost known
    WHERE known.workspace_id = lanes.workspace_id AND known.host = lanes.host LIMIT 1
) AS steered ON true
    LEFT JOIN paced ON paced.id = steered.id
    LEFT JOIN rated ON rated.source = lanes.source
    LEFT JOIN paced_source ON paced_source.id = rated.id
    WHERE coalesce(known.room, 1) > 0 AND (circuit.open_until IS NULL OR probe.id IS NOT NULL)
      AND (source_circuit.open_until IS NULL OR source_probe.id IS NOT NULL)
      AND steered.held_at IS NULL AND (steered.per_second IS NULL OR paced.allowed > 0)
      AND (rated.id IS NULL OR paced_source.allowed > 0)
)
, 
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
, 
due AS MATERIALIZED (
    SELECT push.id, chosen.host, chosen.source, chosen.room, chosen.most, chosen.probe_id, chosen.source_probe_id,
           chosen.paced_id, chosen.rated_id, NULL::text AS paused_id, row_number() OVER (
               PARTITION BY chosen.workspace_id, chosen.source ORDER BY due_at, push.id
           ) AS place, due_at
    FROM chosen CROSS JOIN LATERAL (
        SELECT known.id, known.due_at FROM journeys_push known
        WHERE known.id = ANY(ARRAY(
            SELECT id FROM ready WHERE ready.source = chosen.source AND ready.workspace_id = chosen.workspace_id
        )) AND known.state = 'waiting' AND known.due_at <= now()
        ORDER BY known.due_at LIMIT chosen.most FOR UPDATE SKIP LOCKED
    ) AS push
)
, 
taken AS MATERIALIZED (
    SELECT id, source, probe_id, source_probe_id, paced_id, rated_id, due_at FROM (
        SELECT *, row_number() OVER (PARTITION BY host ORDER BY place, due_at, id) AS place_at_host
        FROM due WHERE paused_id IS NULL AND place <= most
    ) AS ranked
    WHERE place_at_host <= room ORDER BY place, due_at LIMIT {free}
)
, 
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
, 
claimed AS (
    UPDATE journeys_push delivery SET due_at = now() + {lease} * interval '1 second'
    FROM taken WHERE delivery.id = ANY(ARRAY[taken.id])
    RETURNING delivery.id, delivery.workspace_id, delivery.subscription_id, taken.source, delivery.test AS again,
        delivery.attempts + 1 AS number, delivery.due_at::text AS leased_until,
        taken.probe_id IS NOT NULL AS probes_host, taken.source_probe_id IS NOT NULL AS probes_source,

        ARRAY(
            SELECT secret FROM journeys_webhooksecret secret
            WHERE secret.workspace_id = delivery.workspace_id AND (retires_at IS NULL OR retires_at > now())
            ORDER BY secret.id DESC
        )
 AS secrets, clock_timestamp() AS at,
        extract(epoch FROM clock_timestamp() - taken.due_at)::float8 AS seconds_late
)

SELECT * FROM claimed

-- journeys.subscription.pushing.claims: _GIVE_BACK
UPDATE journeys_push push SET due_at = now()
FROM {unsent} WHERE push.id = ANY(ARRAY[unsent.id]) AND push.attempts = unsent.number - 1
  AND push.due_at = unsent.leased_until AND push.state || '' = 'waiting'

-- journeys.subscription.pushing.cutting: _HUNGRY
SELECT id FROM journeys_subscription subscription
WHERE paused_at IS NULL AND (
    SELECT count(*) FROM journeys_push push
    WHERE push.subscription_id = subscription.id AND push.state = 'waiting' AND NOT test
) < {most} AND (
    EXISTS (SELECT FROM engage_feedbatch WHERE workspace_id = subscription.workspace_id AND position IS NULL)
    OR EXISTS (
        SELECT FROM engage_feedbatch batch WHERE batch.workspace_id = subscription.workspace_id
          AND batch.position >= subscription.position
          AND (batch.position > subscription.position OR batch.size > subscription.number)
    )
)
ORDER BY random()

-- journeys.subscription.pushing.results: _SETTLE
WITH known AS MATERIALIZED (
    SELECT result.*, push.subscription_id, push.test FROM {results} CROSS JOIN LATERAL (
        SELECT * FROM journeys_push sent
        WHERE sent.id = result.id AND sent.attempts = result.number - 1 AND sent.state = 'waiting'
        LIMIT 1 FOR NO KEY UPDATE
    ) AS push
), settled AS (
    UPDATE journeys_push push SET
        attempts = known.number, state = known.state, result = known.reason, tried_at = known.at,
        milliseconds = known.milliseconds, status = known.status,
        due_at = now() + known.seconds * interval '1 second'
    FROM known WHERE push.id = ANY(ARRAY[known.id])
), said AS MATERIALIZED (
    SELECT subscription_id, bool_or(state = 'delivered') AS takes, bool_or(disables) AS disables,
           max(reason) FILTER (WHERE state <> 'delivered') AS reason
    FROM known WHERE NOT test GROUP BY subscription_id
), noted AS (
    UPDATE journeys_subscription subscription SET
        failing_since = CASE WHEN NOT said.takes THEN coalesce(failing_since, now()) END,
        last_failure = CASE WHEN said.disables THEN {disabled} WHEN said.takes THEN '' ELSE said.reason END,
        paused_at = CASE
            WHEN paused_at IS NOT NULL THEN paused_at
            WHEN said.disables OR NOT said.takes AND failing_since < now() - {patience}::interval THEN now()
        END
    FROM said WHERE subscription.id = ANY(ARRAY[said.subscription_id])
      AND (said.disables OR NOT said.takes OR failing_since IS NOT NULL)
)
SELECT id FROM known
