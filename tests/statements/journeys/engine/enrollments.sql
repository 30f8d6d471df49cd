-- journeys.engine.enrollments.by_customer: _PAGE
SELECT job.customer_id, job.queued_ms, job.queued_as, job.journey_id, job.journey_name, job.trigger_id,
       trigger.form, trigger.event_id, event.name AS event_name, job.status,
       nullif(job.result, '') AS result, nullif(job.reason, '') AS reason,
       ARRAY(SELECT jsonb_array_elements_text(job.details)) AS details, trigger.queued_at, job.scheduled_for,
       job.decided_at,
       enrollment.id AS "enrollment.id", enrollment.state AS "enrollment.state",
       nullif(enrollment.step_id, '') AS "enrollment.step_id",
       nullif(enrollment.exit_reason, '') AS "enrollment.exit_reason",
       enrollment.entered_at AS "enrollment.entered_at", enrollment.ended_at AS "enrollment.ended_at",
       CASE WHEN enrollment.state = 'active' THEN
           coalesce(enrollment.watches_until, enrollment.due_at, enrollment.was_due_at, 
CASE WHEN delivery.state = 'waiting'
    THEN journeys_next_attempt(delivery.workspace_id, delivery.host, delivery.source, delivery.due_at) ELSE delivery.due_at
END
)
       END AS "enrollment.goes_on_at"
FROM (
    SELECT newest.*, journey.name AS journey_name
    FROM journeys_journey journey
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob job
        WHERE job.customer_id = {customer_id} AND job.journey_id = journey.id
          AND job.queued_ms < {ms} + CASE WHEN journey.id < {journey_id} THEN 1 ELSE 0 END
        ORDER BY job.queued_ms DESC LIMIT {most}
    ) AS newest
    WHERE journey.workspace_id = {workspace_id} AND coalesce(journey.id = ANY({journeys}::text[]), true)
    ORDER BY newest.queued_ms DESC, newest.journey_id DESC LIMIT {most}
) AS job
JOIN journeys_trigger trigger ON trigger.id = job.trigger_id
LEFT JOIN customers_event event ON event.id = trigger.event_id
LEFT JOIN journeys_enrollment enrollment ON enrollment.job_id = job.id
LEFT JOIN journeys_webhookdelivery delivery
  ON delivery.enrollment_id = enrollment.id AND delivery.ordinal = enrollment.steps_begun - 1
 AND delivery.state IN ('waiting', 'held')
ORDER BY job.queued_ms DESC, job.journey_id DESC

-- journeys.engine.enrollments.deliveries: _IN_APP_OF_ALL
SELECT 0 AS row_id, sent.id, 'in_app' AS kind, sent.workspace_id, sent.customer_id, sent.enrollment_id, sent.journey_id,
       journey.name AS journey_name, sent.step_id, sent.created_at AS at, sent.state, sent.ended_at,
       nullif(sent.because, '') AS result, NULL AS method, NULL AS url, NULL::int AS attempts, NULL::int AS status,
       sent.message_id AS message, sent.shown_at, nullif(sent.action_id, '') AS action_id
FROM journeys_inappdelivery sent
LEFT JOIN LATERAL (SELECT name FROM journeys_journey known WHERE known.id = sent.journey_id LIMIT 1) AS journey ON true
WHERE true AND sent.workspace_id = ANY({workspaces}::text[]) AND sent.id < {in_app}
  AND coalesce(sent.step_id = {step_id}::text, true) AND coalesce(sent.state = {state}::text, true)
  AND coalesce(sent.journey_id = ANY({journeys}::text[]), true)
  AND coalesce(sent.created_at >= {since}::timestamptz, true)
  AND coalesce(sent.created_at < {before}::timestamptz, true)
ORDER BY sent.id DESC LIMIT {most}

-- journeys.engine.enrollments.deliveries: _IN_APP_OF_CUSTOMER
SELECT 0 AS row_id, sent.id, 'in_app' AS kind, sent.workspace_id, sent.customer_id, sent.enrollment_id, sent.journey_id,
       journey.name AS journey_name, sent.step_id, sent.created_at AS at, sent.state, sent.ended_at,
       nullif(sent.because, '') AS result, NULL AS method, NULL AS url, NULL::int AS attempts, NULL::int AS status,
       sent.message_id AS message, sent.shown_at, nullif(sent.action_id, '') AS action_id
FROM journeys_inappdelivery sent
LEFT JOIN LATERAL (SELECT name FROM journeys_journey known WHERE known.id = sent.journey_id LIMIT 1) AS journey ON true
WHERE sent.customer_id = {customer_id} AND sent.workspace_id = ANY({workspaces}::text[]) AND sent.id < {in_app}
  AND coalesce(sent.step_id = {step_id}::text, true) AND coalesce(sent.state = {state}::text, true)
  AND coalesce(sent.journey_id = ANY({journeys}::text[]), true)
  AND coalesce(sent.created_at >= {since}::timestamptz, true)
  AND coalesce(sent.created_at < {before}::timestamptz, true)
ORDER BY sent.id DESC LIMIT {most}

