-- journeys.engine.feed.numbering: _ALONE
SELECT pg_try_advisory_xact_lock(hashtextextended('engage: feed of ' || {workspace_id}, 0))

-- journeys.engine.feed.numbering: _ANY
SELECT EXISTS (SELECT FROM engage_feedbatch WHERE workspace_id = {workspace_id} AND position IS NULL)

-- journeys.engine.feed.numbering: _NUMBER
WITH begun AS MATERIALIZED (
    SELECT greatest((
        SELECT position FROM engage_feedbatch, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE workspace_id = {workspace_id} AND position IS NOT NULL ORDER BY position DESC LIMIT 1
    ) + 1, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint) AS first
), fresh AS MATERIALIZED (
    SELECT id, serial, first + row_number() OVER (ORDER BY serial) AS position, type, journey_id, trigger_ids, at
    FROM begun, (
        SELECT id, serial, type, journey_id, trigger_ids, at FROM engage_feedbatch, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE workspace_id = {workspace_id} AND position IS NULL ORDER BY serial LIMIT {most}
    ) AS ordered
), numbered AS (
    UPDATE engage_feedbatch batch SET position = fresh.position FROM fresh WHERE batch.id = ANY(ARRAY[fresh.id])
), decided AS MATERIALIZED (
    SELECT trigger_id, max(journey_id) AS journey_id, max(at) AS at
    FROM fresh CROSS JOIN LATERAL unnest(trigger_ids) AS called(trigger_id)
    WHERE type = 'job.decided' GROUP BY trigger_id
), completed AS (
    SELECT * FROM decided
    WHERE NOT EXISTS (
        SELECT FROM journeys_chunk chunk CROSS JOIN LATERAL (
            SELECT FROM journeys_enrollmentjob job
            WHERE job.trigger_id = chunk.trigger_id AND job.ordinal >= chunk.start AND job.ordinal < chunk.stop
              AND job.status = 'queued' LIMIT 1
        ) AS queued
        WHERE chunk.trigger_id = decided.trigger_id
    ) AND ((
        SELECT customers = 1 FROM journeys_trigger known WHERE known.id = decided.trigger_id
    ) IS TRUE OR trigger_id NOT IN (
        SELECT unnest(trigger_ids) FROM engage_feedbatch
        WHERE workspace_id = {workspace_id} AND position IS NULL AND type = 'job.decided'
          AND serial > (SELECT max(serial) FROM fresh)
    ))
), told AS (
    INSERT INTO engage_feedbatch (workspace_id, type, journey_id, at, size, trigger_ids, position)
    SELECT {workspace_id}, 'trigger.completed', journey_id, max(at), count(*), array_agg(trigger_id),
           (SELECT max(position) FROM fresh) + row_number() OVER (ORDER BY journey_id)
    FROM completed GROUP BY journey_id
)
SELECT count(*) FROM fresh

-- journeys.engine.feed.reading: _END
SELECT coalesce(last, (extract(epoch FROM clock_timestamp()) * 1000000)::bigint), coalesce((
    SELECT position FROM engage_feedbatch, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE workspace_id = {workspace_id} AND position <= last - {again}::bigint ORDER BY position DESC LIMIT 1
), 0) FROM (SELECT (
    SELECT position FROM engage_feedbatch, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE workspace_id = {workspace_id} AND position IS NOT NULL ORDER BY position DESC LIMIT 1
) AS last) AS whole

-- journeys.engine.feed.reading: _PAGE
SELECT id, type, journey_id, at, position, number, customer_id, external_id, trigger_id,
       coalesce(job_id, 'enroll-' || journey_id || '-' || customer_id || '-' || queued_ms) AS job_id, enrollment_id,
       result, reason
FROM (
    SELECT id, position, sum(size) OVER (ORDER BY position) - size AS before FROM (
        SELECT id, position, size FROM engage_feedbatch, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE workspace_id = {workspace_id} AND position >= {position}
          AND position < (SELECT bound FROM looked_at) AND (position > {position} OR size > {number}::bigint)
          AND type = ANY({types}::text[]) AND (journey_id = ANY({journeys}::text[]) OR {any_journey})
        ORDER BY position LIMIT {limit}
    ) AS ahead
) AS wanted
CROSS JOIN LATERAL (
    SELECT type, journey_id, at, event.* FROM engage_feedbatch known CROSS JOIN LATERAL unnest(
        customer_ids, external_ids, trigger_ids, queued_ms, job_ids, enrollment_ids, results, reasons
    ) WITH ORDINALITY AS event(
        customer_id, external_id, trigger_id, queued_ms, job_id, enrollment_id, result, reason, number
    )
    WHERE known.id = wanted.id
) AS event
WHERE wanted.before < {limit} + {number}::bigint AND (position, number) > ({position}::bigint, {number}::bigint)
ORDER BY position, number LIMIT {limit}

-- journeys.engine.feed.reading: _READ
WITH looked_at AS MATERIALIZED (
    SELECT bound, (
        SELECT max(position) FROM engage_feedbatch
        WHERE workspace_id = {workspace_id} AND position >= {position} AND position < bound
    ) AS last
    FROM (
        SELECT coalesce((
            SELECT position FROM engage_feedbatch, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
            WHERE workspace_id = {workspace_id} AND position >= {position} ORDER BY position OFFSET {most} LIMIT 1
        ), 4611686018427387904) AS bound
    ) AS furthest
)

SELECT event.id, event.type, event.journey_id, event.at, event.position, event.number, event.customer_id,
       coalesce(event.external_id, customer.external_id, merged.external_id) AS external_id,
       coalesce(event.trigger_id, job.trigger_id) AS trigger_id, coalesce(event.job_id, job.job_id) AS job_id,
       event.enrollment_id, event.result,
       coalesce(event.reason, CASE event.type WHEN 'enrollment.exited' THEN nullif(regexp_replace(enrollment.exit_reason, '^(Given up after [0-9]+ attempts|The [a-z ]+ ''[^'']*'' (failed|has no time to wait for)).*$', '\1.'), '') END) AS reason, looked_at.last, looked_at.bound = 4611686018427387904 AS is_all
FROM looked_at LEFT JOIN ({events}) AS event ON true
LEFT JOIN LATERAL (
    SELECT external_id, true AS found FROM customers_customer known
    WHERE known.id = event.customer_id AND known.workspace_id = {workspace_id} LIMIT 1
) AS customer ON true
LEFT JOIN LATERAL (
    SELECT into_one.external_id FROM customers_alias alias
    JOIN customers_customer into_one ON into_one.id = alias.customer_id
    WHERE customer.found IS NULL AND alias.id = event.customer_id AND alias.workspace_id = {workspace_id} LIMIT 1
) AS merged ON true
LEFT JOIN LATERAL (
    SELECT job_id, exit_reason FROM journeys_enrollment entered
    WHERE entered.id = event.enrollment_id AND entered.workspace_id = {workspace_id} LIMIT 1
) AS enrollment ON true
LEFT JOIN LATERAL (
    SELECT trigger_id, coalesce(
        queued_as, 'enroll-' || known.journey_id || '-' || known.customer_id || '-' || queued_ms
    ) AS job_id
    FROM journeys_enrollmentjob known WHERE known.id = enrollment.job_id LIMIT 1
) AS job ON true
ORDER BY event.position, event.number
