-- engage.database.parts: _LISTED
SELECT {key} FROM {table}, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more WHERE {of} ORDER BY {order} LIMIT {limit}

-- engage.database.parts: _LOOKED_TO
SELECT {key} FROM {table}, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more WHERE {of} ORDER BY {order} OFFSET {most} - 1 LIMIT 1

-- engage.database.parts: _MEETING
SELECT {key} FROM (
    SELECT {table}.* FROM {table}, string_to_table('-', NULL) AS many, string_to_table('-', NULL) AS more WHERE {of} ORDER BY {order} LIMIT {most}
) AS {row} WHERE {meets} ORDER BY {order} LIMIT {limit}

-- engage.database.snapshot: _OF_ONE_MOMENT
SET TRANSACTION ISOLATION LEVEL REPEATABLE READ

-- engage.database.statement_limit: _ALLOW_LARGE
SELECT set_config('statement_timeout', {limit}, true)

-- engage.database.statement_limit: _CHECK_ALL_NOW
SET CONSTRAINTS ALL IMMEDIATE

-- engage.database.statement_limit: _LIMIT
SELECT current_setting('statement_timeout'), set_config('statement_timeout', {limit}, true)
