-- journeys.segment.seeding: _LOCK_LEAVING
SELECT FROM customers_customer WHERE id = ANY(ARRAY(SELECT customer_id FROM 
    customers_segmentmembership AS membership
    WHERE segment_id = ANY({named}) AND NOT EXISTS (
        SELECT FROM {wanted}
        WHERE wanted.segment_id = membership.segment_id AND wanted.customer_id = membership.customer_id
    )
)) ORDER BY id FOR KEY SHARE

-- journeys.segment.seeding: _PUT_IN
INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
SELECT {workspace}, * FROM {wanted}
ON CONFLICT DO NOTHING

-- journeys.segment.seeding: _TAKE_OUT
DELETE FROM 
    customers_segmentmembership AS membership
    WHERE segment_id = ANY({named}) AND NOT EXISTS (
        SELECT FROM {wanted}
        WHERE wanted.segment_id = membership.segment_id AND wanted.customer_id = membership.customer_id
    )
