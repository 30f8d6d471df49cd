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
