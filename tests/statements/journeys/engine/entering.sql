-- journeys.engine.entering.bulk: _QUEUE
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
), {tables}, audience AS ({chosen}
), numbered AS (
    SELECT id AS customer_id, row_number() OVER (ORDER BY id) - 1 AS ordinal FROM audience
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
    SELECT {workspace_id}, {journey_id}, customer_id, {trigger_id}, ordinal, clock.ms, 'queued', '', ''
    FROM numbered, clock ORDER BY ordinal
    RETURNING ordinal, customer_id
), trigger AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         keeps_progress, called_by, serial, selection)
    SELECT {trigger_id}, {workspace_id}, {journey_id}, 'bulk', NULL, {payload}, queued.customers, {request_id},
           {traceparent}::text, to_timestamp(clock.ms / 1000.0), queued.customers >= {large}, {called_by}, {serial},
           jsonb_build_object(
               'segments', {segment_ids}::jsonb,
               'named', (SELECT count(*) FROM named),
               'unknown', (SELECT count(*) FROM named WHERE customer_id IS NULL),
               'not_in_segments', ARRAY(SELECT customer_id FROM named WHERE NOT belongs ORDER BY place),
               'exempt', ARRAY(SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL ORDER BY place),
               'excluded', ARRAY(SELECT customer_id FROM exempt WHERE {excluded} ORDER BY place)
           )
    FROM clock, (SELECT count(*) AS customers FROM jobs) AS queued
    RETURNING customers
), unknown AS (
    INSERT INTO journeys_unknownexternalid (workspace_id, trigger_id, excluded, place, external_id)
    SELECT {workspace_id}, {trigger_id}, excluded, place, left(external_id, 255) FROM (
        SELECT false AS excluded, place, external_id FROM named WHERE customer_id IS NULL AND external_id IS NOT NULL
        UNION ALL SELECT true, place, external_id FROM exempt WHERE customer_id IS NULL
    ) AS unknown
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT {workspace_id}, {trigger_id}, start, stop, lane, now() + number * 0.1 * interval '1 second', now(),
           0, ''
    FROM (
        SELECT number, number * 500 AS start, least((number + 1) * 500, customers) AS stop, 'bulk' AS lane
        FROM trigger, generate_series(0, (customers - 1) / 500) AS number WHERE customers > 0
    ) AS chunk
)
SELECT trigger.customers, clock.ms,
       ARRAY(SELECT customer_id FROM jobs WHERE ordinal < {page} ORDER BY ordinal) AS first_page, NULL
FROM trigger, clock

-- journeys.engine.entering.bulk: _QUEUED
SELECT coalesce(split_part(queued_as, '-', 3), customer_id) FROM journeys_enrollmentjob WHERE trigger_id = {trigger_id} AND ordinal > {after} ORDER BY ordinal LIMIT {page}

