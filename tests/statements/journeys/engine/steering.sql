-- journeys.engine.steering.aborting: _AT_HAND
SELECT id FROM (
    SELECT id FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE journey_id = {journey_id} AND step_began_at IS NOT NULL
      AND state || '' = 'active' AND id <> ALL({but}::text[])
    ORDER BY step_id, id LIMIT {most}
) AS waiting
UNION
SELECT id FROM (
    SELECT id FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE journey_id = {journey_id} AND was_due_at IS NOT NULL
      AND state || '' = 'active' AND id <> ALL({but}::text[])
    ORDER BY was_due_at LIMIT {most}
) AS suspended

-- journeys.engine.steering.aborting: _INSIDE
SELECT id FROM journeys_enrollment
WHERE workspace_id = {workspace_id} AND journey_id = {journey_id}
  AND state || '' = 'active' AND id <> ALL({but}::text[]) AND id < {before}
ORDER BY id DESC LIMIT {most}

-- journeys.engine.steering.cancelling: _CANCEL
WITH chunks AS MATERIALIZED (
    SELECT id FROM journeys_chunk WHERE trigger_id = {trigger_id} ORDER BY id FOR UPDATE
), removed AS (
    DELETE FROM journeys_chunk WHERE id = ANY(ARRAY(SELECT id FROM chunks))
), cancelled AS (
    UPDATE journeys_enrollmentjob SET status = 'cancelled', result = 'cancelled', reason = {reason}, decided_at = now()
    WHERE trigger_id = {trigger_id} AND status || '' = 'queued' AND (SELECT count(*) FROM chunks) >= 0
    RETURNING 1
)
SELECT count(*) FROM cancelled

-- journeys.engine.steering.cancelling: _INSIDE_NUMBER
SELECT count(*) 
FROM (
    SELECT id FROM journeys_enrollmentjob
    WHERE trigger_id = {trigger_id} AND ordinal >= {start} AND ordinal < {stop} OFFSET 0
) AS job
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.job_id = job.id LIMIT 1) AS enrollment
 WHERE enrollment.state = 'active'

-- journeys.engine.steering.cancelling: _TO_LEAVE
SELECT enrollment.id 
FROM (
    SELECT id FROM journeys_enrollmentjob
    WHERE trigger_id = {trigger_id} AND ordinal >= {start} AND ordinal < {stop} OFFSET 0
) AS job
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.job_id = job.id LIMIT 1) AS enrollment

CROSS JOIN LATERAL (
    SELECT bool_or(ended_at IS NULL) AS is_due FROM journeys_inappdelivery known
    WHERE known.enrollment_id = enrollment.id COLLATE "default"
) AS delivered
WHERE enrollment.state = 'active' OR delivered.is_due

-- journeys.engine.steering.entrances: _CANCEL
UPDATE journeys_enrollmentjob SET status = 'cancelled', result = 'cancelled', reason = {reason}, decided_at = now()
WHERE id = ANY({job_ids}::bigint[]) AND status = 'queued'
RETURNING trigger_id

-- journeys.engine.steering.entrances: _INSIDE
SELECT enrollment.id FROM unnest({job_ids}::bigint[]) AS asked (id)
CROSS JOIN LATERAL (SELECT * FROM journeys_enrollment known WHERE known.job_id = asked.id LIMIT 1) AS enrollment
WHERE enrollment.state = 'active'

-- journeys.engine.steering.entrances: _OPEN
SELECT job.customer_id, job.id FROM (
    SELECT id, customer_id, status FROM journeys_enrollmentjob
    WHERE journey_id = {journey_id} AND entrance = {entrance} AND coalesce(customer_id = {customer_id}::text, true)
    OFFSET 0
) AS job
LEFT JOIN LATERAL (
    SELECT state FROM journeys_enrollment known WHERE known.job_id = job.id LIMIT 1
) AS enrollment ON true
WHERE job.status = 'queued' OR enrollment.state = 'active' LIMIT {most}

