-- journeys.engine.jobs.forgetting: _FORGET
WITH own AS (
    UPDATE journeys_enrollmentjob SET payload = NULL, entrance = NULL, holds_entrance = NULL WHERE id = ANY(ARRAY(
        SELECT job.id FROM unnest({trigger_ids}::text[]) AS asked (id)
        CROSS JOIN LATERAL (
            SELECT id FROM journeys_trigger sent WHERE sent.id = asked.id AND sent.customers <= 1000 LIMIT 1
        ) AS trigger
        CROSS JOIN LATERAL (
            SELECT id, customer_id, payload, entrance FROM journeys_enrollmentjob queued
            WHERE queued.trigger_id = trigger.id OFFSET 0
        ) AS job
        WHERE (job.payload IS NOT NULL OR job.entrance IS NOT NULL)
          AND NOT EXISTS (SELECT FROM customers_customer known WHERE known.id = job.customer_id)
          AND NOT EXISTS (SELECT FROM customers_alias merged WHERE merged.id = job.customer_id)
    ))
)
SELECT journeys_forget_payloads({trigger_ids}::varchar[])

-- journeys.engine.jobs.merged: _CANCEL
WITH former AS MATERIALIZED (
    SELECT job.*, merged.into_id FROM {merged} CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob known WHERE known.customer_id = merged.former_id OFFSET 0
    ) AS job
), of_person AS (
    SELECT id, status, result, trigger_id, into_id, 1 AS place, entrance, journey_id FROM former
    UNION ALL
    SELECT theirs.id, theirs.status, theirs.result, theirs.trigger_id, called.into_id, 0, theirs.entrance, NULL
    FROM (SELECT DISTINCT into_id, journey_id, trigger_id FROM former) AS called
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob known
        WHERE known.customer_id = called.into_id AND known.journey_id = called.journey_id
          AND known.trigger_id = called.trigger_id OFFSET 0
    ) AS theirs
), numbered AS (
    SELECT *, row_number() OVER (
        PARTITION BY into_id, trigger_id, entrance ORDER BY result <> 'enrolled', status = 'cancelled', place, id
    ) AS number FROM of_person
), ended AS (
    SELECT id, CASE WHEN number > 1 THEN {twice} WHEN is_theirs THEN {entrance} ELSE {excluded} END AS reason
    FROM numbered CROSS JOIN LATERAL (SELECT numbered.entrance IS NOT NULL AND EXISTS (
        SELECT FROM journeys_enrollmentjob holder
        WHERE holder.customer_id = numbered.into_id AND holder.journey_id = numbered.journey_id
          AND holder.entrance = numbered.entrance AND holder.holds_entrance
    ) AS is_theirs) AS compared
    WHERE status = 'queued' AND (number > 1 OR is_theirs OR EXISTS (
        SELECT FROM journeys_trigger sent
        WHERE sent.id = numbered.trigger_id AND jsonb_exists(sent.selection -> 'exempt', numbered.into_id)
    ))
)
UPDATE journeys_enrollmentjob job SET status = 'cancelled', result = 'cancelled', reason = ended.reason,
    decided_at = now()
FROM ended WHERE job.id = ANY(ARRAY[ended.id]) AND job.status || '' = 'queued'
RETURNING job.workspace_id, job.journey_id

-- journeys.engine.jobs.merged: _CANCEL_EXCLUDED
UPDATE journeys_enrollmentjob SET status = 'cancelled', result = 'cancelled', reason = {reason}, decided_at = now()
WHERE id = ANY({job_ids}::bigint[]) AND status = 'queued' RETURNING workspace_id, journey_id

-- journeys.engine.jobs.merged: _HOLD_QUEUED
SELECT FROM journeys_enrollmentjob WHERE id = ANY(ARRAY(
    SELECT job.id FROM {merged} CROSS JOIN LATERAL (
        SELECT id FROM journeys_enrollmentjob known
        WHERE known.customer_id IN (merged.former_id, merged.into_id) AND known.status = 'queued' OFFSET 0
    ) AS job
)) ORDER BY id FOR NO KEY UPDATE

-- journeys.engine.jobs.merged: _LOCK_FREE
SELECT merged.id, merged.customer_id, locked.found IS TRUE AS is_locked
FROM (
    SELECT id, customer_id FROM customers_alias WHERE id = ANY({customer_ids}::text[]) ORDER BY customer_id OFFSET 0
) AS merged
LEFT JOIN LATERAL (
    SELECT true AS found FROM customers_customer known WHERE known.id = merged.customer_id
    LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
) AS locked ON true

-- journeys.engine.jobs.merged: _LOCK_MERGED
SELECT merged.id, merged.customer_id, locked.found IS TRUE AS is_locked
FROM (
    SELECT id, customer_id FROM customers_alias WHERE id = ANY({customer_ids}::text[]) ORDER BY customer_id OFFSET 0
) AS merged
LEFT JOIN LATERAL (
    SELECT true AS found FROM customers_customer known WHERE known.id = merged.customer_id
    LIMIT 1 FOR NO KEY UPDATE 
) AS locked ON true

