-- engage.http.authentication: _ENABLED_APP
SELECT id, workspace_id, allowed_origins, message_policy, identity, anonymous, in_app, (
    SELECT jsonb_agg(jsonb_build_array(known.kid, known.alg, known.secret, known.expires_at))
    FROM engage_identitykey known WHERE known.app_id = app.id AND known.workspace_id = app.workspace_id
) AS stored_keys, (
    SELECT own.feed OR own.subscribed FROM engage_workspace own WHERE own.id = app.workspace_id
) AS workspace_tells, (
    SELECT own.default_country FROM engage_workspace own WHERE own.id = app.workspace_id
) AS default_country
FROM engage_app app WHERE id = {app_id} AND enabled

-- engage.http.authentication: _KEY
SELECT id, workspace_id, name, rate_limit, customers_rate_limit, events_rate_limit, scopes, journeys, networks,
       expires_at, revoked_at, last_used_at,
       (SELECT own.key FROM engage_workspace own WHERE own.id = workspace_id) AS workspace_key,
       (SELECT own.default_country FROM engage_workspace own WHERE own.id = workspace_id) AS default_country
FROM engage_apikey WHERE digest = {digest}

-- engage.http.authentication: _NOTE_USE
UPDATE engage_apikey SET last_used_at = {now}, last_used_from = {address}::inet WHERE id = ANY(ARRAY(
    SELECT id FROM engage_apikey
    WHERE id = {key_id} AND (last_used_at IS NULL OR last_used_at <= {noted_before}) FOR NO KEY UPDATE SKIP LOCKED
))

-- engage.http.idempotency: _LOCK
SELECT pg_try_advisory_xact_lock({lock})