-- journeys.engine.steering.guards: _NOTE
INSERT INTO journeys_guardedresults AS known (journey_id, workspace_id, latest)
SELECT journey.id, journey.workspace_id, right(fresh.results, (journey.guards->>'of')::int)
FROM {fresh} JOIN journeys_journey journey ON journey.id = fresh.journey_id
WHERE journey.guards->>'of' IS NOT NULL AND journey.held_at IS NULL AND journey.aborted_at IS NULL
ORDER BY journey.id
ON CONFLICT (journey_id) DO UPDATE SET latest = right(
    known.latest || excluded.latest,
    (SELECT (guards->>'of')::int FROM journeys_journey guarded WHERE guarded.id = known.journey_id)
)
RETURNING journey_id, latest

-- journeys.engine.steering.guards: _NOTE_ENTRIES
INSERT INTO journeys_guardedresults AS known (journey_id, workspace_id, latest, entries)
SELECT journey.id, journey.workspace_id, '', jsonb_build_object(
    floor(extract(epoch FROM clock_timestamp()) / entered.seconds)::bigint, entered.number
)
FROM {entered} JOIN journeys_journey journey ON journey.id = entered.journey_id
WHERE journey.held_at IS NULL AND journey.aborted_at IS NULL
ORDER BY journey.id
ON CONFLICT (journey_id) DO UPDATE SET entries = (
    SELECT jsonb_object_agg(part, number) FROM (
        SELECT key::bigint AS part, sum(value::bigint) AS number FROM (
            SELECT * FROM jsonb_each_text(known.entries) UNION ALL SELECT * FROM jsonb_each_text(excluded.entries)
        ) AS noted GROUP BY 1
    ) AS summed CROSS JOIN (SELECT key::bigint AS now FROM jsonb_each_text(excluded.entries)) AS latest
    WHERE abs(part - latest.now) < 60
)
RETURNING journey_id, (SELECT sum(value::bigint)::bigint FROM jsonb_each_text(known.entries))

-- journeys.engine.steering.moving: _COUNT
UPDATE journeys_steeringact
SET numbers = jsonb_set(numbers, ARRAY['moved'], to_jsonb((numbers->>'moved')::int + {moved}))
WHERE id = (
    SELECT id FROM journeys_steeringact
    WHERE journey_id = {journey_id} AND kind = 'move' AND (numbers->>'revision')::int = {number}
    ORDER BY id DESC LIMIT 1
)

-- journeys.engine.steering.moving: _INSIDE
SELECT revision_id, step_id, began, count(*) FROM (

    SELECT id, revision_id, step_id, false AS began FROM journeys_enrollment
    WHERE journey_id = {journey_id} AND was_due_at IS NOT NULL AND step_began_at IS NULL AND state || '' = 'active'
    UNION ALL
    SELECT id, revision_id, step_id, false FROM journeys_enrollment
    WHERE due_at < now() + interval '2 minutes' AND journey_id = {journey_id} AND step_began_at IS NULL

    UNION ALL
    SELECT id, revision_id, step_id, true FROM journeys_enrollment
    WHERE journey_id = {journey_id} AND step_began_at IS NOT NULL AND state || '' = 'active'
) AS inside
GROUP BY 1, 2, 3

-- journeys.engine.steering.moving: _NEXT_AHEAD
SELECT id FROM (
    SELECT id, revision_id, step_id, false AS began FROM journeys_enrollment
    WHERE journey_id = {journey_id} AND was_due_at IS NOT NULL AND step_began_at IS NULL AND state || '' = 'active'
    UNION ALL
    SELECT id, revision_id, step_id, false FROM journeys_enrollment
    WHERE due_at < now() + interval '2 minutes' AND journey_id = {journey_id} AND step_began_at IS NULL
) AS ahead JOIN {places} USING (revision_id, step_id) WHERE id > {after} ORDER BY id LIMIT {most}

-- journeys.engine.steering.moving: _NEXT_IN_STEP
SELECT id FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
WHERE journey_id = {journey_id} AND step_id = {step_id} AND id > {after} AND step_began_at IS NOT NULL
  AND state || '' = 'active' AND revision_id = ANY({revision_ids}::bigint[])
ORDER BY id LIMIT {most}

