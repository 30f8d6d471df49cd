"""How PostgreSQL itself fares, for the metrics; the doctor looks at more, when somebody asks."""

from dataclasses import dataclass

from engage.database.sql import Statement


@dataclass(frozen=True, kw_only=True)
class Storage:
    """The seconds for which the oldest transaction is open, 0 if none is, and the bytes of the database."""

    oldest_transaction_seconds: float
    database_bytes: int


# Of other roles' sessions it sees the transactions if its role may read all statistics.
_STORAGE = Statement("""
SELECT coalesce(extract(epoch FROM clock_timestamp() - least(
    (SELECT min(xact_start) FROM pg_stat_activity
     WHERE datname = current_database() AND pid <> pg_backend_pid() AND backend_type = 'client backend'),
    (SELECT min(prepared) FROM pg_prepared_xacts WHERE database = current_database())
)), 0)::float8 AS oldest_transaction_seconds, pg_database_size(current_database()) AS database_bytes
""")


def storage() -> Storage:
    """As of now, in one statement."""
    (found,) = _STORAGE.fetch(Storage)
    return found
