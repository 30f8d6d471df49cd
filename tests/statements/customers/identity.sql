-- customers.identity.aliases: _LEADS_TO
SELECT coalesce(
           (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND user_id = {user_id} AND NOT (claimed AND {is_proven})),
           (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND external_id = {external_id} LIMIT 1),
           (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND email = {email} LIMIT 1),
           (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND phone = {phone} LIMIT 1)
       ),
       ARRAY(
           SELECT sent.digest FROM unnest({digests}::text[]) AS sent (digest) CROSS JOIN LATERAL (
               SELECT FROM customers_tombstone WHERE workspace_id = {workspace_id} AND digest = sent.digest LIMIT 1
           ) AS erased
       )

-- customers.identity.aliases: _LEAVE
WITH freed AS (
    UPDATE customers_alias SET user_id = nullif(user_id, {user_id}), external_id = nullif(external_id, {external_id}),
        email = nullif(email, {email}), phone = nullif(phone, {phone})
    WHERE id = ANY(ARRAY(
        SELECT id FROM customers_alias WHERE workspace_id = {workspace_id} AND user_id = {user_id} UNION ALL SELECT id FROM customers_alias WHERE workspace_id = {workspace_id} AND external_id = {external_id}
        UNION ALL SELECT id FROM customers_alias WHERE workspace_id = {workspace_id} AND email = {email} UNION ALL SELECT id FROM customers_alias WHERE workspace_id = {workspace_id} AND phone = {phone}
    ))
    RETURNING 1
)
INSERT INTO customers_alias (id, workspace_id, user_id, external_id, email, phone, customer_id, claimed)
SELECT {alias_id}, {workspace_id}, {user_id}, {external_id}, {email}, {phone}, {customer_id}, {claimed}
FROM (SELECT count(*) FROM freed) AS first

-- customers.identity.aliases: _LED_TO
coalesce(
           (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND user_id = {user_id} AND NOT (claimed AND {is_proven})),
           (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND external_id = {external_id} LIMIT 1),
           (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND email = {email} LIMIT 1),
           (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND phone = {phone} LIMIT 1)
       )

-- customers.identity.aliases: _WRITTEN
WITH lifted AS (
    DELETE FROM customers_tombstone WHERE id IN (
        SELECT erased.id FROM unnest({digests}::text[]) AS sent (digest) CROSS JOIN LATERAL (
            SELECT id FROM customers_tombstone WHERE workspace_id = {workspace_id} AND digest = sent.digest LIMIT 1
        ) AS erased ORDER BY sent.digest
    )
)
SELECT EXISTS (
    SELECT FROM unnest({fields}::text[], {values}::text[]) AS alone (field, value) CROSS JOIN LATERAL (
        SELECT FROM customers_alias WHERE workspace_id = {workspace_id} AND NOT claimed AND user_id = CASE field WHEN 'user_id' THEN value END
        UNION ALL SELECT FROM customers_alias WHERE workspace_id = {workspace_id} AND NOT claimed AND external_id = CASE field WHEN 'external_id' THEN value END
        UNION ALL SELECT FROM customers_alias WHERE workspace_id = {workspace_id} AND NOT claimed AND email = CASE field WHEN 'email' THEN value END
        UNION ALL SELECT FROM customers_alias WHERE workspace_id = {workspace_id} AND NOT claimed AND phone = CASE field WHEN 'phone' THEN value END
    ) AS led
)

-- customers.identity.identifiers: _BY_ID
SELECT id, workspace_id, external_id, email, phone, user_id, claimed_identifiers, watched FROM customers_customer WHERE workspace_id = {workspace_id} AND id = {customer_id}

-- customers.identity.identifiers: _DELETE
DELETE FROM customers_customer WHERE id = {id}

-- customers.identity.identifiers: _HELD
SELECT sent.phone FROM unnest({phones}::text[]) AS sent (phone) CROSS JOIN LATERAL (
    SELECT FROM customers_customer WHERE workspace_id = {workspace_id} AND phone = sent.phone
    UNION ALL SELECT FROM customers_alias WHERE workspace_id = {workspace_id} AND phone = sent.phone LIMIT 1
) AS known

-- customers.identity.identifiers: _LOCK
{match} FOR NO KEY UPDATE

-- customers.identity.identifiers: _NAME_NOTHING
UPDATE customers_customer SET external_id = NULL WHERE id = {id}