-- journeys.engine.entering.bulk: _QUEUE_ON_TERMS
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
), {tables}, audience AS ({chosen}
), numbered AS (
    SELECT *, row_number() OVER (ORDER BY scheduled_for, customer_id) - 1 AS ordinal FROM (
        SELECT *, CASE WHEN entrance IS NOT NULL THEN (
        SELECT coalesce(job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms)
        FROM journeys_enrollmentjob job WHERE job.customer_id = asked.customer_id AND job.journey_id = asked.journey_id
          AND job.entrance = asked.entrance AND job.holds_entrance LIMIT 1
    ) END AS held_by, {scheduled} FROM (
            SELECT id AS customer_id, {journey_id}::text AS journey_id, {entrance}::text AS entrance FROM audience
        ) AS asked
    ) AS due
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason, entrance, holds_entrance, scheduled_for, zone)
    SELECT {workspace_id}, {journey_id}, customer_id, {trigger_id}, ordinal, clock.ms, 'queued', '', '', entrance, CASE WHEN held_by IS NULL AND entrance IS NOT NULL THEN true END, scheduled_for, zone
    FROM numbered, clock ORDER BY ordinal
    RETURNING ordinal, customer_id
), trigger AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         keeps_progress, called_by, serial, selection, expires_at)
    SELECT {trigger_id}, {workspace_id}, {journey_id}, 'bulk', NULL, {payload}, queued.customers, {request_id},
           {traceparent}::text, to_timestamp(clock.ms / 1000.0), queued.customers >= {large}, {called_by}, {serial},
           jsonb_build_object(
               'segments', {segment_ids}::jsonb,
               'named', (SELECT count(*) FROM named),
               'unknown', (SELECT count(*) FROM named WHERE customer_id IS NULL),
               'not_in_segments', ARRAY(SELECT customer_id FROM named WHERE NOT belongs ORDER BY place),
               'exempt', ARRAY(SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL ORDER BY place),
               'excluded', ARRAY(SELECT customer_id FROM exempt WHERE {excluded} ORDER BY place)
           ) || jsonb_build_object('stood_in', (
               SELECT count(*) FILTER (WHERE left(zone, 5) = 'else ') FROM numbered HAVING count(zone) > 0
           )), {until}::timestamptz
    FROM clock, (SELECT count(*) AS customers FROM jobs) AS queued
    RETURNING customers
), unknown AS (
    INSERT INTO journeys_unknownexternalid (workspace_id, trigger_id, excluded, place, external_id)
    SELECT {workspace_id}, {trigger_id}, excluded, place, left(external_id, 255) FROM (
        SELECT false AS excluded, place, external_id FROM named WHERE customer_id IS NULL AND external_id IS NOT NULL
        UNION ALL SELECT true, place, external_id FROM exempt WHERE customer_id IS NULL
    ) AS unknown
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT {workspace_id}, {trigger_id}, start, stop, CASE WHEN scheduled_for > now() THEN 'scheduled' ELSE lane END, greatest(scheduled_for, now()) + number * 0.1 * interval '1 second', greatest(scheduled_for, now()),
           0, ''
    FROM trigger, (
        SELECT scheduled_for, number, min(ordinal) AS start, max(ordinal) + 1 AS stop, 'bulk' AS lane FROM (
            SELECT scheduled_for, ordinal,
                   (first_of_one - min(ordinal) OVER (PARTITION BY scheduled_for)) / 500 AS number
            FROM (SELECT scheduled_for, ordinal, ordinal AS first_of_one FROM numbered) AS ordered
        ) AS placed GROUP BY scheduled_for, number
    ) AS chunk
)
SELECT trigger.customers, clock.ms,
       ARRAY(SELECT customer_id FROM jobs WHERE ordinal < {page} ORDER BY ordinal) AS first_page, ARRAY(
           SELECT ARRAY[customer_id::text, held_by] FROM numbered WHERE held_by IS NOT NULL ORDER BY ordinal LIMIT 1000
       )
FROM trigger, clock

-- journeys.engine.entering.by_event: _ACTIVE
SELECT workspace_id, event_name, id, key, active, event_where, event_from_bridge
FROM journeys_journey
WHERE trigger_type = 'event' AND active
  AND (workspace_id, event_name) IN (SELECT * FROM {kinds})
ORDER BY id

-- journeys.engine.entering.by_event: _ALL
SELECT workspace_id, event_name, id, key, active, event_where, event_from_bridge
FROM journeys_journey
WHERE trigger_type = 'event' AND archived_at IS NULL
  AND (workspace_id, event_name) IN (SELECT * FROM {kinds})
ORDER BY id

-- journeys.engine.entering.by_event: _QUEUE
WITH clock AS (
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms
), asked AS (
    SELECT * FROM {entries}
), entry AS (
    SELECT asked.*, '' AS called_by, greatest(clock.ms, taken.ms + 1)
           + row_number() OVER (PARTITION BY journey_id, customer_id ORDER BY place) - 1 AS queued_ms,
           CASE WHEN count(*) OVER (PARTITION BY workspace_id) > {a_few} THEN 'bulk' ELSE 'single' END AS lane,
           (row_number() OVER (PARTITION BY workspace_id ORDER BY place) - 1) / 500 AS turn
    FROM asked, clock, LATERAL (
        SELECT coalesce(max(queued_ms), 0) AS ms FROM journeys_enrollmentjob job
        WHERE job.customer_id = asked.customer_id AND job.journey_id = asked.journey_id
    ) AS taken
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
    SELECT workspace_id, journey_id, customer_id, trigger_id, 0, queued_ms, 'queued', '', ''
    FROM entry ORDER BY place
), triggers AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         called_by)
    SELECT trigger_id, workspace_id, journey_id, 'single', event_id, payload, 1, request_id, traceparent,
           to_timestamp(queued_ms / 1000.0), called_by
    FROM entry
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT workspace_id, trigger_id, 0, 1, lane, now() + turn * interval '0.1 seconds', now(), 0, ''
    FROM entry ORDER BY place
)
SELECT trigger_id, journey_id, customer_id, queued_ms, lane FROM entry ORDER BY place

