-- journeys.engine.webhooks.asking_again: _KNOWN
SELECT asked.id, entered.customer_id, held.state, held.since, held.until, now() AS now
FROM unnest({ids}::bigint[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM journeys_webhookdelivery known WHERE known.id = asked.id LIMIT 1) AS sent
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1) AS entered
LEFT JOIN LATERAL (
    SELECT * FROM customers_consent known
    WHERE known.customer_id = entered.customer_id AND known.topic = sent.contact->>'topic'
      AND known.channel = sent.contact->>'channel' LIMIT 1
) AS held ON true

-- journeys.engine.webhooks.by_connection: _CHANGED
SELECT sent.id, sent.enrollment_id, sent.workspace_id, sent.source, sent.host, connection.host AS goes_to, run.step_id,
       entered.revision_id, journey.id AS journey_id, journey.name AS journey_name, journey.topic,
       now() AS now
FROM unnest({ids}::bigint[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM journeys_webhookdelivery known WHERE known.id = asked.id LIMIT 1) AS sent
CROSS JOIN LATERAL (
    SELECT * FROM journeys_connection known WHERE known.id = split_part(sent.source, ':', 2) LIMIT 1
) AS connection
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1) AS entered
CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = entered.journey_id LIMIT 1) AS journey
CROSS JOIN LATERAL (
    SELECT * FROM journeys_steprun known WHERE known.enrollment_id = sent.enrollment_id AND known.ordinal = sent.ordinal
    LIMIT 1
) AS run
WHERE connection.workspace_id = sent.workspace_id AND (connection.host NOT IN ('', sent.host) OR greatest(
    connection.updated_at, (SELECT max(updated_at) FROM journeys_variable WHERE workspace_id = sent.workspace_id)
) > run.began_at - interval '1 minute')

-- journeys.engine.webhooks.by_connection: _GO_OVER_FROM
UPDATE journeys_webhookdelivery delivery SET host = connection.host FROM journeys_connection connection
WHERE delivery.id = ANY(ARRAY(
    SELECT id FROM journeys_webhookdelivery
    WHERE state = 'waiting' AND workspace_id = {workspace_id} AND host = {host} AND source = {source}
    ORDER BY due_at LIMIT {most} FOR UPDATE SKIP LOCKED
)) AND connection.id = ANY(ARRAY[split_part(delivery.source, ':', 2)])
  AND connection.workspace_id || '' = delivery.workspace_id AND connection.host NOT IN ('', delivery.host)

-- journeys.engine.webhooks.by_connection: _GO_OVER_THESE
UPDATE journeys_webhookdelivery delivery SET host = connection.host FROM journeys_connection connection
WHERE delivery.id = ANY(ARRAY(SELECT unnest({ids}::bigint[]))) AND connection.id = ANY(ARRAY[split_part(delivery.source, ':', 2)])
  AND connection.workspace_id || '' = delivery.workspace_id AND connection.host NOT IN ('', delivery.host)

-- journeys.engine.webhooks.by_connection: _STORE
UPDATE journeys_webhookdelivery delivery SET url = filled.url, headers = filled.headers
FROM {filled} WHERE delivery.id = ANY(ARRAY[filled.id])

