-- journeys.engine.counts.counting: _ALONE
SELECT pg_try_advisory_xact_lock(hashtextextended('engage: fold counts', 0))

-- journeys.engine.counts.counting: _FOLD
WITH taken AS MATERIALIZED (
    DELETE FROM journeys_countdelta WHERE id = ANY(ARRAY(
        SELECT id FROM journeys_countdelta ORDER BY id LIMIT {most} FOR UPDATE SKIP LOCKED
    ))
    RETURNING *
), folded AS (
    INSERT INTO journeys_count AS known
        (workspace_id, journey_id, grain, begin, revision_id, kind, name, outcome, number)
    SELECT workspace_id, journey_id, span.grain, span.begin, revision_id, kind, name, outcome, sum(number)
    FROM taken CROSS JOIN LATERAL (
        VALUES ('hour', hour), ('day', date_trunc('day', hour, 'UTC')), ('all', 'epoch'::timestamptz)
    ) AS span(grain, begin)
    WHERE span.grain <> 'hour' OR span.begin >= {since}
    GROUP BY workspace_id, journey_id, span.grain, span.begin, revision_id, kind, name, outcome
    ORDER BY journey_id, span.grain, span.begin, kind, name, outcome, revision_id
    ON CONFLICT (journey_id, grain, begin, kind, name, outcome, revision_id)
    DO UPDATE SET number = known.number + excluded.number
)
SELECT (SELECT count(*) FROM taken), (
    SELECT coalesce(jsonb_object_agg(name, number), '{}') FROM (
        SELECT name, sum(number) AS number FROM taken WHERE kind = 'event' GROUP BY name
    ) AS missed
)

-- journeys.engine.counts.counting: _WRITE
INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
SELECT workspace_id, journey_id, revision_id, date_trunc('hour', now(), 'UTC'), kind, name, outcome, number
FROM {deltas}

-- journeys.engine.counts.hourly: _LATELY
WITH counted AS MATERIALIZED (
    SELECT journey_id, begin, revision_id, kind, name, outcome, number FROM journeys_count
    WHERE grain = 'hour' AND kind IN ('entry', 'end') AND begin >= {since}
      AND ({workspaces}::text[] IS NULL OR workspace_id = ANY({workspaces}::text[]))
    UNION ALL
    SELECT journey_id, hour, revision_id, kind, name, outcome, number
    FROM (SELECT * FROM journeys_countdelta ORDER BY id LIMIT {deltas}) AS recent
    WHERE kind IN ('entry', 'end') AND hour >= {since}
      AND ({workspaces}::text[] IS NULL OR workspace_id = ANY({workspaces}::text[]))
), step AS MATERIALIZED (
    SELECT revision.id AS revision_id, revision.journey_id, step->>'id' AS name,
           step->>'type' = ANY({sending}::text[]) AS sends
    FROM journeys_journeyrevision revision CROSS JOIN LATERAL jsonb_array_elements(revision.steps) AS step
    WHERE revision.id = ANY(ARRAY(SELECT DISTINCT revision_id FROM counted WHERE kind = 'end'))
), anywhere AS MATERIALIZED (
    SELECT journey_id, name, bool_or(sends) AS sends FROM step GROUP BY journey_id, name
), summed AS MATERIALIZED (
    SELECT journey_id, begin, name AS what, sum(number) AS number FROM counted WHERE kind = 'entry' GROUP BY 1, 2, 3
    UNION ALL
    SELECT counted.journey_id, begin, CASE outcome WHEN 'done' THEN {delivered} ELSE {failed} END, sum(number)
    FROM counted JOIN anywhere USING (journey_id, name) LEFT JOIN step USING (revision_id, journey_id, name)
    WHERE coalesce(step.sends, anywhere.sends) AND kind = 'end' AND outcome IN ('done', 'failed') GROUP BY 1, 2, 3
), busiest AS (
    SELECT journey_id, row_number() OVER (
        ORDER BY sum(number) FILTER (WHERE what NOT IN ({delivered}, {failed})) DESC NULLS LAST, sum(number) DESC
    ) AS place
    FROM summed GROUP BY journey_id ORDER BY place LIMIT {most}
)
SELECT NULL, 0, begin, what, sum(number)::bigint FROM summed GROUP BY begin, what
UNION ALL
SELECT journey_id, busiest.place, begin, what, summed.number::bigint FROM summed JOIN busiest USING (journey_id)
ORDER BY 2