-- journeys.engine.entering.by_event: _QUEUE_FOR_ENTRANCES
WITH clock AS (
    SELECT floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint AS ms
), asked AS (
    SELECT * FROM {entries}
), entry AS (
    SELECT asked.*, '' AS called_by, greatest(clock.ms, taken.ms + 1)
           + row_number() OVER (PARTITION BY journey_id, customer_id ORDER BY place) - 1 AS queued_ms,
           CASE WHEN count(*) OVER (PARTITION BY workspace_id) > {a_few} THEN 'bulk' ELSE 'single' END AS lane,
           (row_number() OVER (PARTITION BY workspace_id ORDER BY place) - 1) / 500 AS turn, NULL::timestamptz AS scheduled_for, NULL::text AS zone, NULL::timestamptz AS expires_at,
           NULL::jsonb AS selection,
           coalesce((
        SELECT coalesce(job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms)
        FROM journeys_enrollmentjob job WHERE job.customer_id = asked.customer_id AND job.journey_id = asked.journey_id
          AND job.entrance = asked.entrance AND job.holds_entrance LIMIT 1
    ), CASE WHEN row_number() OVER (
               PARTITION BY journey_id, customer_id, entrance ORDER BY place
           ) > 1 THEN 'an earlier one' END) AS held_by
    FROM asked, clock, LATERAL (
        SELECT coalesce(max(queued_ms), 0) AS ms FROM journeys_enrollmentjob job
        WHERE job.customer_id = asked.customer_id AND job.journey_id = asked.journey_id
    ) AS taken
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason, entrance, holds_entrance, scheduled_for, zone)
    SELECT workspace_id, journey_id, customer_id, trigger_id, 0, queued_ms, 'queued', '', '', entrance, CASE WHEN held_by IS NULL AND entrance IS NOT NULL THEN true END, scheduled_for, zone
    FROM entry ORDER BY place
), triggers AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         called_by, expires_at, selection)
    SELECT trigger_id, workspace_id, journey_id, 'single', event_id, payload, 1, request_id, traceparent,
           to_timestamp(queued_ms / 1000.0), called_by, expires_at, selection
    FROM entry
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT workspace_id, trigger_id, 0, 1, CASE WHEN scheduled_for > now() THEN 'scheduled' ELSE lane END, greatest(scheduled_for, now()) + turn * interval '0.1 seconds', greatest(scheduled_for, now()), 0, ''
    FROM entry ORDER BY place
)
SELECT trigger_id, journey_id, customer_id, queued_ms, lane FROM entry ORDER BY place

-- journeys.engine.entering.chunks: _CLAIM
UPDATE journeys_chunk SET attempts = attempts + 1, due_at = now() + interval '1 second'
WHERE id = ANY(ARRAY(
    SELECT id FROM journeys_chunk
    WHERE trigger_id = {trigger_id} AND start = {start} AND due_at <= now() FOR UPDATE SKIP LOCKED
))
RETURNING id, workspace_id, trigger_id, start, stop, lane, attempts

-- journeys.engine.entering.chunks: _LOCK
SELECT id, set_config('lock_timeout', {wait}, true) FROM journeys_chunk
WHERE id = ANY({ids}::bigint[]) FOR UPDATE SKIP LOCKED

-- journeys.engine.entering.chunks: _RETRY
UPDATE journeys_chunk SET error = {error}::text, due_at = now() + CASE WHEN stop - start = 1 THEN CASE WHEN attempts < 5 THEN interval '1 second' * power(2, attempts - 1) ELSE '0' END ELSE '0' END
WHERE id = ANY({ids}::bigint[])

-- journeys.engine.entering.chunks: _SNOOZE
UPDATE journeys_chunk SET error = {error}, attempts = greatest(attempts - 1, 1),
    due_at = now() + make_interval(secs => {seconds})
WHERE id = {id}

-- journeys.engine.entering.claims: _CLAIM
WITH RECURSIVE turn AS (
    (SELECT found.* FROM (VALUES ({last}), ('')) AS before(workspace_id)
     CROSS JOIN LATERAL (
    SELECT workspace_id, stop - start AS size, attempts FROM journeys_chunk, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE lane = {lane} AND workspace_id > before.workspace_id AND due_at <= now()
    ORDER BY workspace_id, turn_at LIMIT 1
) AS found LIMIT 1)
    UNION ALL
    SELECT found.* FROM turn AS before CROSS JOIN LATERAL (
    SELECT workspace_id, stop - start AS size, attempts FROM journeys_chunk, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE lane = {lane} AND workspace_id > before.workspace_id AND due_at <= now()
    ORDER BY workspace_id, turn_at LIMIT 1
) AS found
), served AS MATERIALIZED (
    SELECT *, row_number() OVER () AS place, count(*) OVER () AS number
    FROM (SELECT * FROM turn LIMIT {workspaces}) AS first
), looked_at AS MATERIALIZED (
    SELECT chunk.*, served.place, row_number() OVER (PARTITION BY served.place ORDER BY turn_at, chunk.id) AS nth
    FROM served CROSS JOIN LATERAL (
        SELECT id, attempts, stop - start AS size, turn_at FROM journeys_chunk, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE lane = {lane} AND workspace_id = served.workspace_id AND due_at <= now()
        ORDER BY turn_at
        LIMIT CASE WHEN served.attempts > 0 THEN 1 ELSE greatest(1, {jobs} / greatest(served.size, served.number)) END
        FOR UPDATE OF journeys_chunk SKIP LOCKED
    ) AS chunk
), ranked AS (
    SELECT id, attempts, row_number() OVER in_turn AS place, sum(size) OVER in_turn AS jobs,
           first_value(attempts) OVER in_turn AS attempts_at_first
    FROM looked_at WINDOW in_turn AS (ORDER BY nth, place)
)
UPDATE journeys_chunk SET attempts = attempts + 1, due_at = now() + interval '1 second'
WHERE id = ANY(ARRAY(
    SELECT id FROM ranked WHERE place = 1 OR jobs <= {jobs} AND attempts = 0 AND attempts_at_first = 0
))
RETURNING id, workspace_id, trigger_id, start, stop, lane, attempts

