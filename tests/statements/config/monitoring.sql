-- config.monitoring.storage: _STORAGE
SELECT coalesce(extract(epoch FROM clock_timestamp() - least(
    (SELECT min(xact_start) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'),
    (SELECT min(prepared) FROM pg_prepared_xacts WHERE database = current_database())
)), 0)::float8 AS oldest_transaction_seconds, pg_database_size(current_database()) AS database_bytes