-- journeys.engine.steering.moving: _STEPS
SELECT revision.id, revision.number, step->>'id', step->>'type'
FROM journeys_journeyrevision revision CROSS JOIN LATERAL jsonb_array_elements(revision.steps) AS step
WHERE revision.journey_id = {journey_id} AND revision.number <= {number}

-- journeys.engine.steering.releasing: _IS_ANYTHING_DUE
WITH enrollments AS MATERIALIZED (
    SELECT journey_id FROM journeys_enrollment, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
    WHERE due_at < {resumed_at} ORDER BY due_at LIMIT {most}
), deliveries AS MATERIALIZED (
    SELECT enrollment_id, held_for, due_at FROM journeys_webhookdelivery
    WHERE state = 'waiting' AND workspace_id = {workspace_id} AND due_at <= now() LIMIT {most}
)
SELECT {most} IN ((SELECT count(*) FROM enrollments), (SELECT count(*) FROM deliveries))
    OR EXISTS (SELECT FROM enrollments WHERE journey_id = {journey_id})
    OR EXISTS (
        SELECT FROM deliveries CROSS JOIN LATERAL (
            SELECT * FROM journeys_enrollment known WHERE known.id = deliveries.enrollment_id LIMIT 1
        ) AS standing
        WHERE standing.journey_id = {journey_id}
          AND (deliveries.due_at < {resumed_at} OR deliveries.held_for = {journey_id})
    )

-- journeys.engine.steering.releasing: _RELEASE_HELD
WITH late AS MATERIALIZED (
    SELECT host, ordinal FROM journeys_webhookdelivery
    WHERE state = 'waiting' AND workspace_id = {workspace_id} AND due_at <= now() - interval '5 seconds'
      AND held_for = {journey_id}
), held AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY due_at, id) - 1 AS place FROM (
        SELECT id, due_at FROM journeys_webhookdelivery, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more
        WHERE held_for = {journey_id} AND state = 'held'
          AND NOT EXISTS (SELECT FROM late WHERE late.host = journeys_webhookdelivery.host
                          AND late.ordinal = journeys_webhookdelivery.ordinal)
        ORDER BY due_at LIMIT {most} FOR NO KEY UPDATE OF journeys_webhookdelivery SKIP LOCKED
    ) AS first
)
UPDATE journeys_webhookdelivery delivery SET state = 'waiting',
    held_for = CASE WHEN {start}::timestamptz IS NOT NULL THEN delivery.held_for END,
    due_at = coalesce({start}::timestamptz + held.place * make_interval(secs => {seconds}), delivery.due_at)
FROM held WHERE delivery.id = ANY(ARRAY[held.id])

-- journeys.engine.steering.undecided: _DECIDE
WITH chunks AS MATERIALIZED (
    SELECT id, trigger_id, start, stop FROM journeys_chunk WHERE id = ANY({ids}::bigint[])
    ORDER BY id FOR UPDATE SKIP LOCKED
), removed AS (
    DELETE FROM journeys_chunk WHERE id = ANY(ARRAY(SELECT id FROM chunks))
), decided AS (
    UPDATE journeys_enrollmentjob SET status = 'decided', result = {result}, reason = {reason}, decided_at = now()
    WHERE id = ANY(ARRAY(
        SELECT job.id FROM chunks CROSS JOIN LATERAL (
            SELECT id FROM journeys_enrollmentjob queued
            WHERE queued.trigger_id = chunks.trigger_id AND queued.ordinal >= chunks.start
              AND queued.ordinal < chunks.stop AND queued.status = 'queued' LIMIT chunks.stop - chunks.start
        ) AS job
    )) AND status || '' = 'queued'
    RETURNING 1
)
SELECT (SELECT count(*) FROM decided), ARRAY(SELECT DISTINCT trigger_id FROM chunks)

-- journeys.engine.steering.undecided: _FIND
SELECT chunk.id, chunk.stop - chunk.start FROM journeys_chunk chunk
CROSS JOIN LATERAL (SELECT journey_id FROM journeys_trigger known WHERE known.id = chunk.trigger_id LIMIT 1) AS trigger
WHERE chunk.workspace_id = {workspace_id} AND trigger.journey_id = {journey_id} LIMIT {most}