-- journeys.engine.entering.claims: _DUE
SELECT chunk.lane, job.journey_id, job.customer_id, job.queued_ms
FROM unnest({lanes}::text[]) AS wanted(lane)
CROSS JOIN LATERAL (
    SELECT lane, trigger_id, start, workspace_id, turn_at FROM journeys_chunk, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE lane = wanted.lane AND due_at <= now() - {seconds} * interval '1 second'
    ORDER BY workspace_id, turn_at LIMIT {most}
) AS chunk
JOIN journeys_enrollmentjob job ON job.trigger_id = chunk.trigger_id AND job.ordinal = chunk.start
ORDER BY chunk.lane, chunk.workspace_id, chunk.turn_at

-- journeys.engine.entering.draws: _KEEP
INSERT INTO journeys_draw (workspace_id, customer_id, journey_id, held_out)
SELECT * FROM {draws} ORDER BY customer_id, journey_id
ON CONFLICT (customer_id, journey_id) DO NOTHING

-- journeys.engine.entering.draws: _KNOWN
SELECT asked.customer_id, asked.journey_id, coalesce((
    SELECT held_out FROM journeys_draw known
    WHERE known.customer_id = asked.customer_id AND known.journey_id = asked.journey_id LIMIT 1
), CASE WHEN EXISTS (
    SELECT FROM journeys_enrollment past
    WHERE past.customer_id = asked.customer_id AND past.journey_id = asked.journey_id LIMIT 1
) THEN false END)
FROM {asked}

-- journeys.engine.entering.dry_runs: _DUE
SELECT scheduled_for, zone FROM unnest({ids}::text[]) WITH ORDINALITY AS asked (customer_id, place) CROSS JOIN LATERAL (SELECT {due}) AS due ORDER BY place

-- journeys.engine.entering.entrances: _HELD
SELECT job.journey_id, job.customer_id, job.entrance, job.id, coalesce(job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms)
FROM {asked} CROSS JOIN LATERAL (
    SELECT * FROM journeys_enrollmentjob known
    WHERE known.customer_id = asked.customer_id AND known.journey_id = asked.journey_id
      AND known.entrance = asked.entrance AND known.holds_entrance LIMIT 1
) AS job

-- journeys.engine.entering.entrances: _LET_GO
UPDATE journeys_enrollmentjob SET holds_entrance = NULL WHERE id = ANY({ids}::bigint[])

-- journeys.engine.entering.entry_conditions: _FINDINGS
SELECT job.id, ARRAY[{held}], ARRAY[{shown}]
FROM ({relation}) AS job
CROSS JOIN LATERAL (
    SELECT * FROM customers_customer known
    WHERE known.id = job.customer_id AND known.workspace_id = job.workspace_id LIMIT 1
) AS customer
WHERE (job.id IN (SELECT unnest({job_ids}::bigint[]))) IS TRUE

-- journeys.engine.entering.entry_conditions: _MEETING
SELECT job.id
FROM ({relation}) AS job
CROSS JOIN LATERAL (
    SELECT * FROM customers_customer known
    WHERE known.id = job.customer_id AND known.workspace_id = job.workspace_id LIMIT 1
) AS customer
WHERE job.journey_id = {journey_id}::text AND {condition}

-- journeys.engine.entering.held_up: _REPLACE
WITH whole AS (DELETE FROM journeys_chunk WHERE id = ANY({ids}::bigint[]) RETURNING *)
INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
SELECT whole.workspace_id, whole.trigger_id, part.start, part.stop, whole.lane, whole.turn_at,
       now() + CASE WHEN part.held_up THEN {seconds} ELSE 0 END * interval '1 second', part.held_up::int,
       CASE WHEN part.held_up THEN {error} ELSE '' END