-- journeys.engine.enrollments.deliveries: _WEBHOOKS_OF_ALL
SELECT sent.id AS row_id, 'msg_' || sent.enrollment_id || '_' || sent.ordinal AS id, 'webhook' AS kind,
       sent.workspace_id, enrollment.customer_id, sent.enrollment_id, enrollment.journey_id,
       journey.name AS journey_name, run.step_id, run.began_at AS at, sent.state,
       CASE WHEN sent.state NOT IN ('waiting', 'held') THEN sent.due_at END AS ended_at,
       CASE WHEN sent.state NOT IN ('waiting', 'held') THEN nullif(sent.result, '') END AS result,
       sent.method, sent.url, sent.attempts, answer.status,
       NULL AS message, NULL::timestamptz AS shown_at, NULL AS action_id
FROM (
    SELECT one.id FROM unnest({workspaces}::text[]) AS workspace CROSS JOIN LATERAL (
        SELECT id FROM journeys_webhookdelivery made
        WHERE (made.workspace_id, made.id) < (workspace, {webhook}::bigint)
          AND (made.workspace_id, made.id) > (workspace, 0)
        ORDER BY made.workspace_id DESC, made.id DESC LIMIT {searched}
    ) AS one
    ORDER BY one.id DESC OFFSET 0
) AS latest
CROSS JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery known WHERE known.id = latest.id LIMIT 1
) AS sent
CROSS JOIN LATERAL (
    SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1
) AS enrollment
CROSS JOIN LATERAL (
    SELECT step_id, began_at FROM journeys_steprun taken
    WHERE taken.enrollment_id = sent.enrollment_id AND taken.ordinal = sent.ordinal LIMIT 1
) AS run
LEFT JOIN LATERAL (
    SELECT name FROM journeys_journey known WHERE known.id = enrollment.journey_id LIMIT 1
) AS journey ON true
LEFT JOIN LATERAL (
    SELECT status FROM journeys_webhookattempt made
    WHERE made.delivery_id = sent.id AND made.number = sent.attempts LIMIT 1
) AS answer ON true
WHERE coalesce(run.step_id = {step_id}::text, true) AND coalesce(sent.state = {state}::text, true)
  AND coalesce(enrollment.journey_id = ANY({journeys}::text[]), true)
  AND coalesce(run.began_at >= {since}::timestamptz, true) AND coalesce(run.began_at < {before}::timestamptz, true)
ORDER BY latest.id DESC LIMIT {most}

-- journeys.engine.enrollments.deliveries: _WEBHOOKS_OF_CUSTOMER
SELECT sent.id AS row_id, 'msg_' || sent.enrollment_id || '_' || sent.ordinal AS id, 'webhook' AS kind,
       sent.workspace_id, enrollment.customer_id, sent.enrollment_id, enrollment.journey_id,
       journey.name AS journey_name, run.step_id, run.began_at AS at, sent.state,
       CASE WHEN sent.state NOT IN ('waiting', 'held') THEN sent.due_at END AS ended_at,
       CASE WHEN sent.state NOT IN ('waiting', 'held') THEN nullif(sent.result, '') END AS result,
       sent.method, sent.url, sent.attempts, answer.status,
       NULL AS message, NULL::timestamptz AS shown_at, NULL AS action_id
FROM (
    SELECT one.id FROM journeys_enrollment entered CROSS JOIN LATERAL (
        SELECT id FROM journeys_webhookdelivery made
        WHERE made.enrollment_id = entered.id AND made.id < {webhook}
          AND coalesce(made.state = {state}::text, true) OFFSET 0
    ) AS one
    WHERE entered.customer_id = {customer_id} AND entered.workspace_id = ANY({workspaces}::text[])
    ORDER BY one.id DESC OFFSET 0
) AS latest
CROSS JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery known WHERE known.id = latest.id LIMIT 1
) AS sent
CROSS JOIN LATERAL (
    SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1
) AS enrollment
CROSS JOIN LATERAL (
    SELECT step_id, began_at FROM journeys_steprun taken
    WHERE taken.enrollment_id = sent.enrollment_id AND taken.ordinal = sent.ordinal LIMIT 1
) AS run
LEFT JOIN LATERAL (
    SELECT name FROM journeys_journey known WHERE known.id = enrollment.journey_id LIMIT 1
) AS journey ON true
LEFT JOIN LATERAL (
    SELECT status FROM journeys_webhookattempt made
    WHERE made.delivery_id = sent.id AND made.number = sent.attempts LIMIT 1
) AS answer ON true
WHERE coalesce(run.step_id = {step_id}::text, true) AND coalesce(sent.state = {state}::text, true)
  AND coalesce(enrollment.journey_id = ANY({journeys}::text[]), true)
  AND coalesce(run.began_at >= {since}::timestamptz, true) AND coalesce(run.began_at < {before}::timestamptz, true)
ORDER BY latest.id DESC LIMIT {most}

-- journeys.engine.enrollments.drawn_ways: _DRAWN
SELECT asked.customer_id, asked.journey_id, first.* FROM {asked} CROSS JOIN LATERAL (
    SELECT DISTINCT ON (run.step_id) run.step_id, run.number, past.revision_id
    FROM journeys_enrollment past CROSS JOIN LATERAL (
        SELECT step_id, ordinal, substring(detail FROM '^Path ([0-9]+) of')::int - 1 AS number
        FROM journeys_steprun known
        WHERE known.enrollment_id = past.id AND known.type || '' = 'split' AND known.state || '' = 'done'
        UNION ALL
        SELECT '', 0, NULL WHERE past.state = 'completed' AND past.steps_begun > 0
          AND NOT EXISTS (SELECT FROM journeys_steprun known WHERE known.enrollment_id = past.id LIMIT 1)
    ) AS run
    WHERE past.customer_id = asked.customer_id AND past.journey_id || '' = asked.journey_id
    ORDER BY run.step_id, past.entered_at, run.ordinal
) AS first ORDER BY first.step_id

