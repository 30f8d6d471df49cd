-- customers.contact.ledger: _ACTS
SELECT act.customer_id, act.topic, act.channel, act.state, act.occurred_at, act.until
FROM {asked} JOIN customers_consentact act ON act.workspace_id = {workspace_id}
    AND act.customer_id = asked.customer_id AND act.topic = asked.topic AND act.channel = asked.channel

-- customers.contact.ledger: _CONSENTS
SELECT consent.customer_id, consent.topic, consent.channel, consent.state, consent.since, consent.until
FROM unnest({ids}::text[]) AS asked (id) JOIN customers_consent consent ON consent.customer_id = asked.id
WHERE consent.workspace_id = {workspace_id}

-- customers.contact.ledger: _LOCK
SELECT id FROM customers_customer WHERE workspace_id = {workspace_id} AND id = ANY({ids}::text[])
ORDER BY id FOR NO KEY UPDATE

-- customers.contact.reach: _REACH
SELECT suppressed.channel, suppressed.digest, suppressed.reason FROM {asked}
JOIN customers_suppression suppressed ON suppressed.workspace_id = {workspace_id}
    AND suppressed.channel = asked.channel AND suppressed.digest = asked.digest
WHERE suppressed.reason <> 'soft_bounce' OR suppressed.soft_bounces >= {soft_bounces}

-- customers.contact.rings: _RINGS
SELECT ring.customer_id, ring.cap, ring.times
FROM unnest({ids}::text[]) AS asked (id) JOIN customers_contactring ring ON ring.customer_id = asked.id

-- customers.contact.suppressed: _REACH
SELECT asked.workspace_id, asked.channel, asked.digest, known.reason FROM {asked}
CROSS JOIN LATERAL (
    SELECT * FROM customers_suppression known
    WHERE known.workspace_id = asked.workspace_id AND known.channel = asked.channel AND known.digest = asked.digest
    LIMIT 1
) AS known
WHERE known.reason <> 'soft_bounce' OR known.soft_bounces >= {soft_bounces}