FROM {parts} JOIN whole ON whole.id = part.id

-- journeys.engine.entering.queueing: _FREE_MS
SELECT coalesce(max(job.queued_ms), 0) + 1 FROM ({audience}) AS audience JOIN journeys_enrollmentjob job ON job.customer_id = audience.id AND job.journey_id = {journey_id}

-- journeys.engine.entering.recipients: _JOBS
SELECT coalesce(queued_as, 'enroll-' || journey_id || '-' || customer_id || '-' || queued_ms), scheduled_for
FROM journeys_enrollmentjob WHERE trigger_id = {trigger_id} ORDER BY ordinal

-- journeys.engine.entering.recipients: _QUEUE
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
), {tables}, found AS MATERIALIZED (
    SELECT *, {journey_id}::text AS journey_id,
           row_number() OVER (PARTITION BY customer_id, entrance ORDER BY place) > 1 AS is_second
    FROM named WHERE customer_id IS NOT NULL
      AND customer_id NOT IN (SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL)
), numbered AS MATERIALIZED (
    SELECT nextval('journeys_enrollmentjob_id_seq') AS id, ordered.* FROM (
        SELECT *, row_number() OVER (ORDER BY scheduled_for, first_place, place) - 1 AS ordinal,
               row_number() OVER (PARTITION BY customer_id ORDER BY place) - 1 AS later
        FROM (
            SELECT *, CASE WHEN entrance IS NOT NULL THEN (
        SELECT coalesce(job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms)
        FROM journeys_enrollmentjob job WHERE job.customer_id = asked.customer_id AND job.journey_id = asked.journey_id
          AND job.entrance = asked.entrance AND job.holds_entrance LIMIT 1
    ) END AS held_by, {scheduled},
                   min(place) OVER (PARTITION BY customer_id) AS first_place
            FROM found AS asked WHERE NOT is_second
        ) AS due ORDER BY ordinal
    ) AS ordered
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (id, workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason,
         payload, entrance, holds_entrance, scheduled_for, zone)
    SELECT id, {workspace_id}, {journey_id}, customer_id, {trigger_id}, ordinal, clock.ms + later, 'queued', '', '',
           payload, entrance, CASE WHEN held_by IS NULL AND entrance IS NOT NULL THEN true END, scheduled_for, zone
    FROM numbered, clock ORDER BY customer_id, entrance
    RETURNING 1
), trigger AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         keeps_progress, called_by, serial, selection, expires_at)
    SELECT {trigger_id}, {workspace_id}, {journey_id}, 'bulk', NULL, {payload}, queued.customers, {request_id},
           {traceparent}::text, to_timestamp(clock.ms / 1000.0), queued.customers >= {large}, {called_by}, {serial},
           jsonb_build_object(
               'segments', {segment_ids}::jsonb,
               'named', (SELECT count(*) FROM named),
               'unknown', (SELECT count(*) FROM named WHERE customer_id IS NULL),
               'not_in_segments', ARRAY(SELECT customer_id FROM named WHERE NOT belongs ORDER BY place),
               'exempt', ARRAY(SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL ORDER BY place),
               'excluded', ARRAY(SELECT customer_id FROM exempt WHERE {excluded} ORDER BY place)
           ) || jsonb_build_object(
               'unknown_recipients', ARRAY(SELECT place - 1 FROM named WHERE customer_id IS NULL ORDER BY place)
           ) || jsonb_build_object('stood_in', (
               SELECT count(*) FILTER (WHERE left(zone, 5) = 'else ') FROM numbered HAVING count(zone) > 0
           )), {until}::timestamptz
    FROM clock, (SELECT count(*) AS customers FROM jobs) AS queued
    RETURNING customers
), unknown AS (
    INSERT INTO journeys_unknownexternalid (workspace_id, trigger_id, excluded, place, external_id)
    SELECT {workspace_id}, {trigger_id}, excluded, place, left(external_id, 255) FROM (
        SELECT false AS excluded, place, external_id FROM named WHERE customer_id IS NULL AND external_id IS NOT NULL
        UNION ALL SELECT true, place, external_id FROM exempt WHERE customer_id IS NULL
    ) AS unknown
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT {workspace_id}, {trigger_id}, start, stop, CASE WHEN scheduled_for > now() THEN 'scheduled' ELSE lane END, greatest(scheduled_for, now()) + number * 0.1 * interval '1 second', greatest(scheduled_for, now()),
           0, ''
    FROM trigger, (
        SELECT scheduled_for, number, min(ordinal) AS start, max(ordinal) + 1 AS stop, 'bulk' AS lane FROM (
            SELECT scheduled_for, ordinal,
                   (first_of_one - min(ordinal) OVER (PARTITION BY scheduled_for)) / 500 AS number
            FROM (SELECT scheduled_for, ordinal, min(ordinal) OVER (PARTITION BY customer_id) AS first_of_one FROM numbered) AS ordered
        ) AS placed GROUP BY scheduled_for, number
    ) AS chunk
)
SELECT ARRAY(SELECT place - 1 FROM numbered ORDER BY ordinal),
       ARRAY(SELECT customer_id FROM numbered ORDER BY ordinal),
       ARRAY(SELECT clock.ms + later FROM numbered ORDER BY ordinal),
       ARRAY(SELECT scheduled_for FROM numbered ORDER BY ordinal),
       ARRAY(SELECT ARRAY[entrance, customer_id, held_by] FROM numbered WHERE held_by IS NOT NULL ORDER BY ordinal),
       ARRAY(SELECT place - 1 FROM found WHERE is_second ORDER BY place)