-- journeys.engine.webhooks.circuits: _CLOSE
WITH healthy AS MATERIALIZED (
    SELECT * FROM {circuits}
), of_sources AS (
    DELETE FROM journeys_webhookcircuit WHERE id = ANY(ARRAY(
        SELECT circuit.id FROM healthy CROSS JOIN LATERAL (
            SELECT id FROM journeys_webhookcircuit known
            WHERE known.workspace_id = healthy.workspace_id AND known.host = healthy.host
              AND known.source = healthy.source AND known.open_until IS DISTINCT FROM '9999-01-01T00:00:00+00:00'::timestamptz
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

-- journeys.engine.webhooks.circuits: _COUNT
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

-- journeys.engine.webhooks.circuits: _DISABLE
INSERT INTO journeys_webhookcircuit AS circuit
    (workspace_id, host, source, failures, failing_since, open_until, last_failure)
SELECT noted.workspace_id, host, source, 0, now(), '9999-01-01T00:00:00+00:00'::timestamptz, {why}
FROM {circuits}
JOIN engage_workspace workspace ON workspace.id = noted.workspace_id
WHERE source <> ''
ORDER BY noted.workspace_id, host, source
ON CONFLICT (workspace_id, host, source) DO UPDATE
SET open_until = excluded.open_until, last_failure = excluded.last_failure

-- journeys.engine.webhooks.circuits: _LOCK
SELECT pg_advisory_xact_lock(key) FROM (
    SELECT DISTINCT hashtextextended(concat_ws(' ', 'webhook host', workspace_id, host), 0) AS key
    FROM {hosts} ORDER BY key
) AS keys

-- journeys.engine.webhooks.circuits: _OPEN_ANEW
WITH of_sources AS (
    UPDATE journeys_webhookcircuit circuit SET open_until = now() + {seconds} * interval '1 second'
    FROM {circuits}
    WHERE circuit.workspace_id = ANY(ARRAY[probing.workspace_id]) AND circuit.host = probing.host
      AND circuit.source = probing.source
)
UPDATE journeys_webhookhost circuit SET open_until = now() + {seconds} * interval '1 second'
FROM {hosts}
WHERE circuit.workspace_id = ANY(ARRAY[probed.workspace_id]) AND circuit.host = probed.host

-- journeys.engine.webhooks.circuits: _TRY_NOW
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

-- journeys.engine.webhooks.claim_statements: CLAIM
WITH RECURSIVE known AS (SELECT * FROM {hosts}), busy AS (SELECT * FROM {workspaces}), 
hosts AS MATERIALIZED (SELECT DISTINCT workspace_id, host FROM journeys_hostdue WHERE due_at <= now())
, 
divided AS MATERIALIZED (
    SELECT workspace_id, host FROM journeys_webhookcircuit WHERE open_until IS NOT NULL
    UNION SELECT workspace_id, host FROM journeys_webhookhost WHERE open_until <= now()
    UNION SELECT workspace_id, host FROM journeys_connection WHERE per_second IS NOT NULL
), sources AS (
    SELECT divided.workspace_id, divided.host, first.source FROM divided CROSS JOIN LATERAL (
        SELECT source FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE state = 'waiting' AND workspace_id = divided.workspace_id AND host = divided.host
        ORDER BY source LIMIT 1
    ) AS first
    UNION ALL
    SELECT sources.workspace_id, sources.host, following.source FROM sources CROSS JOIN LATERAL (
        SELECT source FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE state = 'waiting' AND workspace_id = sources.workspace_id AND host = sources.host
          AND source > sources.source
        ORDER BY source LIMIT 1
    ) AS following
), lanes AS MATERIALIZED (
    SELECT undivided.*, NULL::varchar AS source
    FROM (SELECT workspace_id, host FROM hosts EXCEPT SELECT workspace_id, host FROM divided) AS undivided
    UNION ALL SELECT workspace_id, host, source FROM sources
)
, 
pausing AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM journeys_journey WHERE held_at IS NOT NULL OR resumed_at IS NOT NULL) AS any_journey
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
    CROSS JOIN LATERAL (SELECT due_at FROM (
    SELECT * FROM (
        SELECT id, due_at, enrollment_id, source FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE lanes.source IS NULL AND state = 'waiting' AND workspace_id = lanes.workspace_id AND host = lanes.host
          AND due_at <= now()
        ORDER BY due_at LIMIT 1 
    ) AS at_host
    UNION ALL SELECT * FROM (
        SELECT id, due_at, enrollment_id, source FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE lanes.source IS NOT NULL AND state = 'waiting' AND workspace_id = lanes.workspace_id
          AND host = lanes.host AND source = lanes.source AND due_at <= now()
        ORDER BY due_at LIMIT 1 
    ) AS of_source
) AS earliest LIMIT 1) AS first
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
    SELECT delivery.id, chosen.host, delivery.source, chosen.room, chosen.most, chosen.probe_id,
           chosen.source_probe_id, chosen.paced_id, chosen.rated_id, paused.id AS paused_id, row_number() OVER (
               PARTITION BY workspace_id, chosen.host, chosen.source, paused.id IS NULL ORDER BY due_at, delivery.id
           ) AS place, due_at
    FROM chosen CROSS JOIN LATERAL (
    SELECT * FROM (
        SELECT id, due_at, enrollment_id, source FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE chosen.source IS NULL AND state = 'waiting' AND workspace_id = chosen.workspace_id AND host = chosen.host
          AND due_at <= now()
        ORDER BY due_at LIMIT chosen.most + (SELECT CASE WHEN any_journey THEN 500 ELSE 0 END FROM pausing) FOR UPDATE OF journeys_webhookdelivery SKIP LOCKED
    ) AS at_host
    UNION ALL SELECT * FROM (
        SELECT id, due_at, enrollment_id, source FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE chosen.source IS NOT NULL AND state = 'waiting' AND workspace_id = chosen.workspace_id
          AND host = chosen.host AND source = chosen.source AND due_at <= now()
        ORDER BY due_at LIMIT chosen.most + (SELECT CASE WHEN any_journey THEN 500 ELSE 0 END FROM pausing) FOR UPDATE OF journeys_webhookdelivery SKIP LOCKED
    ) AS of_source
) AS delivery
    LEFT JOIN LATERAL (
    SELECT journey.id
    FROM (SELECT * FROM journeys_enrollment known WHERE known.id = delivery.enrollment_id LIMIT 1) AS standing
    CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = standing.journey_id LIMIT 1) AS journey
    WHERE (SELECT any_journey FROM pausing) AND (
        journey.held_at IS NOT NULL OR journey.per_minute IS NOT NULL AND delivery.due_at < journey.resumed_at
    )
) AS paused ON true
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
    UPDATE journeys_webhookdelivery delivery SET due_at = now() + {lease} * interval '1 second'
    FROM taken WHERE delivery.id = ANY(ARRAY[taken.id])
    RETURNING delivery.id, delivery.workspace_id, delivery.enrollment_id, delivery.ordinal, delivery.host,
        delivery.source, delivery.method, delivery.url, delivery.headers, delivery.body,
        delivery.attempts + 1 AS number, delivery.again, delivery.give_up_at,
        delivery.answer_rules::text AS answer_rules, delivery.contact::text AS contact,
        delivery.due_at::text AS leased_until,
        taken.probe_id IS NOT NULL AS probes_host, taken.source_probe_id IS NOT NULL AS probes_source,

        ARRAY(
            SELECT secret FROM journeys_webhooksecret secret
            WHERE secret.workspace_id = delivery.workspace_id AND (retires_at IS NULL OR retires_at > now())
            ORDER BY secret.id DESC
        )
 AS secrets, clock_timestamp() AS at,
        extract(epoch FROM clock_timestamp() - taken.due_at)::float8 AS seconds_late
)

SELECT claimed.*, called.*, (SELECT count(*) FROM suspended) AS suspended, EXISTS (
    SELECT FROM journeys_steeredhost steered CROSS JOIN LATERAL (
        SELECT FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE state = 'waiting' AND workspace_id = steered.workspace_id AND host = steered.host AND due_at <= now()
        LIMIT 1
    ) AS due_there
    WHERE per_second IS NOT NULL AND held_at IS NULL
    UNION ALL SELECT FROM journeys_connection connection CROSS JOIN LATERAL (
        SELECT FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE state = 'waiting' AND workspace_id = connection.workspace_id AND host = connection.host
          AND source = 'connection:' || connection.id AND due_at <= now()
        LIMIT 1
    ) AS due_by_it
    WHERE per_second IS NOT NULL
) AS paced
FROM (VALUES (true)) AS always LEFT JOIN claimed ON true LEFT JOIN LATERAL (
    SELECT trigger.id AS trigger_id, trigger.request_id, trigger.traceparent
    FROM (SELECT * FROM journeys_enrollment known WHERE known.id = claimed.enrollment_id LIMIT 1) AS entered
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollmentjob known WHERE known.id = entered.job_id LIMIT 1) AS job
    CROSS JOIN LATERAL (SELECT * FROM journeys_trigger known WHERE known.id = job.trigger_id LIMIT 1) AS trigger
) AS called ON true

