-- engage.alerts: _ALONE
SELECT pg_try_advisory_xact_lock(hashtextextended('engage: alerts', 0))

-- engage.alerts: _CLAIM
WITH first AS (SELECT workspace_id FROM engage_alert WHERE due_at <= now() ORDER BY due_at LIMIT 1)
UPDATE engage_alert alert SET attempts = attempts + 1, due_at = CASE
    WHEN told_at IS NULL AND ended_at IS NOT NULL AND over_told_at IS NULL THEN NULL
    ELSE now() + interval '1 minute'
END
WHERE id = ANY(ARRAY(
    SELECT id FROM engage_alert due
    WHERE due_at <= now() AND workspace_id IS NOT DISTINCT FROM (SELECT workspace_id FROM first)
    ORDER BY due_at LIMIT {most} FOR UPDATE SKIP LOCKED
))
RETURNING id, workspace_id, rule, says, began_at, ended_at, told_at IS NOT NULL AS over, attempts,
          due_at IS NULL AS void

-- engage.alerts: _SETTLE
UPDATE engage_alert SET
    told_at = CASE WHEN told_at IS NULL THEN now() ELSE told_at END,
    over_told_at = CASE WHEN told_at IS NULL THEN over_told_at ELSE now() END,
    attempts = 0,
    due_at = CASE WHEN told_at IS NULL AND ended_at IS NOT NULL AND over_told_at IS NULL THEN now() END
WHERE id = ANY({ids}::text[])

-- engage.feed: _TELL
INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, results, reasons)
SELECT id, {type}, {journey_id}::text, 1, ARRAY[{result}::text], ARRAY[{reason}::text]
FROM engage_workspace WHERE id = {workspace_id} AND (feed OR subscribed)