-- journeys.engine.enrollments.early_events: _MISSED
SELECT asked.place, event.id, event.name, event.properties, event.chain, event.serial,
       event.source = ANY({bridge}::text[]) AS from_bridge, event.message_id AS message, event.verified
FROM {listeners}
CROSS JOIN LATERAL (
    SELECT * FROM customers_event recorded
    WHERE recorded.customer_id = asked.customer_id AND recorded.serial > asked.after AND recorded.chain <= {longest}
      AND recorded.name = ANY(ARRAY(SELECT jsonb_array_elements_text(asked.names)))
      AND (asked.counts_bridge_events OR recorded.source <> ALL({bridge}::text[]))
    ORDER BY recorded.serial LIMIT {page}
) AS event
ORDER BY asked.place, event.serial

-- journeys.engine.enrollments.goals: _GOALS
SELECT id, goals FROM journeys_journey WHERE id = ANY({journey_ids}::text[]) AND goals IS NOT NULL

-- journeys.engine.enrollments.goals: _REACH
WITH watch AS MATERIALIZED (
    SELECT found.id, found.enrollment_id FROM unnest({watches}::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT * FROM journeys_goalwatch known WHERE known.id = asked.id LIMIT 1) AS found
    WHERE found.reached_at IS NULL
), run AS MATERIALIZED (
    SELECT watch.id, begun.step_id, begun.type, coalesce(
        lead(begun.step_id) OVER (PARTITION BY watch.id ORDER BY begun.ordinal),
        CASE enrollment.state WHEN 'completed' THEN '@completed' WHEN 'exited' THEN '@exited' END
    ) AS following
    FROM watch
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment known WHERE known.id = watch.enrollment_id LIMIT 1
    ) AS enrollment
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_steprun known WHERE known.enrollment_id = watch.enrollment_id OFFSET 0
    ) AS begun
), told AS (
    SELECT id, CASE WHEN enrollment_id IS NULL THEN '@held_out' ELSE '' END AS outcome FROM watch
    UNION SELECT id, step_id FROM run
    UNION SELECT id, step_id || ' ' || following FROM run
    WHERE type IN ('branch', 'split') AND length(step_id || ' ' || following) <= 100
), reached AS (
    UPDATE journeys_goalwatch watch SET reached_at = statement_timestamp(), counted = outcomes
    FROM (SELECT id, array_agg(outcome ORDER BY outcome) AS outcomes FROM told GROUP BY id) AS counted
    WHERE watch.id = ANY(ARRAY[counted.id])
    RETURNING workspace_id, journey_id, revision_id, goal, watch.counted
)

    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT workspace_id, journey_id, revision_id, date_trunc('hour', statement_timestamp(), 'UTC'), 'goal', goal,
           outcome, count(*)
    FROM reached CROSS JOIN LATERAL unnest(counted) AS outcome
    GROUP BY workspace_id, journey_id, revision_id, goal, outcome

-- journeys.engine.enrollments.goals: _WATCH
INSERT INTO journeys_goalwatch
    (id, workspace_id, customer_id, journey_id, revision_id, enrollment_id, goal, event_name, counted, until)
SELECT id, workspace_id, customer_id, journey_id, revision_id, enrollment_id, goal, event_name, '{}',
       statement_timestamp() + seconds * interval '1 second'
FROM {watches}

-- journeys.engine.enrollments.history: _READ
SELECT enrollment.id AS "enrollment.id", enrollment.workspace_id AS "enrollment.workspace_id", enrollment.journey_id AS "enrollment.journey_id", enrollment.customer_id AS "enrollment.customer_id", enrollment.revision_id AS "enrollment.revision_id", enrollment.job_id AS "enrollment.job_id", enrollment.state AS "enrollment.state", enrollment.exit_reason AS "enrollment.exit_reason", enrollment.step_id AS "enrollment.step_id", enrollment.step_began_at AS "enrollment.step_began_at", enrollment.due_at AS "enrollment.due_at", enrollment.was_due_at AS "enrollment.was_due_at", enrollment.awaits_event AS "enrollment.awaits_event", enrollment.watches_until AS "enrollment.watches_until", enrollment.event_id AS "enrollment.event_id", enrollment.chain AS "enrollment.chain", enrollment.steps_begun AS "enrollment.steps_begun", enrollment.claimed_until AS "enrollment.claimed_until", enrollment.attempts AS "enrollment.attempts", enrollment.error AS "enrollment.error", enrollment.crowd AS "enrollment.crowd", enrollment.entrance AS "enrollment.entrance", enrollment.moves AS "enrollment.moves", enrollment.entered_at AS "enrollment.entered_at", enrollment.ended_at AS "enrollment.ended_at", journey.id AS "journey.id", journey.name AS "journey.name", revision.id AS "revision.id", revision.number AS "revision.number", job.id AS "job.id", job.journey_id AS "job.journey_id", job.customer_id AS "job.customer_id", job.trigger_id AS "job.trigger_id", job.queued_ms AS "job.queued_ms", job.queued_as AS "job.queued_as", run.id AS "run.id", run.workspace_id AS "run.workspace_id", run.enrollment_id AS "run.enrollment_id", run.ordinal AS "run.ordinal", run.step_id AS "run.step_id", run.type AS "run.type", run.state AS "run.state", run.detail AS "run.detail", run.missing AS "run.missing", run.because AS "run.because", run.policy AS "run.policy", run.event_id AS "run.event_id", run.began_at AS "run.began_at", run.ended_at AS "run.ended_at", delivery.id AS "delivery.id", delivery.workspace_id AS "delivery.workspace_id", delivery.enrollment_id AS "delivery.enrollment_id", delivery.ordinal AS "delivery.ordinal", delivery.host AS "delivery.host", delivery.source AS "delivery.source", delivery.method AS "delivery.method", delivery.url AS "delivery.url", delivery.headers AS "delivery.headers", delivery.body AS "delivery.body", delivery.state AS "delivery.state", delivery.result AS "delivery.result", delivery.attempts AS "delivery.attempts", delivery.due_at AS "delivery.due_at", delivery.again AS "delivery.again", delivery.held_for AS "delivery.held_for", delivery.give_up_at AS "delivery.give_up_at", delivery.answer_rules AS "delivery.answer_rules", delivery.kept_answer AS "delivery.kept_answer", delivery.contact AS "delivery.contact", attempts.id AS "attempts.id", attempts.workspace_id AS "attempts.workspace_id", attempts.delivery_id AS "attempts.delivery_id", attempts.number AS "attempts.number", attempts.at AS "attempts.at", attempts.milliseconds AS "attempts.milliseconds", attempts.status AS "attempts.status", attempts.answer AS "attempts.answer", attempts.error AS "attempts.error",
       CASE WHEN enrollment.state = 'active' THEN
           coalesce(enrollment.watches_until, enrollment.due_at, enrollment.was_due_at, 
CASE WHEN sending.state = 'waiting'
    THEN journeys_next_attempt(sending.workspace_id, sending.host, sending.source, sending.due_at) ELSE sending.due_at
END
)
       END AS goes_on_at