-- journeys.engine.jobs.merged: _MOVE
WITH former AS MATERIALIZED (
    SELECT id, journey_id, queued_ms, into_id, entrance, holds_entrance,
           row_number() OVER (PARTITION BY into_id, journey_id, entrance, holds_entrance ORDER BY id) AS nth_holder,
           row_number() OVER (PARTITION BY into_id, journey_id, queued_ms ORDER BY id) > 1 AS is_second,
           max(queued_ms) OVER (PARTITION BY into_id, journey_id) AS latest
    FROM (
    SELECT job.*, merged.into_id FROM {merged} CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollmentjob known WHERE known.customer_id = merged.former_id OFFSET 0
    ) AS job
) AS job
), compared AS (
    SELECT former.*, greatest(former.latest, theirs.latest) AS latest_of_all, is_second OR theirs.same IS TRUE AS taken
    FROM former CROSS JOIN LATERAL (
        SELECT max(queued_ms) AS latest, bool_or(queued_ms = former.queued_ms) AS same
        FROM journeys_enrollmentjob known
        WHERE known.customer_id = former.into_id AND known.journey_id = former.journey_id
    ) AS theirs
), moved AS (
    SELECT id, into_id, CASE WHEN taken THEN latest_of_all + row_number() OVER (
        PARTITION BY into_id, journey_id, taken ORDER BY queued_ms, id
    ) ELSE queued_ms END AS ms, CASE WHEN holds_entrance AND nth_holder = 1 AND NOT EXISTS (
        SELECT FROM journeys_enrollmentjob holder
        WHERE holder.customer_id = into_id AND holder.journey_id = compared.journey_id
          AND holder.entrance = compared.entrance AND holder.holds_entrance
    ) THEN true END AS holds
    FROM compared
)
UPDATE journeys_enrollmentjob job
SET customer_id = moved.into_id, queued_ms = moved.ms, holds_entrance = moved.holds, queued_as = coalesce(
    job.queued_as, 'enroll-' || job.journey_id || '-' || job.customer_id || '-' || job.queued_ms
)
FROM moved WHERE job.id = ANY(ARRAY[moved.id])

-- journeys.engine.jobs.of_trigger: _JOBS
SELECT job.* FROM {parts} CROSS JOIN LATERAL (
    SELECT * FROM journeys_enrollmentjob told
    WHERE told.trigger_id = {trigger_id} AND told.ordinal >= part.start AND told.ordinal < part.stop
      AND coalesce(told.status = {status}::text, true) AND coalesce(told.result = {result}::text, true)
    ORDER BY told.ordinal LIMIT {most}
) AS job
ORDER BY job.ordinal LIMIT {most}

-- journeys.engine.jobs.states: _NAMED
SELECT * FROM journeys_enrollmentjob
WHERE workspace_id = {workspace_id} AND journey_id = {journey_id} AND customer_id = {customer_id}
  AND queued_ms = {queued_ms}
UNION ALL SELECT * FROM journeys_enrollmentjob WHERE queued_as = {job_id} AND workspace_id || '' = {workspace_id}

-- journeys.engine.jobs.states: _OWNER
SELECT id, customer_id FROM ({named}) AS named

-- journeys.engine.jobs.states: _READ
SELECT job.trigger_id, job.ordinal, job.journey_id, job.customer_id, job.queued_ms, job.queued_as,
       job.entrance AS entrance_id, customer.external_id,
       job.status, nullif(job.result, '') AS result, nullif(job.reason, '') AS reason,
       ARRAY(SELECT jsonb_array_elements_text(job.details)) AS details, enrollment.id AS enrollment_id,
       trigger.queued_at, job.scheduled_for, job.zone, job.decided_at
FROM ({jobs}) AS job
CROSS JOIN LATERAL (SELECT * FROM journeys_trigger called WHERE called.id = job.trigger_id LIMIT 1) AS trigger
LEFT JOIN LATERAL (
    SELECT * FROM customers_customer known
    WHERE known.id = job.customer_id AND known.workspace_id = job.workspace_id LIMIT 1
) AS customer ON true
LEFT JOIN LATERAL (
    SELECT * FROM journeys_enrollment entered WHERE entered.job_id = job.id LIMIT 1
) AS enrollment ON true
ORDER BY job.trigger_id, job.ordinal

-- journeys.engine.jobs.trigger_states: _EXTERNAL_IDS
SELECT id, external_id FROM customers_customer WHERE id = ANY({customer_ids}::text[])

-- journeys.engine.jobs.trigger_states: _NEXT_DUE
SELECT min(due_at) FROM journeys_chunk WHERE trigger_id = {trigger_id} AND lane || '' = 'scheduled'