-- journeys.engine.webhooks.claim_statements: NOT_HELD
WITH 
pausing AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM journeys_journey WHERE held_at IS NOT NULL OR resumed_at IS NOT NULL) AS any_journey
)

SELECT delivery.id FROM journeys_webhookdelivery delivery
LEFT JOIN LATERAL (
    SELECT * FROM journeys_steeredhost known
    WHERE known.workspace_id = delivery.workspace_id AND known.host = delivery.host LIMIT 1
) AS steered ON true
LEFT JOIN LATERAL (
    SELECT journey.id
    FROM (SELECT * FROM journeys_enrollment known WHERE known.id = delivery.enrollment_id LIMIT 1) AS standing
    CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = standing.journey_id LIMIT 1) AS journey
    WHERE (SELECT any_journey FROM pausing) AND (
        journey.held_at IS NOT NULL OR journey.per_minute IS NOT NULL AND delivery.due_at < journey.resumed_at
    )
) AS paused ON true
WHERE delivery.id = ANY({ids}::bigint[]) AND paused.id IS NULL AND steered.held_at IS NULL

-- journeys.engine.webhooks.claims: SAY_WHY_OF_PUSHES
UPDATE journeys_push delivery SET result = unready.reason
FROM {unready} WHERE delivery.id = ANY(ARRAY[unready.id]) AND delivery.state || '' = 'waiting'
  AND delivery.result <> unready.reason

