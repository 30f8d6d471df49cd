-- customers.events: _INSERT
INSERT INTO customers_event
    (id, workspace_id, customer_id, name, properties, source, chain, message_id, verified, occurred_at)
SELECT id, workspace_id, customer_id, name, properties, source, chain, message_id, verified,
       coalesce(occurred_at, now())
FROM {events}
ORDER BY place
