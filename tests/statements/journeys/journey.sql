-- journeys.journey.listening: _CANDIDATES
SELECT journey.id, journey.name, journey.active, journey.event_name, journey.event_where, journey.entry_conditions,
       journey.goals, revision.steps, revision.exit_on
FROM journeys_journey journey
JOIN journeys_journeyrevision revision ON revision.journey_id = journey.id AND revision.number = journey.revision
CROSS JOIN LATERAL (SELECT concat(
    to_jsonb(journey.event_name), journey.event_where, journey.entry_conditions, journey.goals, revision.steps,
    revision.exit_on
) AS text) AS written
WHERE journey.workspace_id = {workspace_id} AND (
    strpos(written.text, 'event.messageId') > 0
    OR EXISTS (SELECT FROM unnest({event_names}::text[]) AS name WHERE strpos(written.text, to_jsonb(name)::text) > 0)
)
ORDER BY journey.id DESC LIMIT 200

-- journeys.journey.past_moments: _FEW
SELECT id, external_id, email, phone, user_id, attributes FROM (
    (SELECT * FROM customers_customer WHERE workspace_id = {workspace_id} ORDER BY id LIMIT 50)
    UNION ALL (SELECT * FROM customers_customer WHERE workspace_id = {workspace_id} ORDER BY id DESC LIMIT 50)
) AS few WHERE pg_column_size(attributes) <= 8192