FROM (SELECT * FROM journeys_enrollment WHERE workspace_id = {workspace_id} AND id = {enrollment_id}) AS enrollment
JOIN journeys_journey journey ON journey.id = enrollment.journey_id
JOIN journeys_journeyrevision revision ON revision.id = enrollment.revision_id
LEFT JOIN LATERAL (SELECT * FROM journeys_enrollmentjob led WHERE led.id = enrollment.job_id LIMIT 1) AS job ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery sent
    WHERE sent.enrollment_id = enrollment.id AND sent.ordinal = enrollment.steps_begun - 1
      AND sent.state IN ('waiting', 'held')
    LIMIT 1
) AS sending ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_steprun taken WHERE taken.enrollment_id = enrollment.id AND taken.ordinal > {after}
    ORDER BY taken.ordinal LIMIT {most}
) AS run ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery sent
    WHERE sent.enrollment_id = enrollment.id AND sent.ordinal = run.ordinal LIMIT 1
) AS delivery ON true
CROSS JOIN LATERAL (
    SELECT array_agg(id ORDER BY number) AS id, array_agg(workspace_id ORDER BY number) AS workspace_id, array_agg(delivery_id ORDER BY number) AS delivery_id, array_agg(number ORDER BY number) AS number, array_agg(at ORDER BY number) AS at, array_agg(milliseconds ORDER BY number) AS milliseconds, array_agg(status ORDER BY number) AS status, array_agg(answer ORDER BY number) AS answer, array_agg(error ORDER BY number) AS error FROM (
        SELECT * FROM journeys_webhookattempt made WHERE made.delivery_id = delivery.id
        ORDER BY made.number DESC LIMIT 20
    ) AS latest
) AS attempts
ORDER BY run.ordinal

-- journeys.engine.enrollments.kept_answers: _OF_ENROLLMENTS
SELECT id, 
(SELECT jsonb_object_agg(kept.step_id, kept.kept_answer ORDER BY kept.ordinal)
 FROM (
     SELECT run.step_id, sent.kept_answer, sent.ordinal FROM (
         SELECT ordinal, kept_answer FROM journeys_webhookdelivery known
         WHERE known.enrollment_id = asked.id AND known.kept_answer IS NOT NULL
     ) AS sent
     CROSS JOIN LATERAL (
         SELECT step_id FROM journeys_steprun known
         WHERE known.enrollment_id = asked.id AND known.ordinal = sent.ordinal LIMIT 1
     ) AS run
     UNION ALL
     SELECT step_id, jsonb_build_object('deliveryId', id), ordinal FROM journeys_inappdelivery known
     WHERE known.enrollment_id = asked.id
 ) AS kept)
::text FROM unnest({enrollment_ids}::text[]) AS asked (id)

-- journeys.engine.enrollments.knowledge: _CALLED
SELECT id, payload, serial, request_id, traceparent FROM journeys_trigger WHERE id = ANY({trigger_ids}::text[])

-- journeys.engine.enrollments.knowledge: _OF_CUSTOMERS
SELECT customer.id AS customer_id, customer.external_id, customer.email, customer.phone, customer.user_id, customer.attributes, NULL AS event_name, NULL AS kept
FROM customers_customer customer WHERE id = ANY({customer_ids}::text[])

