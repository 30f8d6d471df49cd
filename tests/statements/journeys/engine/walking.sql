-- journeys.engine.walking.claims: _CLAIM_IN_TURN
WITH RECURSIVE turn AS (
    (SELECT found.* FROM (VALUES ({crowd}::boolean, {workspace_id}::text), (false, ''))
         AS before(crowd, workspace_id)
     CROSS JOIN LATERAL (
    SELECT crowd, workspace_id, due_at FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at IS NOT NULL AND attempts = 0 AND coalesce(claimed_until, '-infinity') <= now()
      AND (crowd, workspace_id) > (before.crowd, before.workspace_id)
    ORDER BY crowd, workspace_id, coalesce(due_at, 'infinity') LIMIT 1
) AS found LIMIT 1)
    UNION ALL
    SELECT found.* FROM turn AS before CROSS JOIN LATERAL (
    SELECT crowd, workspace_id, due_at FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at IS NOT NULL AND attempts = 0 AND coalesce(claimed_until, '-infinity') <= now()
      AND (crowd, workspace_id) > (before.crowd, before.workspace_id)
    ORDER BY crowd, workspace_id, coalesce(due_at, 'infinity') LIMIT 1
) AS found WHERE found.crowd = before.crowd
), looked_at AS MATERIALIZED (
    SELECT *, row_number() OVER () AS number FROM (SELECT * FROM turn LIMIT {looks}) AS first
), served AS MATERIALIZED (
    SELECT *, count(*) OVER () AS workspaces
    FROM (SELECT * FROM looked_at WHERE due_at <= now() ORDER BY number LIMIT {most}) AS first
), due AS MATERIALIZED (
    SELECT own.* FROM served CROSS JOIN LATERAL (
        SELECT *, row_number() OVER (ORDER BY due_at, job_id) AS place
        FROM (
    SELECT enrollment.* FROM (
    SELECT id, customer_id, due_at, job_id FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at IS NOT NULL AND attempts = 0 AND coalesce(due_at, 'infinity') <= now() AND coalesce(claimed_until, '-infinity') <= now()
      AND crowd = served.crowd AND workspace_id = served.workspace_id
    ORDER BY coalesce(due_at, 'infinity') OFFSET 0 FOR NO KEY UPDATE OF journeys_enrollment SKIP LOCKED
) AS enrollment
    CROSS JOIN LATERAL (
        SELECT FROM customers_customer known WHERE known.id = enrollment.customer_id
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ) AS customer
 LIMIT greatest(1, {most} / served.workspaces)) AS free
    ) AS own
), 
chosen AS (
    SELECT DISTINCT ON (customer_id) id, due_at, place FROM due ORDER BY customer_id, due_at, job_id
), claimed AS (
    UPDATE journeys_enrollment enrollment
    SET attempts = attempts + (claimed_until IS NOT NULL)::int,
        claimed_until = CASE WHEN claimed_until IS NULL OR attempts > 0 THEN now() + interval '5 seconds' END
    FROM chosen WHERE enrollment.id = ANY(ARRAY[chosen.id])
    RETURNING enrollment.id, attempts + 1 AS attempts, enrollment.due_at::text, claimed_until::text AS until,
              chosen.place
)

SELECT last.crowd, last.workspace_id, claimed.*
FROM (
    SELECT crowd, workspace_id FROM looked_at WHERE number = (
        SELECT CASE WHEN count(*) = {most} THEN max(number) ELSE (SELECT max(number) FROM looked_at) END FROM served
    )
) AS last
LEFT JOIN claimed ON until IS NOT NULL ORDER BY place, random()

-- journeys.engine.walking.claims: _CLAIM_LONGEST_DUE
WITH due AS MATERIALIZED (
    SELECT *, row_number() OVER (PARTITION BY crowd, workspace_id ORDER BY due_at, job_id) AS place
    FROM (
    SELECT enrollment.* FROM (
    SELECT id, customer_id, due_at, job_id, crowd, workspace_id FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at <= now() AND attempts = 0 AND coalesce(claimed_until, '-infinity') <= now()
    ORDER BY due_at OFFSET 0 FOR NO KEY UPDATE OF journeys_enrollment SKIP LOCKED
) AS enrollment
    CROSS JOIN LATERAL (
        SELECT FROM customers_customer known WHERE known.id = enrollment.customer_id
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ) AS customer
 LIMIT {most}) AS longest
), 
chosen AS (
    SELECT DISTINCT ON (customer_id) id, due_at, place FROM due ORDER BY customer_id, due_at, job_id
), claimed AS (
    UPDATE journeys_enrollment enrollment
    SET attempts = attempts + (claimed_until IS NOT NULL)::int,
        claimed_until = CASE WHEN claimed_until IS NULL OR attempts > 0 THEN now() + interval '5 seconds' END
    FROM chosen WHERE enrollment.id = ANY(ARRAY[chosen.id])
    RETURNING enrollment.id, attempts + 1 AS attempts, enrollment.due_at::text, claimed_until::text AS until,
              chosen.place
)