-- journeys.engine.webhooks.claims: _GIVE_BACK
UPDATE journeys_webhookdelivery delivery SET due_at = now()
FROM {unsent} WHERE delivery.id = ANY(ARRAY[unsent.id]) AND delivery.attempts = unsent.number - 1
  AND delivery.due_at = unsent.leased_until AND delivery.state || '' = 'waiting'

-- journeys.engine.webhooks.claims: _SAY_WHY_OF_WEBHOOKS
UPDATE journeys_webhookdelivery delivery SET result = unready.reason
FROM {unready} WHERE delivery.id = ANY(ARRAY[unready.id]) AND delivery.state || '' = 'waiting'
  AND delivery.result <> unready.reason

-- journeys.engine.webhooks.dropping: _DROP
WITH known AS MATERIALIZED (
    SELECT barred.*, sent.enrollment_id, sent.ordinal, sent.again,
           sent.state = 'waiting' AND sent.due_at > now() AND sent.due_at <= now() + 30 * interval '1 second'
               AS may_be_claimed
    FROM (SELECT * FROM {barred} ORDER BY id OFFSET 0) AS barred
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_webhookdelivery one
        WHERE one.id = barred.id AND one.state IN ('waiting', 'held') LIMIT 1 FOR NO KEY UPDATE
    ) AS sent
), dropped AS (
    UPDATE journeys_webhookdelivery delivery SET state = 'dropped', result = known.reason, due_at = now()
    FROM known WHERE delivery.id = ANY(ARRAY[known.id])
), told AS (
    UPDATE journeys_steprun run SET policy = jsonb_build_object('verdict', 'skip', 'rule', known.rule, 'until', NULL)
    FROM known WHERE run.enrollment_id = ANY(ARRAY[known.enrollment_id]) AND run.ordinal = known.ordinal
      AND NOT known.again
), answered AS (
    SELECT standing.id FROM known
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_steprun run
        WHERE run.enrollment_id = known.enrollment_id AND run.ordinal = known.ordinal LIMIT 1
    ) AS run
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment standing WHERE standing.id = known.enrollment_id LIMIT 1
    ) AS standing
    WHERE NOT known.again AND run.state = 'waiting' AND standing.state = 'active' AND standing.step_id = run.step_id
), moved AS (
    UPDATE journeys_enrollment SET due_at = now() WHERE id = ANY(ARRAY(SELECT id FROM answered)) RETURNING 1
)
SELECT (SELECT count(*) FROM known), (SELECT count(*) FROM known WHERE may_be_claimed), (SELECT count(*) FROM moved)

