-- journeys.engine.connections.known: _CONNECTION
SELECT id FROM journeys_connection WHERE workspace_id = {workspace_id} AND key = {key} FOR KEY SHARE

-- journeys.engine.connections.known: _VARIABLES
SELECT name FROM journeys_variable WHERE workspace_id = {workspace_id} FOR KEY SHARE
