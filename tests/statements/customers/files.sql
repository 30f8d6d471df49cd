-- customers.files.exporting: _KINDS
SELECT said.name, array_agg(DISTINCT CASE
    WHEN jsonb_typeof(said.value) = 'string' AND said.value #>> '{}' IN ('', {removed}) THEN 'json'
    ELSE jsonb_typeof(said.value)
END)
FROM customers_customer CROSS JOIN LATERAL jsonb_each(attributes) AS said (name, value)
WHERE workspace_id = {workspace_id} AND said.name <> ALL(claimed_attributes) AND said.value <> 'null'
GROUP BY said.name ORDER BY said.name

-- customers.files.sets: _ANALYZE
ANALYZE customers_sent, customers_meant

-- customers.files.sets: _CHANGE
UPDATE customers_customer AS customer
SET attributes = customer.attributes || sent.attributes, updated_at = statement_timestamp()
FROM customers_sent sent JOIN customers_meant meant USING (number)
WHERE number = ANY({numbers}::int[]) AND customer.id = ANY(ARRAY[meant.owners[1]])

-- customers.files.sets: _CREATE
INSERT INTO customers_customer (id, workspace_id, external_id, email, phone, user_id, attributes)
SELECT id, {workspace_id}, external_id, email, phone, user_id, attributes
FROM customers_sent JOIN customers_meant USING (number)
WHERE number = ANY({plain}::int[]) AND owners IS NULL AND led IS NULL
ORDER BY coalesce(external_id, '') COLLATE "C", coalesce(email, '') COLLATE "C", coalesce(phone, '') COLLATE "C",
    coalesce(user_id, '') COLLATE "C"
ON CONFLICT DO NOTHING
RETURNING id

-- customers.files.sets: _KNOWN
WITH shared AS (
    SELECT owner FROM customers_meant CROSS JOIN unnest(owners || led) AS owner GROUP BY owner HAVING count(*) > 1
), one AS MATERIALIZED (
    SELECT sent.*, meant.owners[1] AS owner FROM customers_meant meant JOIN customers_sent sent USING (number)
    WHERE number = ANY({plain}::int[]) AND cardinality(meant.owners) = 1 AND meant.led IS NULL
        AND meant.names = num_nonnulls(external_id, email, phone, user_id)
        AND meant.owners[1] NOT IN (SELECT owner FROM shared)
), held AS MATERIALIZED (
    SELECT id, external_id, email, phone, user_id, attributes, watched FROM customers_customer
    WHERE id = ANY(ARRAY(SELECT owner FROM one)) AND claimed_identifiers = '{}' AND claimed_attributes = '{}'
    ORDER BY id FOR NO KEY UPDATE
)
SELECT one.number, held.id AS customer_id, held.watched,
       held.attributes || one.attributes IS DISTINCT FROM held.attributes AS differs
FROM one JOIN held ON held.id = one.owner
WHERE octet_length((held.attributes || one.attributes)::text) <= {most_bytes}
    AND coalesce(one.external_id = held.external_id, one.external_id IS NULL)
    AND coalesce(one.email = held.email, one.email IS NULL)
    AND coalesce(one.phone = held.phone, one.phone IS NULL)
    AND coalesce(one.user_id = held.user_id, one.user_id IS NULL)

-- customers.files.sets: _MEANT
INSERT INTO customers_meant
SELECT sent.number, known.owners, known.names, former.led
FROM customers_sent sent
CROSS JOIN LATERAL (
    SELECT array_agg(DISTINCT id) AS owners, count(*) AS names FROM (
        (SELECT id FROM customers_customer WHERE workspace_id = {workspace_id} AND external_id = sent.external_id LIMIT 1) UNION ALL (SELECT id FROM customers_customer WHERE workspace_id = {workspace_id} AND email = sent.email LIMIT 1)
        UNION ALL (SELECT id FROM customers_customer WHERE workspace_id = {workspace_id} AND phone = sent.phone LIMIT 1) UNION ALL (SELECT id FROM customers_customer WHERE workspace_id = {workspace_id} AND user_id = sent.user_id LIMIT 1)
    ) AS owner
) AS known
CROSS JOIN LATERAL (
    SELECT array_agg(DISTINCT customer_id) AS led FROM (
        (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND external_id = sent.external_id LIMIT 1) UNION ALL (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND email = sent.email LIMIT 1)
        UNION ALL (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND phone = sent.phone LIMIT 1) UNION ALL (SELECT customer_id FROM customers_alias WHERE workspace_id = {workspace_id} AND user_id = sent.user_id LIMIT 1)
    ) AS alias
) AS former

-- customers.files.sets: _SENT
DROP TABLE IF EXISTS pg_temp.customers_sent, pg_temp.customers_meant;
CREATE TEMPORARY TABLE customers_sent (
    number int, id text, external_id text, email text, phone text, user_id text, attributes jsonb
) ON COMMIT DROP;
CREATE TEMPORARY TABLE customers_meant (number int, owners text[], names int, led text[]) ON COMMIT DROP
