-- bridge.people.merging: _MOVE_INTERACTIONS
UPDATE bridge_interaction SET customer_id = {into} WHERE workspace_id = {workspace_id} AND customer_id = {anonymous}
