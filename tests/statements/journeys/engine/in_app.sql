-- journeys.engine.in_app.expiring: _EXPIRE
UPDATE journeys_inappdelivery SET state = 'expired', ended_at = now()
WHERE id = ANY({ids}::text[]) AND customer_id = ANY({customer_ids}::text[]) AND ended_at IS NULL
RETURNING *

-- journeys.engine.in_app.expiring: _EXPIRING
SELECT id, customer_id FROM journeys_inappdelivery
WHERE ended_at IS NULL AND expires_at <= now() AND id <> ALL({but}::text[]) ORDER BY expires_at LIMIT {most}

-- journeys.engine.in_app.expiring: _LOCK
SELECT id FROM customers_customer WHERE id = ANY({customer_ids}::text[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED

-- journeys.engine.in_app.figures: _FIGURES
SELECT (newest.created_at AT TIME ZONE 'UTC')::date AS day, newest.journey_id, count(*) AS delivered,
       count(newest.shown_at) AS shown, count(*) FILTER (WHERE newest.state = 'acted') AS acted,
       count(*) FILTER (WHERE newest.state = 'closed') AS closed,
       count(*) FILTER (WHERE newest.state = 'expired') AS expired
FROM (
    SELECT * FROM journeys_inappdelivery known
    WHERE known.message_id = {message_id} AND known.workspace_id = {workspace_id} AND known.id >= {since}
    ORDER BY known.id DESC LIMIT {most}
) AS newest
GROUP BY 1, 2 ORDER BY 1 DESC, 2

-- journeys.engine.in_app.transitions: _ADVANCE
WITH known AS MATERIALIZED (
    SELECT * FROM journeys_inappdelivery
    WHERE id = {id} AND workspace_id = {workspace_id} AND customer_id = {customer_id} AND message_id = {message_id}
), moved AS (
    UPDATE journeys_inappdelivery delivery
    SET state = {to}, action_id = {action_id}, shown_at = coalesce(delivery.shown_at, now()),
        ended_at = CASE WHEN {to} <> 'shown' THEN now() END
    FROM known WHERE delivery.id = ANY(ARRAY[known.id]) AND delivery.ended_at IS NULL AND delivery.expires_at > now()
      AND (delivery.shown_at IS NULL OR {to} <> 'shown')
    RETURNING 1
)
SELECT known.*, EXISTS (SELECT FROM moved) AS has_moved FROM known

-- journeys.engine.in_app.transitions: _JOURNEYS
SELECT id FROM journeys_journey WHERE id = ANY({journey_ids}::text[]) FOR KEY SHARE

-- journeys.engine.in_app.withdrawing: _WITHDRAW
UPDATE journeys_inappdelivery SET state = 'withdrawn', ended_at = now(), because = {because}
WHERE id = {id} AND workspace_id = {workspace_id} AND ended_at IS NULL