-- journeys.engine.enrollments.knowledge: _OF_ENROLLMENTS
SELECT asked.id, job.trigger_id, job.payload AS own_payload, job.entrance, customer.id AS customer_id, customer.external_id, customer.email, customer.phone, customer.user_id, customer.attributes, event.name AS event_name, event.properties AS event_properties, event.message_id AS event_message, event.verified AS event_verified, 
(SELECT jsonb_object_agg(kept.step_id, kept.kept_answer ORDER BY kept.ordinal)
 FROM (
     SELECT run.step_id, sent.kept_answer, sent.ordinal FROM (
         SELECT ordinal, kept_answer FROM journeys_webhookdelivery known
         WHERE known.enrollment_id = asked.id AND known.kept_answer IS NOT NULL
     ) AS sent
     CROSS JOIN LATERAL (
         SELECT step_id FROM journeys_steprun known
         WHERE known.enrollment_id = asked.id AND known.ordinal = sent.ordinal LIMIT 1
     ) AS run
     UNION ALL
     SELECT step_id, jsonb_build_object('deliveryId', id), ordinal FROM journeys_inappdelivery known
     WHERE known.enrollment_id = asked.id
 ) AS kept)
::text AS kept
FROM unnest({enrollment_ids}::text[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = asked.id LIMIT 1) AS enrollment
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollmentjob known WHERE known.id = enrollment.job_id LIMIT 1) AS job
CROSS JOIN LATERAL (SELECT * FROM customers_customer known WHERE known.id = enrollment.customer_id LIMIT 1) AS customer
LEFT JOIN LATERAL (SELECT * FROM customers_event last WHERE last.id = enrollment.event_id LIMIT 1) AS event ON true

-- journeys.engine.enrollments.knowledge: _PAYLOADS_AND_OWN
SELECT id, payload FROM journeys_trigger WHERE id = ANY({trigger_ids}::text[])
UNION ALL
SELECT id::text, payload FROM journeys_enrollmentjob WHERE id = ANY({job_ids}::bigint[]) AND payload IS NOT NULL

-- journeys.engine.enrollments.listing: _IN_JOURNEY
(workspace_id, journey_id, id) > ({workspace_id}, {journey_id}, {after}) AND (workspace_id, journey_id, id) < ({workspace_id}, {journey_id}, {before})

-- journeys.engine.enrollments.listing: _IN_STEP
journey_id = {journey_id} AND step_id = {step_id} AND step_began_at IS NOT NULL AND id > {after} AND id < {before}

-- journeys.engine.enrollments.locks: _LOCK_ALL
WITH held AS MATERIALIZED (
    SELECT id FROM customers_customer
    WHERE id = ANY(ARRAY(SELECT customer_id FROM journeys_enrollment WHERE id = ANY({enrollment_ids}::text[])))
    ORDER BY id FOR NO KEY UPDATE 
)
SELECT id FROM held UNION ALL SELECT NULL WHERE (SELECT pg_advisory_xact_lock_shared(hashtextextended('engage: steps and decides', 0))) IS NULL

-- journeys.engine.enrollments.locks: _LOCK_FREE
WITH held AS MATERIALIZED (
    SELECT id FROM customers_customer
    WHERE id = ANY(ARRAY(SELECT customer_id FROM journeys_enrollment WHERE id = ANY({enrollment_ids}::text[])))
    ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
)
SELECT id FROM held UNION ALL SELECT NULL WHERE (SELECT pg_advisory_xact_lock_shared(hashtextextended('engage: steps and decides', 0))) IS NULL

-- journeys.engine.enrollments.locks: _UNDER_WAY
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'advisory' AND mode = 'ShareLock' AND objsubid = 1
  AND (classid::bigint << 32) | objid::bigint = hashtextextended('engage: steps and decides', 0) AND pid <> pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())

-- journeys.engine.enrollments.postponing: _RELEASE_CLAIM
UPDATE journeys_enrollment enrollment
SET claimed_until = NULL, due_at = coalesce(now() + make_interval(secs => {seconds}), enrollment.due_at)
FROM {untried} WHERE enrollment.id = ANY(ARRAY[claimed.id]) AND enrollment.claimed_until = claimed.until AND enrollment.due_at IS NOT DISTINCT FROM claimed.due_at AND enrollment.state || '' = 'active'

-- journeys.engine.enrollments.postponing: _RESUME
WITH suspended AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY was_due_at, id) - 1 AS place FROM (
        SELECT id, was_due_at FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE journey_id = {journey_id} AND was_due_at IS NOT NULL
        ORDER BY was_due_at LIMIT {most} FOR NO KEY UPDATE OF journeys_enrollment SKIP LOCKED
    ) AS first
)
UPDATE journeys_enrollment enrollment SET was_due_at = NULL, due_at = CASE WHEN enrollment.state || '' = 'active' THEN
    coalesce({start}::timestamptz + suspended.place * make_interval(secs => {seconds}), enrollment.was_due_at)
END
FROM suspended WHERE enrollment.id = ANY(ARRAY[suspended.id])

-- journeys.engine.enrollments.postponing: _RETRY
UPDATE journeys_enrollment enrollment
SET attempts = claimed.attempts, error = claimed.error, due_at = now() + CASE WHEN claimed.attempts < 5 THEN interval '1 second' * power(2, claimed.attempts - 1) ELSE '0' END, claimed_until = NULL
FROM {failures} WHERE enrollment.id = ANY(ARRAY[claimed.id]) AND enrollment.claimed_until = claimed.until AND enrollment.due_at IS NOT DISTINCT FROM claimed.due_at AND enrollment.state || '' = 'active'

-- journeys.engine.enrollments.postponing: _SNOOZE
UPDATE journeys_enrollment enrollment SET attempts = greatest(enrollment.attempts, {least}), error = claimed.error,
    due_at = now() + make_interval(secs => {seconds}), claimed_until = NULL