-- journeys.engine.webhooks.dropping: _LOCK_ALL
SELECT sent.id FROM (
    SELECT asked.id, entered.customer_id FROM unnest({ids}::bigint[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT * FROM journeys_webhookdelivery known WHERE known.id = asked.id LIMIT 1) AS sent
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1
    ) AS entered
    ORDER BY entered.customer_id OFFSET 0
) AS sent
CROSS JOIN LATERAL (
    SELECT id FROM customers_customer known WHERE known.id = sent.customer_id LIMIT 1 FOR NO KEY UPDATE 
) AS customer

-- journeys.engine.webhooks.dropping: _LOCK_FREE
SELECT sent.id FROM (
    SELECT asked.id, entered.customer_id FROM unnest({ids}::bigint[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT * FROM journeys_webhookdelivery known WHERE known.id = asked.id LIMIT 1) AS sent
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1
    ) AS entered
    ORDER BY entered.customer_id OFFSET 0
) AS sent
CROSS JOIN LATERAL (
    SELECT id FROM customers_customer known WHERE known.id = sent.customer_id LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
) AS customer

-- journeys.engine.webhooks.dropping: _OF_CUSTOMERS
SELECT sent.id, asked.topic FROM {asked}
CROSS JOIN LATERAL (SELECT id FROM journeys_enrollment known WHERE known.customer_id = asked.customer_id) AS entered
CROSS JOIN LATERAL (
    SELECT known.id, known.contact, known.state FROM journeys_webhookdelivery known
    WHERE known.enrollment_id = entered.id AND known.contact IS NOT NULL
) AS sent
WHERE sent.state IN ('waiting', 'held') AND sent.contact->>'topic' = asked.topic
  AND sent.contact->>'channel' = asked.channel AND NOT (sent.contact->'transactional')::bool

-- journeys.engine.webhooks.dropping: _TO_ADDRESS
SELECT id FROM journeys_webhookdelivery
WHERE workspace_id = {workspace_id} AND contact->>'address' = {address} AND contact IS NOT NULL
  AND state IN ('waiting', 'held') AND ({all_of_them} OR NOT (contact->'transactional')::bool)

-- journeys.engine.webhooks.due_hosts: _REPAIR
WITH RECURSIVE hosts AS (
    (SELECT workspace_id, host FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more WHERE state = 'waiting'
     ORDER BY workspace_id, host LIMIT 1)
    UNION ALL
    SELECT following.workspace_id, following.host FROM hosts CROSS JOIN LATERAL (
        SELECT workspace_id, host FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE state = 'waiting' AND (workspace_id, host) > (hosts.workspace_id, hosts.host)
        ORDER BY workspace_id, host LIMIT 1
    ) AS following
), noted AS MATERIALIZED (
    SELECT workspace_id, host, min(due_at) AS due_at FROM journeys_hostdue GROUP BY workspace_id, host
)
INSERT INTO journeys_hostdue (workspace_id, host, due_at)
SELECT one.workspace_id, one.host, first.due_at FROM hosts one CROSS JOIN LATERAL (
    SELECT due_at FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE state = 'waiting' AND workspace_id = one.workspace_id AND host = one.host ORDER BY due_at LIMIT 1
) AS first
LEFT JOIN noted USING (workspace_id, host)
WHERE noted.due_at IS NULL OR noted.due_at > first.due_at

-- journeys.engine.webhooks.due_hosts: _SETTLE
WITH noted AS MATERIALIZED (
    SELECT workspace_id, host, array_agg(id) AS ids FROM journeys_hostdue WHERE due_at <= now()
    GROUP BY workspace_id, host
), settled AS MATERIALIZED (
    SELECT one.*, first.due_at FROM noted one LEFT JOIN LATERAL (
    SELECT due_at FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE state = 'waiting' AND workspace_id = one.workspace_id AND host = one.host ORDER BY due_at LIMIT 1
) AS first ON true
    WHERE first.due_at IS NULL OR first.due_at > now() OR cardinality(ids) > 1
), mine AS MATERIALIZED (
    SELECT id FROM journeys_hostdue WHERE id = ANY(ARRAY(SELECT unnest(ids) FROM settled)) FOR UPDATE SKIP LOCKED
), gone AS (
    DELETE FROM journeys_hostdue WHERE id = ANY(ARRAY(SELECT id FROM mine))
)
INSERT INTO journeys_hostdue (workspace_id, host, due_at)
SELECT workspace_id, host, due_at FROM settled WHERE due_at IS NOT NULL

