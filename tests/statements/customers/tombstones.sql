-- customers.tombstones: _ERASE
WITH erased AS (
    DELETE FROM customers_customer WHERE workspace_id = {workspace_id} AND id = {customer_id}
    RETURNING id, workspace_id, external_id, email, phone, user_id
), known_as AS (
    SELECT workspace_id, named.field, named.value
    FROM erased CROSS JOIN LATERAL (
        VALUES ('external_id', external_id), ('email', email), ('phone', phone), ('user_id', user_id)
    ) AS named (field, value)
    WHERE named.value IS NOT NULL
    UNION SELECT workspace_id, named.field, named.value
    FROM customers_alias alias CROSS JOIN LATERAL (
        VALUES ('external_id', external_id), ('email', email), ('phone', phone), ('user_id', user_id)
    ) AS named (field, value)
    WHERE alias.workspace_id = {workspace_id} AND alias.customer_id = {customer_id} AND named.value IS NOT NULL
), left_behind AS (
    INSERT INTO customers_tombstone (id, workspace_id, digest)
    SELECT lpad(to_hex(extract(epoch FROM statement_timestamp())::bigint), 8, '0')
           || left(replace(gen_random_uuid()::text, '-', ''), 16), workspace_id,
           encode(sha256(convert_to(({keys}::jsonb ->> field) || value, 'UTF8')), 'hex') AS digest
    FROM known_as ORDER BY digest
    ON CONFLICT (workspace_id, digest) DO UPDATE SET erased_at = statement_timestamp()
), told AS (
    INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, customer_ids, external_ids)
    SELECT workspace_id, type, journey_id, count(*), array_agg(id), array_agg(external_id) FROM (SELECT 'customer.erased' AS type, NULL::text AS journey_id, * FROM erased) AS gone WHERE 
workspace_id = ANY(ARRAY(
    SELECT own.id FROM engage_workspace own
    WHERE own.id = ANY(ARRAY(SELECT DISTINCT workspace_id FROM (SELECT 'customer.erased' AS type, NULL::text AS journey_id, * FROM erased) AS gone)) AND (own.feed OR own.subscribed)
))

    GROUP BY workspace_id, journey_id, type ORDER BY type DESC
    )
SELECT count(*) FROM erased