FROM {failures} WHERE enrollment.id = ANY(ARRAY[claimed.id]) AND enrollment.claimed_until = claimed.until AND enrollment.due_at IS NOT DISTINCT FROM claimed.due_at AND enrollment.state || '' = 'active'

-- journeys.engine.enrollments.postponing: _SUSPEND
WITH paused AS MATERIALIZED (
    SELECT id FROM journeys_journey
    WHERE id = ANY({journey_ids}::text[]) AND (held_at IS NOT NULL OR per_minute IS NOT NULL) ORDER BY id FOR SHARE
)
UPDATE journeys_enrollment enrollment
SET claimed_until = NULL, due_at = NULL, was_due_at = enrollment.due_at
FROM {untried} WHERE enrollment.id = ANY(ARRAY[claimed.id]) AND enrollment.claimed_until = claimed.until AND enrollment.due_at IS NOT DISTINCT FROM claimed.due_at AND enrollment.state || '' = 'active'
  AND enrollment.journey_id = ANY(ARRAY(SELECT id FROM paused))
RETURNING enrollment.id

-- journeys.engine.enrollments.trails: _OF_ENROLLMENTS
SELECT asked.id AS enrollment_id, called.* FROM unnest({ids}::text[]) AS asked (id)
CROSS JOIN LATERAL (
    SELECT trigger.id AS trigger_id, trigger.request_id, trigger.traceparent
    FROM (SELECT * FROM journeys_enrollment known WHERE known.id = asked.id LIMIT 1) AS entered
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollmentjob known WHERE known.id = entered.job_id LIMIT 1) AS job
    CROSS JOIN LATERAL (SELECT * FROM journeys_trigger known WHERE known.id = job.trigger_id LIMIT 1) AS trigger
) AS called

-- journeys.engine.enrollments.trails: _OF_TRIGGERS
SELECT id AS trigger_id, request_id, traceparent FROM journeys_trigger WHERE id = ANY({ids}::text[])

-- journeys.engine.enrollments.transfers: _GIVE_TO
WITH delivered AS (
    UPDATE journeys_inappdelivery SET customer_id = {into}
    WHERE customer_id = {anonymous} AND workspace_id || '' = {workspace_id}
), watched AS (
    UPDATE journeys_goalwatch SET customer_id = {into}
    WHERE customer_id = {anonymous} AND workspace_id || '' = {workspace_id}
), drawn AS (
    UPDATE journeys_draw own SET customer_id = {into}
    WHERE own.customer_id = {anonymous} AND own.workspace_id || '' = {workspace_id}
      AND NOT EXISTS (SELECT FROM journeys_draw theirs
                      WHERE theirs.customer_id = {into} AND theirs.journey_id = own.journey_id)
      AND NOT EXISTS (SELECT FROM journeys_enrollment theirs
                      WHERE theirs.customer_id = {into} AND theirs.journey_id = own.journey_id)
)
UPDATE journeys_enrollment SET customer_id = {into}
WHERE customer_id = {anonymous} AND workspace_id || '' = {workspace_id}

