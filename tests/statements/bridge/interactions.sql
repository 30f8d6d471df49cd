-- bridge.interactions.recording: _INSERT
WITH customer AS ({customer}) {with_event}
INSERT INTO bridge_interaction
    (id, workspace_id, app_id, customer_id, event_id, message_id, kind, form_data, attributes_written, created_customer,
     created_at, action_id, message_problems, verified, identity_problem, origin)
SELECT {id}, {workspace_id}, {app_id}, customer.id, {event_id}, {message_id}, {kind}, {form_data}, {attributes_written},
    {created_customer}, coalesce({occurred_at}::timestamptz, statement_timestamp()), {action_id}, {message_problems},
    {verified}, {identity_problem}, {origin}
FROM customer

-- bridge.interactions.recording: _KNOWN
WITH held AS MATERIALIZED (
    SELECT known.id, known.workspace_id FROM ({match}) AS best
    JOIN customers_customer known ON known.id = best.id {who} FOR NO KEY UPDATE OF known SKIP LOCKED
)
SELECT customer.id, customer.workspace_id FROM held AS customer WHERE {unnoticed}

-- bridge.interactions.recording: _NOT_CLAIMED
{match} AND NOT ({claimed})

-- bridge.interactions.recording: _WITH_EVENT
, event AS ({event}), missed AS ({missed})
