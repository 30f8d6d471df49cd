-- bridge.in_app.due: _DUE
SELECT customer.id AS customer_id, customer.external_id, customer.email, customer.phone, customer.user_id,
       customer.attributes, delivery.id, delivery.values, delivery.created_at, delivery.expires_at,
       message.key, message.content, message.actions, message.forms, message.key_orders
FROM ({match}) AS customer
CROSS JOIN LATERAL (
    SELECT * FROM journeys_inappdelivery known
    WHERE known.customer_id = customer.id AND known.ended_at IS NULL AND known.expires_at > now()
) AS delivery
CROSS JOIN LATERAL (
    SELECT * FROM bridge_message known
    WHERE known.workspace_id = customer.workspace_id AND known.key = delivery.message_id LIMIT 1
) AS message
WHERE {who} AND message.status = 'active' AND message.content IS NOT NULL
ORDER BY delivery.priority DESC, delivery.created_at, delivery.id LIMIT {most}
