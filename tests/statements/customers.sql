-- customers.events: _INSERT
INSERT INTO customers_event
    (id, workspace_id, customer_id, name, properties, source, chain, message_id, verified, occurred_at)
SELECT id, workspace_id, customer_id, name, properties, source, chain, message_id, verified,
       coalesce(occurred_at, now())
FROM {events}
ORDER BY place

-- customers.listing: _AFTER
workspace_id = {workspace_id} AND id > {after}

-- customers.listing: _BEGINNING
workspace_id = {workspace_id} AND {field} ~>=~ {first} AND {field} ~<~ {beyond} AND {field} ~>~ {after}

-- customers.listing: _MEMBERS_AFTER
segment_id = {segment_id} AND customer_id > {after}

-- customers.profile: _CLAIM
UPDATE customers_customer
SET attributes = (attributes || {written}::jsonb) - {deleted}::text[],
    claimed_attributes = ARRAY(
        SELECT unnest(claimed_attributes || {names}::text[]) EXCEPT SELECT unnest({deleted}::text[])
    ),
    updated_at = statement_timestamp()
WHERE workspace_id = {workspace_id} AND id = {customer_id}
RETURNING (
    SELECT jsonb_object_agg(name, value) FROM jsonb_each(attributes) AS attribute (name, value)
    WHERE name = ANY(claimed_attributes)
)

-- customers.profile: _MERGE_MANY
WITH merged AS (
    UPDATE customers_customer customer
    SET attributes = (customer.attributes || written.attributes)
            - ARRAY(SELECT jsonb_array_elements_text(written.deleted)),
        claimed_attributes = CASE WHEN customer.claimed_attributes = '{}' THEN '{}' ELSE ARRAY(
            SELECT unnest(customer.claimed_attributes) EXCEPT SELECT jsonb_object_keys(written.attributes)
        ) END,
        updated_at = statement_timestamp()
    FROM {changes}
    WHERE customer.id = ANY(ARRAY[written.id]) AND customer.workspace_id || '' = written.workspace_id
    RETURNING customer.id, customer.watched
)
SELECT id FROM merged WHERE watched

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

-- customers.watching: _UNWATCH
UPDATE customers_customer SET watched = false WHERE id = ANY({ids}::text[]) AND watched

-- customers.watching: _WATCH
UPDATE customers_customer SET watched = true WHERE id = ANY({ids}::text[]) AND NOT watched