-- journeys.engine.webhooks.giving_up: _LATE
SELECT id, workspace_id, enrollment_id, ordinal, host, source, attempts + 1 AS number, again, give_up_at, now() AS at,
       called.*
FROM journeys_webhookdelivery delivery LEFT JOIN LATERAL (
    SELECT trigger.id AS trigger_id, trigger.request_id, trigger.traceparent
    FROM (SELECT * FROM journeys_enrollment known WHERE known.id = delivery.enrollment_id LIMIT 1) AS entered
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollmentjob known WHERE known.id = entered.job_id LIMIT 1) AS job
    CROSS JOIN LATERAL (SELECT * FROM journeys_trigger known WHERE known.id = job.trigger_id LIMIT 1) AS trigger
) AS called ON true
WHERE state = 'waiting' AND give_up_at < now() - {lease} * interval '1 second' AND NOT EXISTS (
    SELECT FROM journeys_steeredhost steered
    WHERE steered.workspace_id = delivery.workspace_id AND steered.host = delivery.host AND steered.held_at IS NOT NULL
)
ORDER BY give_up_at LIMIT {most}

-- journeys.engine.webhooks.results: _LOCK_ALL
SELECT delivery.id, customer.is_there IS TRUE AS is_locked FROM (
    SELECT sent.id, standing.customer_id FROM journeys_webhookdelivery sent
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1) AS standing
    WHERE sent.id = ANY({delivery_ids}) ORDER BY standing.customer_id OFFSET 0
) AS delivery
LEFT JOIN LATERAL (
    SELECT true AS is_there FROM customers_customer known WHERE known.id = delivery.customer_id
    LIMIT 1 FOR NO KEY UPDATE 
) AS customer ON true

-- journeys.engine.webhooks.results: _LOCK_FREE
SELECT delivery.id, customer.is_there IS TRUE AS is_locked FROM (
    SELECT sent.id, standing.customer_id FROM journeys_webhookdelivery sent
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1) AS standing
    WHERE sent.id = ANY({delivery_ids}) ORDER BY standing.customer_id OFFSET 0
) AS delivery
LEFT JOIN LATERAL (
    SELECT true AS is_there FROM customers_customer known WHERE known.id = delivery.customer_id
    LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
) AS customer ON true