SELECT claimed.*, (SELECT count(*) FROM due) = {most} AS is_full FROM claimed
WHERE until IS NOT NULL ORDER BY place, random()

-- journeys.engine.walking.claims: _CLAIM_TRIED
WITH RECURSIVE turn AS (
    (SELECT found.* FROM (VALUES ({crowd}::boolean, {workspace_id}::text), (false, ''))
         AS before(crowd, workspace_id)
     CROSS JOIN LATERAL (
    SELECT crowd, workspace_id, due_at FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at IS NOT NULL AND attempts > 0 AND coalesce(claimed_until, '-infinity') <= now()
      AND (crowd, workspace_id) > (before.crowd, before.workspace_id)
    ORDER BY crowd, workspace_id, coalesce(due_at, 'infinity') LIMIT 1
) AS found LIMIT 1)
    UNION ALL
    SELECT found.* FROM turn AS before CROSS JOIN LATERAL (
    SELECT crowd, workspace_id, due_at FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at IS NOT NULL AND attempts > 0 AND coalesce(claimed_until, '-infinity') <= now()
      AND (crowd, workspace_id) > (before.crowd, before.workspace_id)
    ORDER BY crowd, workspace_id, coalesce(due_at, 'infinity') LIMIT 1
) AS found WHERE found.crowd = before.crowd
), looked_at AS MATERIALIZED (
    SELECT *, row_number() OVER () AS number FROM (SELECT * FROM turn LIMIT {looks}) AS first
), served AS MATERIALIZED (
    SELECT *, count(*) OVER () AS workspaces
    FROM (SELECT * FROM looked_at WHERE due_at <= now() ORDER BY number LIMIT {most}) AS first
), due AS MATERIALIZED (
    SELECT own.* FROM served CROSS JOIN LATERAL (
        SELECT *, row_number() OVER (ORDER BY due_at, job_id) AS place
        FROM (
    SELECT enrollment.* FROM (
    SELECT id, customer_id, due_at, job_id FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at IS NOT NULL AND attempts > 0 AND coalesce(due_at, 'infinity') <= now() AND coalesce(claimed_until, '-infinity') <= now()
      AND crowd = served.crowd AND workspace_id = served.workspace_id
    ORDER BY coalesce(due_at, 'infinity') OFFSET 0 FOR NO KEY UPDATE OF journeys_enrollment SKIP LOCKED
) AS enrollment
    CROSS JOIN LATERAL (
        SELECT FROM customers_customer known WHERE known.id = enrollment.customer_id
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ) AS customer
 LIMIT greatest(1, {most} / served.workspaces)) AS free
    ) AS own
), 
chosen AS (
    SELECT DISTINCT ON (customer_id) id, due_at, place FROM due ORDER BY customer_id, due_at, job_id
), claimed AS (
    UPDATE journeys_enrollment enrollment
    SET attempts = attempts + (claimed_until IS NOT NULL)::int,
        claimed_until = CASE WHEN claimed_until IS NULL OR attempts > 0 THEN now() + interval '5 seconds' END
    FROM chosen WHERE enrollment.id = ANY(ARRAY[chosen.id])
    RETURNING enrollment.id, attempts + 1 AS attempts, enrollment.due_at::text, claimed_until::text AS until,
              chosen.place
)

SELECT last.crowd, last.workspace_id, claimed.*
FROM (
    SELECT crowd, workspace_id FROM looked_at WHERE number = (
        SELECT CASE WHEN count(*) = {most} THEN max(number) ELSE (SELECT max(number) FROM looked_at) END FROM served
    )
) AS last
LEFT JOIN claimed ON until IS NOT NULL ORDER BY place, random()

