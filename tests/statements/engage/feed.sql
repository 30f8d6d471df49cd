-- engage.feed: _TELL
INSERT INTO engage_feedbatch (workspace_id, type, journey_id, size, results, reasons)
SELECT id, {type}, {journey_id}::text, 1, ARRAY[{result}::text], ARRAY[{reason}::text]
FROM engage_workspace WHERE id = {workspace_id} AND (feed OR subscribed)
