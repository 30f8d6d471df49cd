-- journeys.engine.operations.alerts: _FAILING
SELECT workspace_id, count(*), count(*) FILTER (WHERE status IS NULL OR status NOT BETWEEN 200 AND 299) AS failed
FROM (SELECT workspace_id, at, status FROM journeys_webhookattempt ORDER BY id DESC LIMIT {most}) AS latest
WHERE at > now() - {minutes} * interval '1 minute'
GROUP BY GROUPING SETS ((workspace_id), ())

-- journeys.engine.operations.alerts: _HELD
SELECT workspace_id, id, name, held_because FROM journeys_journey
WHERE (held_at IS NOT NULL OR resumed_at IS NOT NULL) AND held_at IS NOT NULL AND held_by = {guard}
  AND workspace_id = ANY({workspace_ids}::text[])

-- journeys.engine.operations.alerts: _LATE
WITH RECURSIVE asked AS (SELECT * FROM unnest({workspace_ids}::text[]) AS asked (id)), 
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

SELECT asked.id, lane, extract(epoch FROM now() - first.turn_at)::float8
FROM asked CROSS JOIN unnest({chunk_lanes}::text[]) AS wanted(lane) CROSS JOIN LATERAL (
    SELECT turn_at FROM journeys_chunk, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE lane = wanted.lane AND workspace_id = asked.id ORDER BY lane, workspace_id, turn_at LIMIT 1
) AS first
UNION ALL
SELECT asked.id, 'enrollments', extract(epoch FROM now() - first.due_at)::float8
FROM asked CROSS JOIN (VALUES (false), (true)) AS kind(crowd) CROSS JOIN LATERAL (
    SELECT due_at FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at IS NOT NULL AND attempts = 0 AND crowd = kind.crowd AND workspace_id = asked.id
    ORDER BY crowd, workspace_id, coalesce(due_at, 'infinity') LIMIT 1
) AS first
UNION ALL
SELECT workspace_id, 'webhooks',
       extract(epoch FROM now() - greatest(first.due_at, circuit.open_until, source_circuit.open_until))::float8
FROM lanes LEFT JOIN journeys_webhookhost circuit USING (workspace_id, host)
LEFT JOIN journeys_webhookcircuit source_circuit USING (workspace_id, host, source)
LEFT JOIN journeys_steeredhost steered USING (workspace_id, host)
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
WHERE steered.held_at IS NULL AND workspace_id = ANY({workspace_ids}::text[])

-- journeys.engine.operations.alerts: _LEFT_ALONE
SELECT workspace_id, host, min(failing_since) FROM (
    SELECT workspace_id, host, failing_since FROM journeys_webhookhost WHERE open_until > now()
    UNION ALL SELECT workspace_id, host, failing_since FROM journeys_webhookcircuit WHERE open_until > now()
) AS failing
WHERE workspace_id = ANY({workspace_ids}::text[])
GROUP BY 1, 2 HAVING min(failing_since) < now() - {seconds} * interval '1 second'

-- journeys.engine.operations.alerts: _PAUSED
SELECT workspace_id, id, key, last_failure FROM journeys_subscription
WHERE paused_at IS NOT NULL AND workspace_id = ANY({workspace_ids}::text[])

-- journeys.engine.operations.backlog: _ENROLLMENTS
SELECT (SELECT count(*) FROM (
            SELECT FROM journeys_enrollment WHERE due_at <= now() LIMIT {most}
        ) AS counted),
       extract(epoch FROM now() - (SELECT min(due_at) FROM journeys_enrollment WHERE state = 'active'))

-- journeys.engine.operations.backlog: _HELD
SELECT count(*) FILTER (WHERE held_by = {guard}), count(*) FILTER (WHERE held_by <> {guard}),
       (SELECT count(*) FROM journeys_steeredhost WHERE held_at IS NOT NULL)
FROM journeys_journey WHERE (held_at IS NOT NULL OR resumed_at IS NOT NULL) AND held_at IS NOT NULL

-- journeys.engine.operations.backlog: _LANES
WITH RECURSIVE first AS (
    SELECT lane, chunk.* FROM unnest({lanes}::text[]) AS wanted(lane) CROSS JOIN LATERAL (
        SELECT workspace_id, turn_at FROM journeys_chunk, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE lane = wanted.lane ORDER BY workspace_id, turn_at LIMIT 1
    ) AS chunk
    UNION ALL
    SELECT lane, chunk.* FROM first CROSS JOIN LATERAL (
        SELECT workspace_id, turn_at FROM journeys_chunk, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
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

-- journeys.engine.operations.backlog: _SUBSCRIPTIONS
SELECT count(*) FILTER (WHERE paused_at IS NOT NULL),
       extract(epoch FROM now() - min(failing_since) FILTER (WHERE paused_at IS NULL))
FROM journeys_subscription

-- journeys.engine.operations.backlog: _WEBHOOKS
WITH RECURSIVE 
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
, open AS (
    SELECT failing_since FROM journeys_webhookhost WHERE open_until > now()
    UNION ALL SELECT failing_since FROM journeys_webhookcircuit WHERE open_until > now()
)
SELECT (SELECT count(*) FROM (SELECT FROM journeys_webhookdelivery WHERE state = 'waiting' LIMIT {most}) AS counted),
       extract(epoch FROM now() - (
            SELECT min(greatest(first.due_at, circuit.open_until, source_circuit.open_until))
            FROM lanes LEFT JOIN journeys_webhookhost circuit USING (workspace_id, host)
            LEFT JOIN journeys_webhookcircuit source_circuit USING (workspace_id, host, source)
            LEFT JOIN journeys_steeredhost steered USING (workspace_id, host)
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
            WHERE steered.held_at IS NULL
       )),
       (SELECT count(*) FROM open), (SELECT extract(epoch FROM now() - min(failing_since)) FROM open)