-- journeys.engine.walking.claims: _IS_ANYBODY_DUE
SELECT EXISTS (SELECT FROM journeys_enrollment WHERE due_at <= now() AND coalesce(claimed_until, '-infinity') <= now())

-- journeys.engine.walking.counts: _EARLIER
SELECT asked.id, run.step_id FROM {asked}
CROSS JOIN LATERAL (
    SELECT step_id FROM journeys_steprun known
    WHERE known.enrollment_id = asked.id AND known.ordinal = asked.ordinal LIMIT 1
) AS run

-- journeys.engine.walking.opted_out: _INSIDE
SELECT entered.id, asked.customer_id, asked.topic FROM {asked}
CROSS JOIN LATERAL (
    SELECT id, journey_id FROM journeys_enrollment known
    WHERE known.customer_id = asked.customer_id AND known.state = 'active'
) AS entered
CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = entered.journey_id LIMIT 1) AS journey
WHERE journey.topic = asked.topic AND journey.on_opt_out = 'exit'

-- journeys.engine.walking.opted_out: _WITHDRAW
UPDATE journeys_inappdelivery delivery SET state = 'withdrawn', ended_at = statement_timestamp(), because = asked.reason
FROM {asked}
WHERE delivery.customer_id = ANY(ARRAY[asked.customer_id]) AND delivery.ended_at IS NULL AND EXISTS (
    SELECT FROM journeys_steprun run
    WHERE run.enrollment_id = delivery.enrollment_id AND run.ordinal = delivery.ordinal
      AND run.policy->>'topic' = asked.topic
)

-- journeys.engine.walking.positions: _READ
SELECT enrollment.id, enrollment.workspace_id, enrollment.journey_id, journey.name AS journey_name,
       journey.topic, EXISTS (SELECT FROM customers_contactrules WHERE workspace_id = enrollment.workspace_id) AS asks,
       journey.held_at IS NOT NULL AS held,
       CASE WHEN journey.per_minute IS NOT NULL THEN journey.resumed_at END AS paced,
       enrollment.revision_id, enrollment.step_id, enrollment.step_began_at,
       enrollment.awaits_event, enrollment.watches_until, enrollment.chain, enrollment.steps_begun, enrollment.error,
       enrollment.moves IS NOT NULL AS moved, CASE
    WHEN (enrollment.moves->-1->>'stepsBegun')::int = enrollment.steps_begun AND enrollment.step_began_at IS NOT NULL
    THEN (enrollment.moves->-1->>'beganIn')::bigint
END AS began_in,
       job.trigger_id, job.payload AS own_payload, job.entrance,
       due.due_from, CASE WHEN due.due_from IS NOT NULL THEN (
           SELECT max(serial) FROM customers_event before
           WHERE before.customer_id = job.customer_id AND before.serial IS NOT NULL AND before.created_at < due.due_from
       ) END AS came_before,
       customer.id AS customer_id, customer.external_id, customer.email, customer.phone, customer.user_id,
       customer.attributes, event.id AS event_id, event.name AS event_name, event.properties AS event_properties,
       event.message_id AS event_message, event.verified AS event_verified, event.serial AS event_serial,
       delivery.state AS delivery_state, delivery.result AS delivery_result, now()::text AS now
FROM {claimed}
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.id = claimed.id LIMIT 1) AS enrollment
CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = enrollment.journey_id LIMIT 1) AS journey
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollmentjob known WHERE known.id = enrollment.job_id LIMIT 1) AS job
CROSS JOIN LATERAL (SELECT * FROM customers_customer known WHERE known.id = enrollment.customer_id LIMIT 1) AS customer
CROSS JOIN LATERAL (
    SELECT CASE WHEN job.scheduled_for IS NOT NULL AND enrollment.steps_begun = 0
           THEN greatest(job.scheduled_for, to_timestamp(job.queued_ms / 1000.0)) END AS due_from
) AS due
LEFT JOIN LATERAL (SELECT * FROM customers_event last WHERE last.id = enrollment.event_id LIMIT 1) AS event ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_webhookdelivery sent
    WHERE sent.enrollment_id = enrollment.id AND sent.ordinal = enrollment.steps_begun - 1 LIMIT 1
) AS delivery ON true
WHERE enrollment.claimed_until = claimed.until AND enrollment.due_at IS NOT DISTINCT FROM claimed.due_at AND enrollment.state = 'active'
ORDER BY claimed.place