-- journeys.engine.enrollments.transfers: _MOVE
WITH standing AS MATERIALIZED (
    SELECT inside.id, inside.revision_id, place.number
    FROM unnest({enrollment_ids}::text[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = asked.id LIMIT 1) AS inside
    JOIN {places} ON place.revision_id = inside.revision_id AND place.step_id = inside.step_id
    WHERE inside.state = 'active' AND inside.customer_id = ANY({customer_ids}::text[])
      AND NOT (place.sends AND inside.step_began_at IS NOT NULL)
), moved AS (
    UPDATE journeys_enrollment enrollment
    SET revision_id = {revision_id}, moves = coalesce(moves, '[]') || jsonb_build_array(jsonb_build_object(
        'at', statement_timestamp(), 'from', standing.number, 'to', {number}::int, 'stepsBegun', steps_begun,
        'beganIn', CASE WHEN step_began_at IS NOT NULL THEN coalesce(CASE
    WHEN (enrollment.moves->-1->>'stepsBegun')::int = enrollment.steps_begun AND enrollment.step_began_at IS NOT NULL
    THEN (enrollment.moves->-1->>'beganIn')::bigint
END, enrollment.revision_id) END
    ))
    FROM standing WHERE enrollment.id = ANY(ARRAY[standing.id])
    RETURNING enrollment.id, workspace_id, journey_id, enrollment.revision_id, job_id, standing.revision_id AS was
), watched AS (
    UPDATE journeys_goalwatch watch SET revision_id = moved.revision_id
    FROM moved WHERE watch.enrollment_id = ANY(ARRAY[moved.id])
), counted AS (
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT moved.workspace_id, moved.journey_id, side.revision_id, told.hour, told.kind, told.name, told.outcome,
           sum(side.number)
    FROM moved
    CROSS JOIN LATERAL (
        SELECT date_trunc('hour', job.decided_at, 'UTC') AS hour, 'entry' AS kind, job.result AS name, '' AS outcome
        FROM (SELECT * FROM journeys_enrollmentjob known WHERE known.id = moved.job_id LIMIT 1) AS job
        UNION ALL
        SELECT way.hour, way.kind, way.name, way.outcome
        FROM (
            SELECT ordinal, step_id, state, began_at, ended_at, lag(step_id) OVER runs AS last_step,
                   lag(ordinal) OVER runs AS last_ordinal
            FROM journeys_steprun known WHERE known.enrollment_id = moved.id WINDOW runs AS (ORDER BY ordinal)
        ) AS run
        CROSS JOIN LATERAL (
            VALUES ('edge', CASE WHEN run.ordinal = 0 THEN '@entry' WHEN run.last_ordinal = run.ordinal - 1
                            THEN run.last_step END, run.step_id, date_trunc('hour', run.began_at, 'UTC')),
                   ('end', CASE WHEN run.state <> 'waiting' THEN run.step_id END, run.state,
                    date_trunc('hour', run.ended_at, 'UTC'))
        ) AS way (kind, name, outcome, hour)
        WHERE way.name IS NOT NULL
        UNION ALL
        SELECT date_trunc('hour', watch.reached_at, 'UTC'), 'goal', watch.goal, outcome
        FROM (SELECT * FROM journeys_goalwatch known WHERE known.enrollment_id = moved.id OFFSET 0) AS watch
        CROSS JOIN LATERAL unnest(watch.counted) AS outcome
        WHERE watch.reached_at IS NOT NULL
    ) AS told
    CROSS JOIN LATERAL (VALUES (moved.was, -1), (moved.revision_id, 1)) AS side (revision_id, number)
    GROUP BY moved.workspace_id, moved.journey_id, side.revision_id, told.hour, told.kind, told.name, told.outcome
)
SELECT id FROM moved

-- journeys.engine.enrollments.transitions: _END_WAITS
UPDATE journeys_enrollment SET awaits_event = '', event_id = heard.event_id, chain = heard.chain, due_at = now(),
    was_due_at = NULL, claimed_until = NULL, attempts = 0, error = ''
FROM {heard} WHERE journeys_enrollment.id = ANY(ARRAY[heard.id])

-- journeys.engine.enrollments.transitions: _END_WATCHES
UPDATE journeys_enrollment SET watches_until = NULL, due_at = now(), was_due_at = NULL, claimed_until = NULL,
    attempts = 0, error = ''
WHERE id = ANY({ids}::text[])

-- journeys.engine.enrollments.transitions: _ENTER
WITH entered AS (
    INSERT INTO journeys_enrollment
        (id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, event_id, chain,
         crowd, entrance, due_at, attempts, entered_at, ended_at)
    SELECT entry.*, CASE WHEN state = 'active' THEN now() END, 0, statement_timestamp(),
           CASE WHEN state <> 'active' THEN statement_timestamp() END
    FROM {entries}
    RETURNING workspace_id, journey_id, revision_id, state, id, customer_id
), told AS (
    INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, customer_ids, enrollment_ids)
    SELECT workspace_id, type, journey_id, count(*), array_agg(customer_id), array_agg(id) FROM (SELECT 'enrollment.started' AS type, * FROM entered UNION ALL SELECT 'enrollment.' || state, * FROM entered WHERE state <> 'active') AS told WHERE 
workspace_id = ANY(ARRAY(
    SELECT own.id FROM engage_workspace own
    WHERE own.id = ANY(ARRAY(SELECT DISTINCT workspace_id FROM entered)) AND (own.feed OR own.subscribed)
))

    GROUP BY workspace_id, journey_id, type ORDER BY type DESC
    )

    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT workspace_id, journey_id, revision_id, date_trunc('hour', statement_timestamp(), 'UTC'), 'edge', '@entry',
           CASE state WHEN 'completed' THEN '@completed' ELSE '@exited' END, count(*)
    FROM entered WHERE state <> 'active' GROUP BY workspace_id, journey_id, revision_id, state

-- journeys.engine.enrollments.transitions: _EXIT
WITH named AS MATERIALIZED (
    SELECT asked.id, known.state, known.steps_begun, asked.reason, asked.withdraws
    FROM {exits}
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment one WHERE one.id = asked.id LIMIT 1) AS known
), asked AS MATERIALIZED (
    SELECT id, steps_begun, reason FROM named WHERE state = 'active'
), ended AS (
    UPDATE journeys_enrollment enrollment
    SET state = 'exited', exit_reason = asked.reason, ended_at = statement_timestamp(), due_at = NULL,
        was_due_at = NULL, step_began_at = NULL, awaits_event = '', watches_until = NULL, claimed_until = NULL,
        attempts = 0, error = ''
    FROM asked WHERE enrollment.id = ANY(ARRAY[asked.id])
    RETURNING enrollment.id, workspace_id, journey_id, customer_id, state
), interrupted AS (
    UPDATE journeys_steprun SET state = 'interrupted', ended_at = statement_timestamp()
    WHERE id = ANY(ARRAY(
        SELECT run.id FROM asked CROSS JOIN LATERAL (
            SELECT * FROM journeys_steprun known
            WHERE known.enrollment_id = asked.id AND known.ordinal = asked.steps_begun - 1 LIMIT 1
        ) AS run WHERE run.state = 'waiting'
    ))
), dropped AS (
    UPDATE journeys_webhookdelivery SET state = 'dropped', result = 'The enrollment ended before it was delivered.'
    WHERE id = ANY(ARRAY(
        SELECT delivery.id FROM asked CROSS JOIN LATERAL (
            SELECT * FROM journeys_webhookdelivery known
            WHERE known.enrollment_id = asked.id AND known.ordinal = asked.steps_begun - 1 LIMIT 1
        ) AS delivery WHERE delivery.state IN ('waiting', 'held') AND NOT delivery.again
    ))
), withdrawn AS (
    UPDATE journeys_inappdelivery SET state = 'withdrawn', ended_at = statement_timestamp(), because = named.reason
    FROM named WHERE enrollment_id = ANY(ARRAY[named.id])
      AND coalesce(ended_at, 'infinity') = 'infinity'
      AND (named.withdraws OR withdraw_on_exit AND named.state = 'active')
), counted AS (
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT inside.workspace_id, inside.journey_id, inside.revision_id,
           date_trunc('hour', statement_timestamp(), 'UTC'), way.kind, way.name, way.outcome, count(*)
    FROM ended
    CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = ended.id LIMIT 1) AS inside
    LEFT JOIN LATERAL (
        SELECT * FROM journeys_steprun known
        WHERE known.enrollment_id = inside.id AND known.ordinal = inside.steps_begun - 1 LIMIT 1
    ) AS last ON true
    CROSS JOIN LATERAL (
        VALUES ('edge', coalesce(last.step_id, '@entry'), '@exited'), ('end', last.step_id, 'interrupted')
    ) AS way(kind, name, outcome)
    WHERE way.kind = 'edge' OR last.state = 'waiting'
    GROUP BY inside.workspace_id, inside.journey_id, inside.revision_id, way.kind, way.name, way.outcome
), told AS (
    INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, customer_ids, enrollment_ids)
    SELECT workspace_id, type, journey_id, count(*), array_agg(customer_id), array_agg(id) FROM (SELECT 'enrollment.' || state AS type, * FROM ended WHERE state <> 'active') AS told WHERE 