-- journeys.engine.counts.recounting: _ALONE
SELECT pg_advisory_xact_lock(hashtextextended('engage: count history', 0))

-- journeys.engine.counts.recounting: _COUNT_WHAT_IS_MISSING
WITH 
told AS (
    SELECT job.workspace_id, job.journey_id, coalesce(enrollment.revision_id, 0) AS revision_id,
           date_trunc('hour', job.decided_at, 'UTC') AS hour, 'entry' AS kind, job.result AS name, '' AS outcome
    FROM journeys_enrollmentjob job LEFT JOIN journeys_enrollment enrollment ON enrollment.job_id = job.id
    WHERE job.status <> 'queued' AND (job.result <> 'enrolled' OR enrollment.id IS NOT NULL)
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', run.began_at, 'UTC'), 'edge',
           CASE WHEN run.ordinal = 0 THEN '@entry' ELSE before.step_id END, run.step_id
    FROM journeys_steprun run JOIN journeys_enrollment enrollment ON enrollment.id = run.enrollment_id
    LEFT JOIN journeys_steprun before
      ON before.enrollment_id = run.enrollment_id AND before.ordinal = run.ordinal - 1
    WHERE (run.ordinal = 0 OR before.id IS NOT NULL)
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', run.ended_at, 'UTC'), 'end', run.step_id, run.state
    FROM journeys_steprun run JOIN journeys_enrollment enrollment ON enrollment.id = run.enrollment_id
    WHERE run.state <> 'waiting'
    UNION ALL
    SELECT enrollment.workspace_id, enrollment.journey_id, enrollment.revision_id,
           date_trunc('hour', enrollment.ended_at, 'UTC'), 'edge',
           CASE WHEN enrollment.steps_begun = 0 THEN '@entry' ELSE last.step_id END,
           CASE enrollment.state WHEN 'completed' THEN '@completed' ELSE '@exited' END
    FROM journeys_enrollment enrollment LEFT JOIN journeys_steprun last
      ON last.enrollment_id = enrollment.id AND last.ordinal = enrollment.steps_begun - 1
    WHERE enrollment.state <> 'active' AND (enrollment.steps_begun = 0 OR last.id IS NOT NULL)
    UNION ALL
    SELECT watch.workspace_id, watch.journey_id, watch.revision_id, date_trunc('hour', watch.reached_at, 'UTC'), 'goal',
           watch.goal, outcome
    FROM journeys_goalwatch watch CROSS JOIN LATERAL unnest(watch.counted) AS outcome
    WHERE watch.reached_at IS NOT NULL
)
, missing AS (
    SELECT workspace_id, journey_id, revision_id, hour, kind, name, outcome, sum(number) AS number
    FROM (
    SELECT workspace_id, journey_id, revision_id, hour, kind, name, outcome, 1 AS number FROM told WHERE NOT EXISTS (
        SELECT FROM (
            SELECT journey_id, begin FROM journeys_count WHERE grain = 'day'
            EXCEPT SELECT journey_id, date_trunc('day', begin, 'UTC') FROM journeys_count WHERE grain = 'hour'
        ) AS alone
        WHERE alone.journey_id = told.journey_id AND alone.begin = date_trunc('day', told.hour, 'UTC')
    )
    UNION ALL
    SELECT workspace_id, journey_id, revision_id, begin, kind, name, outcome, -number
    FROM journeys_count WHERE grain = 'hour'
    UNION ALL
    SELECT workspace_id, journey_id, revision_id, hour, kind, name, outcome, -number FROM journeys_countdelta
) AS both_of
    GROUP BY workspace_id, journey_id, revision_id, hour, kind, name, outcome HAVING sum(number) > 0
), written AS (
    INSERT INTO journeys_countdelta (workspace_id, journey_id, revision_id, hour, kind, name, outcome, number)
    SELECT * FROM missing
)
SELECT coalesce(sum(number), 0) FROM missing

-- journeys.engine.counts.stats: _HOURS_SINCE
SELECT since FROM (
    SELECT coalesce((
        SELECT date_trunc('day', begin, 'UTC') FROM journeys_count WHERE journey_id = {journey_id} AND grain = 'hour'
        ORDER BY begin LIMIT 1
    ), {never}) AS since
) AS kept
WHERE EXISTS (
    SELECT FROM journeys_count
    WHERE journey_id = {journey_id} AND grain = 'day' AND begin >= {begin} AND begin < least(since, {end})
)