-- journeys.engine.walking.reactions: _LISTENERS
SELECT enrollment.id, enrollment.customer_id, enrollment.journey_id, enrollment.revision_id, enrollment.step_id,
       enrollment.awaits_event, coalesce(CASE
    WHEN (enrollment.moves->-1->>'stepsBegun')::int = enrollment.steps_begun AND enrollment.step_began_at IS NOT NULL
    THEN (enrollment.moves->-1->>'beganIn')::bigint
END, enrollment.revision_id) AS began_in, NULL AS watch_id, NULL AS goal
FROM journeys_enrollment enrollment
JOIN journeys_journeyrevision revision ON revision.id = enrollment.revision_id
WHERE enrollment.customer_id = ANY({customers}::text[]) AND enrollment.state = 'active'
  AND (enrollment.awaits_event = ANY({names}::text[]) OR revision.exit_events && {names}::varchar[])
UNION ALL
SELECT watch.enrollment_id, watch.customer_id, watch.journey_id, NULL, NULL, watch.event_name, NULL, watch.id,
       watch.goal
FROM journeys_goalwatch watch
WHERE watch.customer_id = ANY({customers}::text[]) AND watch.event_name = ANY({names}::text[])
  AND watch.reached_at IS NULL AND watch.until > statement_timestamp()

-- journeys.engine.walking.reactions: _UNNOTICED
{starts_nothing} AND NOT journeys_takes_notice(customer.id, {event_name})

-- journeys.engine.walking.watching: _WATCHING
SELECT id, workspace_id, customer_id, revision_id, coalesce(CASE
    WHEN (enrollment.moves->-1->>'stepsBegun')::int = enrollment.steps_begun AND enrollment.step_began_at IS NOT NULL
    THEN (enrollment.moves->-1->>'beganIn')::bigint
END, revision_id) AS began_in, step_id,
       watches_until, due_at, now() AS now
FROM journeys_enrollment enrollment
WHERE customer_id = ANY({customer_ids}::text[]) AND state = 'active' AND (watches_until IS NOT NULL OR (
    SELECT state FROM journeys_webhookdelivery sent
    WHERE sent.enrollment_id = enrollment.id AND sent.ordinal = enrollment.steps_begun - 1 LIMIT 1
) IN ('waiting', 'held') AND (
    SELECT exit_on @? '$[*].if' FROM journeys_journeyrevision known WHERE known.id = enrollment.revision_id LIMIT 1
))

-- journeys.engine.walking.writing: _END_WAITING
UPDATE journeys_steprun run
SET state = ended.state, detail = ended.detail, event_id = ended.event_id,
    policy = coalesce(ended.policy, run.policy), ended_at = CASE WHEN ended.state <> 'waiting' THEN now() END
FROM {ended} WHERE run.enrollment_id = ANY(ARRAY[ended.enrollment_id]) AND run.ordinal = ended.ordinal

-- journeys.engine.walking.writing: _INSERT_DELIVERIES
INSERT INTO journeys_webhookdelivery
    (workspace_id, enrollment_id, ordinal, source, host, method, url, headers, body, answer_rules, contact,
     give_up_at, state, result, attempts, due_at, again)
SELECT workspace_id, enrollment_id, ordinal, source, host, method, url, headers, body, answer_rules, contact,
       now() + seconds * interval '1 second', 'waiting', '', 0, now(), false
FROM {requests}

-- journeys.engine.walking.writing: _INSERT_IN_APP
INSERT INTO journeys_inappdelivery
    (id, workspace_id, customer_id, journey_id, revision_id, enrollment_id, ordinal, step_id, message_id, values,
     priority, withdraw_on_exit, state, action_id, because, expires_at)
SELECT id, workspace_id, customer_id, journey_id, revision_id, enrollment_id, ordinal, step_id, message_id, values,
       priority, withdraw_on_exit, 'due', '', '', now() + seconds * interval '1 second'
FROM {deliveries}

-- journeys.engine.walking.writing: _INSERT_RUNS
INSERT INTO journeys_steprun
    (workspace_id, enrollment_id, ordinal, step_id, type, state, detail, missing, because, event_id, policy, began_at,
     ended_at)
SELECT workspace_id, enrollment_id, ordinal, step_id, type, state, detail,
       ARRAY(SELECT jsonb_array_elements_text(missing)), because, event_id, policy, now(),
       CASE WHEN state <> 'waiting' THEN now() END
FROM {runs}
