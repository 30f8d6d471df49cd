-- engage.audit.reading: _GIVE_POSITIONS
WITH fresh AS MATERIALIZED (
    SELECT id, workspace_id, row_number() OVER (PARTITION BY workspace_id ORDER BY at, id) AS place
    FROM (SELECT id, workspace_id, at FROM engage_auditentry WHERE position IS NULL ORDER BY at, id LIMIT {most}) AS few
), begun AS MATERIALIZED (
    SELECT workspace_id, greatest((floor(extract(epoch FROM clock_timestamp()))::bigint - 1577836800) - 1, (
        SELECT max(position) FROM engage_auditentry known WHERE known.workspace_id = own.workspace_id
    )) AS last
    FROM (SELECT DISTINCT workspace_id FROM fresh) AS own
)
UPDATE engage_auditentry SET position = begun.last + fresh.place
FROM fresh JOIN begun ON begun.workspace_id IS NOT DISTINCT FROM fresh.workspace_id
WHERE engage_auditentry.id = fresh.id

-- engage.audit.reading: _LAST
SELECT coalesce(last, (floor(extract(epoch FROM clock_timestamp()))::bigint - 1577836800)), coalesce((
    SELECT max(position) FROM engage_auditentry
    WHERE workspace_id = {workspace_id} AND position <= last - 3600
), 0) FROM (SELECT max(position) AS last FROM engage_auditentry WHERE workspace_id = {workspace_id}) AS whole

-- engage.audit.reading: _LOCK
SELECT pg_advisory_xact_lock(hashtext('engage_audit_position'))