-- journeys.engine.counts.stats: _INSIDE
SELECT step_id, step_began_at IS NOT NULL, count(*) FROM journeys_enrollment
WHERE workspace_id = {workspace_id} AND journey_id = {journey_id} AND revision_id = coalesce({revision}, revision_id)
  AND state || '' = 'active'
GROUP BY 1, 2

-- journeys.engine.counts.stats: _QUEUED
SELECT (SELECT coalesce(sum(CASE WHEN sent.keeps_progress THEN sent.customers - (
           SELECT coalesce(sum(jobs), 0) FROM journeys_triggerprogress noted WHERE noted.trigger_id = sent.id
       ) ELSE (
           SELECT count(*) FROM journeys_enrollmentjob job WHERE job.trigger_id = sent.id AND job.status = 'queued'
       ) END), 0)::bigint
FROM (SELECT DISTINCT trigger_id FROM journeys_chunk WHERE workspace_id = {workspace_id}) AS waiting
CROSS JOIN LATERAL (
    SELECT * FROM journeys_trigger known WHERE known.id = waiting.trigger_id AND known.journey_id = {journey_id} LIMIT 1
) AS sent), EXISTS (
    SELECT FROM (
        SELECT entered_at FROM journeys_enrollment
        WHERE workspace_id = {workspace_id} AND journey_id = {journey_id} ORDER BY id LIMIT 1
    ) AS first
    WHERE entered_at < ALL(
        SELECT begin FROM (
            SELECT begin FROM journeys_count WHERE journey_id = {journey_id} AND grain = 'hour' ORDER BY begin LIMIT 1
        ) AS folded
        UNION ALL SELECT begin FROM journeys_count
        WHERE journey_id = {journey_id} AND grain = 'day' AND begin < coalesce((
            SELECT date_trunc('day', begin, 'UTC') FROM journeys_count
            WHERE journey_id = {journey_id} AND grain = 'hour' ORDER BY begin LIMIT 1
        ), 'infinity')
        UNION ALL SELECT hour FROM journeys_countdelta WHERE journey_id = {journey_id}
    )
)

-- journeys.engine.counts.stats: _SERIES
SELECT width_bucket(begin, {edges}::timestamptz[]), kind, name, outcome, sum(number)::bigint FROM (
    SELECT begin, kind, name, outcome, number FROM journeys_count
    WHERE journey_id = {journey_id} AND grain = 'hour' AND begin >= {begin} AND begin < {end}
      AND revision_id = coalesce({revision}, revision_id)
    UNION ALL
    SELECT begin, kind, name, outcome, number FROM journeys_count
    WHERE journey_id = {journey_id} AND grain = 'day' AND begin >= {begin} AND begin < least({end}, {hours_since})
      AND revision_id = coalesce({revision}, revision_id)
    UNION ALL
    SELECT hour, kind, name, outcome, number FROM journeys_countdelta
    WHERE journey_id = {journey_id} AND hour >= {begin} AND hour < {end}
      AND revision_id = coalesce({revision}, revision_id)
) AS counted
WHERE kind = 'entry' OR kind = 'edge' AND outcome IN ('@completed', '@exited')
GROUP BY 1, kind, name, outcome

-- journeys.engine.counts.stats: _SUMS
SELECT kind, name, outcome, sum(number) FILTER (WHERE ever)::bigint, sum(number) FILTER (WHERE within)::bigint FROM (
    SELECT revision_id, kind, name, outcome, number, true AS ever, {whole} AS within FROM journeys_count
    WHERE journey_id = {journey_id} AND grain = 'all'
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, false, true FROM journeys_count
    WHERE NOT {whole} AND journey_id = {journey_id} AND grain = 'day'
      AND begin >= {first_day} AND begin < {last_day}
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, false, true FROM journeys_count
    WHERE NOT {whole} AND journey_id = {journey_id} AND grain = 'day'
      AND begin >= {last_day} AND begin < least({end}, {hours_since})
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, false, true FROM journeys_count
    WHERE NOT {whole} AND journey_id = {journey_id} AND grain = 'hour'
      AND begin >= {begin} AND begin < {first_day}
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, false, true FROM journeys_count
    WHERE NOT {whole} AND journey_id = {journey_id} AND grain = 'hour'
      AND begin >= {last_day} AND begin < {end}
    UNION ALL
    SELECT revision_id, kind, name, outcome, number, true, hour >= {begin} AND hour < {end}
    FROM journeys_countdelta WHERE journey_id = {journey_id}
) AS counted
WHERE revision_id = coalesce({revision}, revision_id)
GROUP BY kind, name, outcome