-- journeys.engine.webhooks.results: _SETTLE
WITH known AS MATERIALIZED (
    SELECT result.*, delivery.workspace_id, delivery.enrollment_id, delivery.ordinal, delivery.again,
           delivery.state IN ('waiting', 'held') AS waited
    FROM (
        SELECT * FROM {results} ORDER BY id OFFSET 0
    ) AS result
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_webhookdelivery sent
        WHERE sent.id = result.id AND sent.attempts = result.number - 1 LIMIT 1 FOR NO KEY UPDATE
    ) AS delivery
), guarding AS MATERIALIZED (
    SELECT EXISTS (SELECT FROM journeys_journey WHERE guards IS NOT NULL) AS any_journey
), attempt AS (
    INSERT INTO journeys_webhookattempt (workspace_id, delivery_id, number, at, milliseconds, status, answer, error)
    SELECT workspace_id, id, number, at, milliseconds, status, answer, error FROM known
), settled AS (
    UPDATE journeys_webhookdelivery delivery SET
        attempts = known.number,
        state = CASE WHEN waited THEN known.state ELSE delivery.state END,
        result = CASE WHEN waited THEN known.reason ELSE delivery.result END,
        kept_answer = CASE WHEN waited THEN known.kept_answer ELSE delivery.kept_answer END,
        due_at = CASE WHEN waited THEN now() + known.seconds * interval '1 second' ELSE delivery.due_at END
    FROM known WHERE delivery.id = ANY(ARRAY[known.id])
), answered AS (
    SELECT standing.id FROM known
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_steprun run
        WHERE run.enrollment_id = known.enrollment_id AND run.ordinal = known.ordinal LIMIT 1
    ) AS run
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment standing WHERE standing.id = known.enrollment_id LIMIT 1
    ) AS standing
    WHERE known.waited AND known.state <> 'waiting' AND NOT known.again
      AND run.state = 'waiting' AND standing.state = 'active' AND standing.step_id = run.step_id
), moved AS (
    UPDATE journeys_enrollment SET due_at = now() WHERE id = ANY(ARRAY(SELECT id FROM answered)) RETURNING 1
), failed AS (
    SELECT 'webhook.failed' AS type, standing.*, known.state, known.reason FROM known CROSS JOIN LATERAL (
        SELECT id, workspace_id, journey_id, customer_id FROM journeys_enrollment entered
        WHERE entered.id = known.enrollment_id LIMIT 1
    ) AS standing
    WHERE known.waited AND known.state = 'failed'
), told AS (
    INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, customer_ids, enrollment_ids, results, reasons)
    SELECT workspace_id, type, journey_id, count(*), array_agg(customer_id), array_agg(id), array_agg(state), array_agg(nullif(reason, '')) FROM failed WHERE 
workspace_id = ANY(ARRAY(
    SELECT own.id FROM engage_workspace own
    WHERE own.id = ANY(ARRAY(SELECT DISTINCT workspace_id FROM failed)) AND (own.feed OR own.subscribed)
))

    GROUP BY workspace_id, journey_id, type ORDER BY type DESC
    )
SELECT ARRAY(SELECT id FROM known) AS ids, (SELECT count(*) FROM moved) AS moved, (
    SELECT jsonb_object_agg(known.id, journey.id) FROM known
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment standing WHERE standing.id = known.enrollment_id LIMIT 1
    ) AS standing
    CROSS JOIN LATERAL (SELECT * FROM journeys_journey found WHERE found.id = standing.journey_id LIMIT 1) AS journey
    WHERE (SELECT any_journey FROM guarding) AND journey.guards->>'of' IS NOT NULL
)::text AS guarded

-- journeys.engine.webhooks.signing_secrets: _MAKE
INSERT INTO journeys_webhooksecret (workspace_id, secret)
SELECT * FROM {secrets}
ON CONFLICT (workspace_id) WHERE retires_at IS NULL DO NOTHING

-- journeys.engine.webhooks.waiting: _WAITING
SELECT delivery.id, delivery.result, steered.id IS NOT NULL AS held,
       journeys_next_attempt(delivery.workspace_id, delivery.host, delivery.source, delivery.due_at) AS next_attempt_at,
       coalesce(at_host.failures, of_source.failures) AS failures,
       coalesce(at_host.last_failure, of_source.last_failure) AS last_failure,
       coalesce(at_host.open_until, of_source.open_until) AS until
FROM journeys_webhookdelivery delivery
LEFT JOIN LATERAL (
    SELECT id FROM journeys_steeredhost known
    WHERE known.workspace_id = delivery.workspace_id AND known.host = delivery.host AND held_at IS NOT NULL LIMIT 1
) AS steered ON true
LEFT JOIN LATERAL (
    SELECT failures, last_failure, open_until FROM journeys_webhookhost known
    WHERE known.workspace_id = delivery.workspace_id AND known.host = delivery.host AND open_until IS NOT NULL LIMIT 1
) AS at_host ON true
LEFT JOIN LATERAL (
    SELECT failures, last_failure, open_until FROM journeys_webhookcircuit known
    WHERE known.workspace_id = delivery.workspace_id AND known.host = delivery.host
      AND known.source = delivery.source AND open_until IS NOT NULL
    LIMIT 1
) AS of_source ON true
WHERE delivery.id = ANY({ids}::bigint[]) AND delivery.state || '' = 'waiting'
