-- journeys.journey.studio.suggestions: _EVENTS
SELECT name FROM (
    SELECT name FROM customers_event WHERE workspace_id = {workspace_id} AND id >= {since}
    ORDER BY id DESC LIMIT 5000
) AS latest
GROUP BY name ORDER BY count(*) DESC, name LIMIT 200
