-- bridge.messages.figures: _RECENT
SELECT named.id, clicks.number AS clicks, reported.number AS reported FROM {named} 
CROSS JOIN LATERAL (SELECT count(*) AS number FROM (
    SELECT 1 FROM bridge_interaction one
    WHERE one.message_id = named.key AND one.workspace_id = named.workspace_id AND one.id >= {since} 
    LIMIT {most}) AS counted) AS
 clicks 
CROSS JOIN LATERAL (SELECT count(*) AS number FROM (
    SELECT 1 FROM bridge_interaction one
    WHERE one.message_id = named.key AND one.workspace_id = named.workspace_id AND one.id >= {since} AND one.message_problems IS NOT NULL
    LIMIT {most}) AS counted) AS
 reported

-- bridge.messages.figures: _REPORTED
SELECT newest.reason, count(*) FROM (
    SELECT one.message_problems -> 0 ->> 'reason' AS reason FROM bridge_interaction one
    WHERE one.message_id = {key} AND one.workspace_id = {workspace_id} AND one.id >= {since}
      AND one.message_problems IS NOT NULL
    ORDER BY one.id DESC LIMIT {most}
) AS newest
GROUP BY newest.reason

-- bridge.messages.known: _ACTIVE
SELECT id, actions, forms FROM bridge_message WHERE workspace_id = {workspace_id} AND key = {key} AND status = 'active'

-- bridge.messages.known: _OFFERED
SELECT key, actions, forms, content IS NOT NULL AS shown FROM bridge_message
WHERE workspace_id = {workspace_id} AND status = 'active' ORDER BY key LIMIT 200

-- bridge.messages.known: _SHOWN
SELECT known.workspace_id, known.key FROM {named} JOIN bridge_message known
  ON known.workspace_id = named.workspace_id AND known.key = named.key
WHERE known.status = 'active' AND known.content IS NOT NULL

-- bridge.messages.recorded: _RECORDED
WITH 
drawn AS MATERIALIZED (
    SELECT day.place, picked.id FROM {days}
    CROSS JOIN LATERAL (SELECT one.id 
    FROM bridge_interaction one
    WHERE one.message_id = {key} AND one.workspace_id = {workspace_id} AND one.id >= day.begin AND one.id < day.until
 AND substr(one.id, 9, 4) < {below}) AS picked
)

SELECT one.kind, one.customer_id, event.name AS event_name, event.properties, one.form_data, (
    SELECT jsonb_object_agg(written.name, customer.attributes -> written.name)
    FROM jsonb_array_elements_text(one.attributes_written) AS written(name)
) AS attributes
FROM drawn CROSS JOIN LATERAL (SELECT * FROM bridge_interaction known WHERE known.id = drawn.id LIMIT 1) AS one
LEFT JOIN LATERAL (
    SELECT known.name, known.properties FROM customers_event known WHERE known.id = one.event_id LIMIT 1
) AS event ON true
LEFT JOIN LATERAL (
    SELECT known.attributes FROM customers_customer known WHERE known.id = one.customer_id LIMIT 1
) AS customer ON true
WHERE one.kind IN ('track_event', 'update_profile', 'capture') AND octet_length(one.form_data::text) <= {largest}
  AND octet_length(coalesce(event.properties::text, '')) <= {largest}

-- bridge.messages.usage: _SHARES
WITH 
drawn AS MATERIALIZED (
    SELECT day.place, picked.id FROM {days}
    CROSS JOIN LATERAL (SELECT one.id 
    FROM bridge_interaction one
    WHERE one.message_id = {key} AND one.workspace_id = {workspace_id} AND one.id >= day.begin AND one.id < day.until
 AND substr(one.id, 9, 4) < {below}) AS picked
)

SELECT drawn.place, one.kind, one.action_id, event.name AS event_name, count(*) AS number,
       count(DISTINCT one.customer_id) AS customers
FROM drawn CROSS JOIN LATERAL (SELECT * FROM bridge_interaction known WHERE known.id = drawn.id LIMIT 1) AS one
LEFT JOIN LATERAL (SELECT known.name FROM customers_event known WHERE known.id = one.event_id LIMIT 1) AS event ON true
GROUP BY GROUPING SETS ((drawn.place, one.kind, one.action_id, event.name), ())

-- bridge.messages.usage: _TOTALS
SELECT counted.number FROM {days} CROSS JOIN LATERAL (SELECT count(*) AS number 
    FROM bridge_interaction one
    WHERE one.message_id = {key} AND one.workspace_id = {workspace_id} AND one.id >= day.begin AND one.id < day.until
) AS counted ORDER BY day.place