FROM trigger, clock

-- journeys.engine.entering.scheduled: _COME_DUE
WITH due AS MATERIALIZED (
    SELECT id, trigger_id, workspace_id FROM journeys_chunk
    WHERE lane = 'scheduled' AND due_at <= now() ORDER BY due_at LIMIT {most} FOR UPDATE SKIP LOCKED
), placed AS MATERIALIZED (
    SELECT due.id, CASE WHEN called.form = 'single' AND count(*) OVER (
        PARTITION BY due.workspace_id, called.form
    ) <= {a_few} THEN 'single' ELSE 'bulk' END AS lane
    FROM due
    CROSS JOIN LATERAL (SELECT form FROM journeys_trigger known WHERE known.id = due.trigger_id LIMIT 1) AS called
)
UPDATE journeys_chunk chunk SET lane = placed.lane FROM placed WHERE chunk.id = ANY(ARRAY[placed.id])

-- journeys.engine.entering.settling: _WRITE_DECISIONS
WITH decided AS MATERIALIZED (
    SELECT decided.* FROM {decisions} CROSS JOIN LATERAL (
        SELECT FROM journeys_enrollmentjob job
        WHERE job.id = decided.id AND job.status = 'queued' LIMIT 1 FOR NO KEY UPDATE
    ) AS queued
)
UPDATE journeys_enrollmentjob job
SET status = 'decided', result = decided.result, reason = decided.reason, details = decided.details,
    decided_at = now()
FROM decided WHERE job.id = ANY(ARRAY[decided.id])

-- journeys.engine.entering.single: _QUEUE
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
), journey AS (
    SELECT id, workspace_id, trigger_type, payload_schema FROM journeys_journey
    WHERE workspace_id = {workspace_id} AND id = {journey_id} AND active
), customer AS (
    {customer}
), entry AS (
    SELECT journey.workspace_id, journey.id AS journey_id, customer.id AS customer_id, {trigger_id}::text AS trigger_id,
           clock.ms AS queued_ms, NULL::text AS event_id, {payload}::jsonb AS payload, {request_id}::text AS request_id,
           {traceparent}::text AS traceparent, {called_by}::text AS called_by, 1 AS place, 'single' AS lane,
           0 AS turn
    FROM journey, customer, clock
    WHERE trigger_type = 'api' AND (payload_schema IS NULL OR payload_schema = {met}::jsonb)
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
    SELECT workspace_id, journey_id, customer_id, trigger_id, 0, queued_ms, 'queued', '', ''
    FROM entry ORDER BY place
), triggers AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         called_by)
    SELECT trigger_id, workspace_id, journey_id, 'single', event_id, payload, 1, request_id, traceparent,
           to_timestamp(queued_ms / 1000.0), called_by
    FROM entry
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT workspace_id, trigger_id, 0, 1, lane, now() + turn * interval '0.1 seconds', now(), 0, ''
    FROM entry ORDER BY place
)
SELECT (SELECT trigger_type FROM journey), (SELECT id FROM customer), (SELECT queued_ms FROM entry), NULL, NULL,
       (SELECT payload_schema FROM journey WHERE trigger_type = 'api' AND payload_schema IS DISTINCT FROM {met}::jsonb)