-- customers.identity.identifiers: _OR_ALIAS
({match}) UNION ALL (
    SELECT {columns} FROM customers_customer WHERE workspace_id = {workspace_id} AND id = {alias}
) LIMIT 1

-- customers.identity.identifiers: _UNLESS_ALIAS
{match} AND NOT EXISTS (
    SELECT FROM customers_alias alias
    WHERE alias.workspace_id = {workspace_id} AND alias.{field} = {value} AND NOT (alias.claimed AND {is_proven})
)

-- customers.identity.locks: _LED
SELECT to_jsonb(alias) FROM customers_alias alias WHERE id = ANY({ids}::text[])

-- customers.identity.locks: _LOCK
WITH named AS MATERIALIZED ({named}), held AS MATERIALIZED (
    SELECT {columns} FROM customers_customer WHERE id = ANY(ARRAY(SELECT id FROM named)) ORDER BY id {lock}
)
SELECT held.*, meant.own_names, meant.led_here
FROM (
    SELECT id, jsonb_agg(jsonb_build_array(field, value)) FILTER (WHERE alias IS NULL) AS own_names,
           jsonb_agg(alias) FILTER (WHERE alias IS NOT NULL) AS led_here
    FROM named GROUP BY id
) AS meant FULL JOIN held ON held.id = meant.id
ORDER BY meant.id

-- customers.identity.merging: _MOVE_MEMBERSHIPS
UPDATE customers_segmentmembership joined SET customer_id = {into}
WHERE joined.workspace_id = {workspace_id} AND joined.customer_id = {anonymous} AND NOT EXISTS (
    SELECT FROM customers_segmentmembership theirs
    WHERE theirs.segment_id = joined.segment_id AND theirs.customer_id = {into}
)

-- customers.identity.merging: _NAME_NOTHING
UPDATE customers_customer SET external_id = NULL WHERE id = {anonymous}

-- customers.identity.merging: _TAKE_ATTRIBUTES
UPDATE customers_customer SET attributes = attributes || {taken}::jsonb,
    claimed_attributes = claimed_attributes || {claimed}::text[], updated_at = statement_timestamp()
WHERE id = {into}

-- customers.identity.merging: _UNITE_RINGS_AND_DELETE
WITH united AS (
    INSERT INTO customers_contactring AS ring (workspace_id, customer_id, cap, times)
    SELECT workspace_id, {into}, cap, times FROM customers_contactring
    WHERE workspace_id = {workspace_id} AND customer_id = {anonymous}
    ON CONFLICT (customer_id, cap) DO UPDATE SET times = ARRAY(
        SELECT latest.at FROM (
            SELECT at FROM unnest(ring.times || excluded.times) AS at ORDER BY at DESC LIMIT {most}
        ) AS latest ORDER BY latest.at
    )
)
DELETE FROM customers_customer WHERE id = {anonymous}

-- customers.identity.proofs: _ASKED
SELECT {claimed}

-- customers.identity.proofs: _CLAIMED
EXISTS (
    SELECT FROM customers_customer one
    WHERE one.workspace_id = {workspace_id} AND one.{field} = {value} AND {name} = ANY(one.claimed_identifiers)
)

-- customers.identity.proofs: _CLAIMED_ALIAS
EXISTS (
    SELECT FROM customers_alias alias
    WHERE alias.workspace_id = {workspace_id} AND alias.user_id = {value} AND alias.claimed
)

-- customers.identity.proofs: _WRITE_IDENTIFIERS
UPDATE customers_customer SET external_id = {external_id}, email = {email}, phone = {phone}, user_id = {user_id},
    claimed_identifiers = {claimed}::text[], updated_at = statement_timestamp()
WHERE id = {id}

-- customers.identity.upsert: _UPDATE
UPDATE customers_customer AS customer
SET external_id = written.external_id, email = written.email, phone = written.phone, user_id = written.user_id,
    attributes = written.attributes,
    claimed_identifiers = written.claimed_identifiers, claimed_attributes = written.claimed_attributes,
    updated_at = {now}
FROM jsonb_to_recordset({rows}::jsonb)
    AS written (
        id text, external_id text, email text, phone text, user_id text, attributes jsonb,
        claimed_identifiers text[], claimed_attributes text[]
    )
WHERE customer.id = ANY(ARRAY[written.id]) AND customer.workspace_id || '' = {workspace_id}