workspace_id = ANY(ARRAY(
    SELECT own.id FROM engage_workspace own
    WHERE own.id = ANY(ARRAY(SELECT DISTINCT workspace_id FROM ended)) AND (own.feed OR own.subscribed)
))

    GROUP BY workspace_id, journey_id, type ORDER BY type DESC
    )
SELECT id FROM ended

-- journeys.engine.enrollments.transitions: _MOVE_ON
UPDATE journeys_enrollment enrollment SET
    state = stop.state, exit_reason = stop.exit_reason, step_id = stop.step_id, due_at = stop.due_at,
    awaits_event = stop.awaits_event, watches_until = stop.watches_until, steps_begun = stop.steps_begun,
    claimed_until = NULL, attempts = 0, error = '',
    step_began_at = CASE WHEN stop.began AND enrollment.steps_begun = stop.steps_begun THEN enrollment.step_began_at
                         WHEN stop.began THEN now() END,
    ended_at = CASE WHEN stop.state <> 'active' THEN now() END
FROM {stops} WHERE enrollment.id = ANY(ARRAY[stop.id])

-- journeys.engine.enrollments.transitions: _MOVE_ON_OR_END
WITH ended AS (

UPDATE journeys_enrollment enrollment SET
    state = stop.state, exit_reason = stop.exit_reason, step_id = stop.step_id, due_at = stop.due_at,
    awaits_event = stop.awaits_event, watches_until = stop.watches_until, steps_begun = stop.steps_begun,
    claimed_until = NULL, attempts = 0, error = '',
    step_began_at = CASE WHEN stop.began AND enrollment.steps_begun = stop.steps_begun THEN enrollment.step_began_at
                         WHEN stop.began THEN now() END,
    ended_at = CASE WHEN stop.state <> 'active' THEN now() END
FROM {stops} WHERE enrollment.id = ANY(ARRAY[stop.id])
 RETURNING enrollment.id, workspace_id, journey_id, customer_id, enrollment.state
)

    INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, customer_ids, enrollment_ids)
    SELECT workspace_id, type, journey_id, count(*), array_agg(customer_id), array_agg(id) FROM (SELECT 'enrollment.' || state AS type, * FROM ended WHERE state <> 'active') AS told WHERE 
workspace_id = ANY(ARRAY(
    SELECT own.id FROM engage_workspace own
    WHERE own.id = ANY(ARRAY(SELECT DISTINCT workspace_id FROM ended)) AND (own.feed OR own.subscribed)
))

    GROUP BY workspace_id, journey_id, type ORDER BY type DESC

-- journeys.engine.enrollments.transitions: _NOTE_HEARD
UPDATE journeys_enrollment enrollment SET event_id = heard.event_id, chain = heard.chain
FROM {heard} WHERE enrollment.id = ANY(ARRAY[heard.id])

-- journeys.engine.enrollments.transitions: _RESCHEDULE
UPDATE journeys_enrollment enrollment SET due_at = later.due_at, claimed_until = NULL
FROM {later} WHERE enrollment.id = ANY(ARRAY[later.id])

-- journeys.engine.enrollments.withdrawing: _IS_ANY_LEFT
SELECT EXISTS (SELECT FROM journeys_inappdelivery WHERE journey_id = {journey_id} AND ended_at IS NULL)

-- journeys.engine.enrollments.withdrawing: _OF_EXITED
UPDATE journeys_inappdelivery SET state = 'withdrawn', ended_at = now(), because = 'The enrollment exited.'
WHERE enrollment_id = ANY({enrollment_ids}::text[]) AND ended_at IS NULL AND withdraw_on_exit

-- journeys.engine.enrollments.withdrawing: _OF_JOURNEY
UPDATE journeys_inappdelivery SET state = 'withdrawn', ended_at = now(), because = {because}
WHERE ended_at IS NULL AND id = ANY(ARRAY(
    SELECT id FROM journeys_inappdelivery WHERE journey_id = {journey_id} AND ended_at IS NULL
    LIMIT {most} FOR UPDATE SKIP LOCKED
))