-- journeys.engine.entering.single: _QUEUE_ON_TERMS
WITH clock AS (
    SELECT greatest(floor(extract(epoch FROM clock_timestamp()) * 1000)::bigint, {least_ms}::bigint) AS ms
), journey AS (
    SELECT id, workspace_id, trigger_type, payload_schema FROM journeys_journey
    WHERE workspace_id = {workspace_id} AND id = {journey_id} AND active
), customer AS (
    {customer}
), asked AS (
    SELECT journey.workspace_id, journey.id AS journey_id, customer.id AS customer_id, {trigger_id}::text AS trigger_id,
           clock.ms AS queued_ms, NULL::text AS event_id, {payload}::jsonb AS payload, {request_id}::text AS request_id,
           {traceparent}::text AS traceparent, {called_by}::text AS called_by, 1 AS place, 'single' AS lane,
           0 AS turn, {entrance}::text AS entrance, {until}::timestamptz AS expires_at, {exempt} AS selection
    FROM journey, customer, clock
    WHERE trigger_type = 'api' AND (payload_schema IS NULL OR payload_schema = {met}::jsonb)
), entry AS (
    SELECT *, (
        SELECT coalesce(job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms)
        FROM journeys_enrollmentjob job WHERE job.customer_id = asked.customer_id AND job.journey_id = asked.journey_id
          AND job.entrance = asked.entrance AND job.holds_entrance LIMIT 1
    ) AS held_by, {scheduled}
    FROM asked WHERE jsonb_exists(selection -> 'exempt', customer_id) IS NOT TRUE
), jobs AS (
    INSERT INTO journeys_enrollmentjob
        (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason, entrance, holds_entrance, scheduled_for, zone)
    SELECT workspace_id, journey_id, customer_id, trigger_id, 0, queued_ms, 'queued', '', '', entrance, CASE WHEN held_by IS NULL AND entrance IS NOT NULL THEN true END, scheduled_for, zone
    FROM entry ORDER BY place
), triggers AS (
    INSERT INTO journeys_trigger
        (id, workspace_id, journey_id, form, event_id, payload, customers, request_id, traceparent, queued_at,
         called_by, expires_at, selection)
    SELECT trigger_id, workspace_id, journey_id, 'single', event_id, payload, 1, request_id, traceparent,
           to_timestamp(queued_ms / 1000.0), called_by, expires_at, selection
    FROM entry
), chunks AS (
    INSERT INTO journeys_chunk (workspace_id, trigger_id, start, stop, lane, turn_at, due_at, attempts, error)
    SELECT workspace_id, trigger_id, 0, 1, CASE WHEN scheduled_for > now() THEN 'scheduled' ELSE lane END, greatest(scheduled_for, now()) + turn * interval '0.1 seconds', greatest(scheduled_for, now()), 0, ''
    FROM entry ORDER BY place
)
SELECT (SELECT trigger_type FROM journey), (SELECT id FROM customer), (SELECT queued_ms FROM entry), (SELECT held_by FROM entry), (SELECT scheduled_for FROM entry),
       (SELECT payload_schema FROM journey WHERE trigger_type = 'api' AND payload_schema IS DISTINCT FROM {met}::jsonb)

-- journeys.engine.entering.trigger: _LOOK_UP
SELECT trigger_type, nextval('customers_serial'), payload_schema FROM journeys_journey
WHERE workspace_id = {workspace_id} AND id = {journey_id} AND active

-- journeys.engine.entering.waiting_jobs: _LOCKED
WITH job AS MATERIALIZED (SELECT job.trigger_id, job.ordinal, job.customer_id FROM {chunks}
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob queued
        WHERE queued.trigger_id = chunk.trigger_id AND queued.ordinal >= chunk.start AND queued.ordinal < chunk.stop
          AND queued.status = 'queued'
        LIMIT chunk.stop - chunk.start
    ) AS job
),
free AS MATERIALIZED (
    SELECT id FROM customers_customer WHERE id = ANY(ARRAY(SELECT customer_id FROM job))
    FOR NO KEY UPDATE SKIP LOCKED
)
SELECT job.trigger_id, job.ordinal FROM job
CROSS JOIN LATERAL (SELECT FROM customers_customer known WHERE known.id = job.customer_id LIMIT 1) AS customer
WHERE job.customer_id <> ALL(ARRAY(SELECT id FROM free))

-- journeys.engine.entering.waiting_jobs: _LOCK_CUSTOMERS
WITH held AS MATERIALIZED (
    SELECT id FROM customers_customer
    WHERE id = ANY(ARRAY(SELECT job.customer_id FROM {chunks}
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob queued
        WHERE queued.trigger_id = chunk.trigger_id AND queued.ordinal >= chunk.start AND queued.ordinal < chunk.stop
          AND queued.status = 'queued'
        LIMIT chunk.stop - chunk.start
    ) AS job
)) ORDER BY id FOR NO KEY UPDATE
)
SELECT id FROM held UNION ALL SELECT NULL WHERE (SELECT pg_advisory_xact_lock_shared(hashtextextended('engage: steps and decides', 0))) IS NULL

