-- customers.audience.membership: _ADD
INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
SELECT {workspace_id}, {segment_id}, unnest({customer_ids}::text[])
ON CONFLICT (segment_id, customer_id) DO NOTHING

-- customers.audience.membership: _ADD_WHO_IS_THERE
INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
SELECT {workspace_id}, {segment_id}, id FROM (
    SELECT id FROM customers_customer WHERE workspace_id = {workspace_id} AND id = ANY({customer_ids}::text[])
    ORDER BY id FOR KEY SHARE
) AS there
ON CONFLICT (segment_id, customer_id) DO NOTHING

-- customers.audience.recipients: _FOUND
WITH {tables}
SELECT named.place, named.customer_id, coalesce(customer.external_id, named.external_id) AS external_id,
       named.customer_id IN (SELECT customer_id FROM exempt WHERE customer_id IS NOT NULL) AS is_excluded,
       row_number() OVER (PARTITION BY named.customer_id, named.entrance ORDER BY named.place) > 1 AS is_second
FROM named LEFT JOIN LATERAL (
    SELECT external_id FROM customers_customer known WHERE known.id = named.customer_id LIMIT 1
) AS customer ON true
ORDER BY named.place

-- customers.audience.recipients: _NAMED
SELECT sent.place, CASE WHEN sent.kind = 'external_id' THEN sent.value END AS external_id, sent.payload, sent.entrance,
       known.id AS customer_id, true AS belongs
FROM {sent}
LEFT JOIN LATERAL (
    SELECT id FROM customers_customer
    WHERE sent.kind = 'external_id' AND workspace_id = {workspace_id} AND external_id = sent.value
    UNION ALL
    SELECT id FROM customers_customer
    WHERE sent.kind = 'email' AND workspace_id = {workspace_id} AND email = sent.value
    UNION ALL
    SELECT id FROM customers_customer WHERE sent.kind = 'id' AND workspace_id = {workspace_id} AND id = sent.value
    UNION ALL
    SELECT customer_id FROM customers_alias
    WHERE sent.kind = 'id' AND workspace_id = {workspace_id} AND id = sent.value
    LIMIT 1
) AS known ON true

-- customers.audience.segments: _COUNT
SELECT count(*) FROM ({everybody}) AS one

-- customers.audience.segments: _COUNT_PART
SELECT count(*) FILTER (WHERE {belongs}), max(id) FROM (
    SELECT * FROM customers_customer WHERE workspace_id = {workspace_id}::text AND id > {after}
    ORDER BY id LIMIT {part}
) customer

-- customers.audience.segments: _EVERYBODY
SELECT id FROM customers_customer customer WHERE workspace_id = {workspace_id}::text AND {meets}
UNION ALL
SELECT member.id FROM ({members}) AS member
CROSS JOIN LATERAL (SELECT * FROM customers_customer known WHERE known.id = member.id LIMIT 1) AS customer
WHERE {meets} IS NOT TRUE

-- customers.audience.segments: _FIRST
SELECT id FROM customers_customer customer WHERE workspace_id = {workspace_id}::text AND {belongs}
ORDER BY id DESC LIMIT {most}

-- customers.audience.selection: _IS_LARGE
WITH named AS MATERIALIZED (
    SELECT id, conditions FROM customers_segment
    WHERE workspace_id = {workspace_id} AND (id = ANY({segments}::text[]) OR key = ANY({segments}::text[]))
)
SELECT (
    SELECT count(*) FROM (
        SELECT FROM customers_segmentmembership WHERE segment_id = ANY(ARRAY(SELECT id FROM named)) LIMIT {most} + 1
    ) AS member
) > {most} OR EXISTS (SELECT FROM named WHERE conditions IS NOT NULL) AND (
    SELECT count(*) FROM (SELECT FROM customers_customer WHERE workspace_id = {workspace_id} LIMIT {most} + 1) AS one
) > {most}

-- customers.audience.selection: _KNOWN_AS
SELECT coalesce(known.external_id, sent.external_id) AS external_id, sent.place, known.id AS customer_id, known.belongs
FROM unnest({sent}::text[]) WITH ORDINALITY AS sent (external_id, place)
LEFT JOIN LATERAL (
    SELECT customer.id, customer.external_id, {belongs} AS belongs FROM customers_customer customer
    WHERE {who} LIMIT 1
) AS known ON sent.external_id <> ALL({blank}::text[])

-- customers.audience.selection: _LEFT_OUT
WITH {tables}
SELECT 'unknown', customer_id, external_id, place FROM named WHERE customer_id IS NULL
UNION ALL SELECT 'not_in_segments', customer_id, external_id, place FROM named WHERE NOT belongs
UNION ALL SELECT 'excluded', customer_id, external_id, place FROM exempt WHERE {excluded}
ORDER BY place

-- customers.audience.selection: _ONCE
SELECT external_id, place, customer_id, belongs FROM (
    SELECT *, row_number() OVER (PARTITION BY customer_id ORDER BY place) AS nth FROM ({exempt}) AS each
) AS numbered WHERE nth = 1 OR customer_id IS NULL