-- journeys.engine.entering.waiting_jobs: _READ_JOBS
SELECT job.id, job.trigger_id, job.ordinal, job.request_id, job.traceparent, job.workspace_id, job.journey_id,
       job.customer_id, customer.id IS NOT NULL AS customer_exists, inside.ids AS active_enrollment_ids, past.completed,
       past.last_completed_id, allowed.counted_to, job.event_id, job.chain, job.serial, job.crowd,
       job.due_ms, coalesce(date_part('epoch', clock_timestamp()) - job.due_ms / 1000, 0) AS waited,
       job.expired, job.excluded, job.entrance, job.holds_entrance AS holds, job.name,
       CASE WHEN journey.concurrent_entrances THEN job.entrance END AS entrance_apart
FROM ({jobs}) AS job
JOIN journeys_journey journey ON journey.id = job.journey_id
CROSS JOIN LATERAL (SELECT coalesce(journey.max_entries_per_customer, 1) AS counted_to) AS allowed
LEFT JOIN LATERAL (
    SELECT known.id FROM customers_customer known WHERE known.id = job.customer_id LIMIT 1
) AS customer ON true
CROSS JOIN LATERAL (
    SELECT string_agg(active.id, ' ') AS ids FROM journeys_enrollment active
    WHERE active.customer_id = job.customer_id AND active.journey_id = job.journey_id AND active.state = 'active'
      AND (NOT journey.concurrent_entrances OR active.entrance IS NOT DISTINCT FROM job.entrance)
) AS inside
CROSS JOIN LATERAL (
    SELECT count(*) AS completed, max(id) AS last_completed_id FROM (
        SELECT id FROM journeys_enrollment past
        WHERE past.customer_id = job.customer_id AND past.journey_id = job.journey_id AND past.state = 'completed'
          AND (NOT journey.concurrent_entrances OR past.entrance IS NOT DISTINCT FROM job.entrance)
        LIMIT allowed.counted_to
    ) AS counted
) AS past
ORDER BY job.id

-- journeys.engine.entering.waiting_jobs: _SUPPOSED
SELECT asked.id, '' AS trigger_id, 0 AS ordinal, '' AS request_id, NULL::text AS traceparent,
       {workspace_id}::text AS workspace_id, asked.journey_id, asked.customer_id,
       CASE WHEN asked.payload IS NULL THEN {payload}::jsonb ELSE {payload}::jsonb || asked.payload END AS payload,
       NULL::text AS event_id, asked.event_name,
       NULL::text AS event_message, asked.event_verified, 0 AS chain, NULL::bigint AS serial, false AS crowd,
       NULL::float8 AS due_ms,
       coalesce({until}::timestamptz <= greatest(due.scheduled_for, clock_timestamp()), false) AS expired,
       greatest(due.scheduled_for, now()) AS decided_at,
       asked.entrance, NULL::boolean AS holds_entrance, NULL::text AS name, false AS excluded
FROM {asked} CROSS JOIN LATERAL (SELECT {scheduled}) AS due

-- journeys.engine.entering.waiting_jobs: _WAITING
SELECT job.id, job.trigger_id, job.ordinal, trigger.request_id, trigger.traceparent, job.workspace_id, job.journey_id,
       job.customer_id,
       CASE WHEN job.payload IS NULL THEN trigger.payload ELSE trigger.payload || job.payload END AS payload,
       event.id AS event_id, event.name AS event_name, event.message_id AS event_message,
       event.verified AS event_verified, coalesce(event.chain, 0) AS chain,
       coalesce(event.serial, trigger.serial) AS serial,
       chunk.lane = 'bulk' AND (trigger.form = 'single' OR trigger.customers > 500) AS crowd,
       greatest(job.queued_ms, date_part('epoch', job.scheduled_for) * 1000) AS due_ms,
       coalesce(trigger.expires_at <= clock_timestamp(), false) AS expired, now() AS decided_at,
       job.entrance, job.holds_entrance, CASE WHEN job.entrance IS NOT NULL THEN coalesce(job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms) END AS name,
       CASE WHEN trigger.selection -> 'exempt' <> '[]' THEN EXISTS (
           SELECT FROM customers_alias merged
           WHERE merged.workspace_id = job.workspace_id AND merged.customer_id = job.customer_id
             AND jsonb_exists(trigger.selection -> 'exempt', merged.id)
       ) ELSE false END AS excluded
FROM {chunks}
CROSS JOIN LATERAL (SELECT * FROM journeys_trigger called WHERE called.id = chunk.trigger_id LIMIT 1) AS trigger

    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob queued
        WHERE queued.trigger_id = trigger.id AND queued.ordinal >= chunk.start AND queued.ordinal < chunk.stop
          AND queued.status = 'queued'
        LIMIT chunk.stop - chunk.start
    ) AS job

LEFT JOIN LATERAL (
    SELECT * FROM customers_event started WHERE started.id = trigger.event_id LIMIT 1
) AS event ON true
