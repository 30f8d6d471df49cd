"""Creates many customers at once, for trying the service out: `user-0`, `user-1`, …"""

from django.db import connection

from engage.database.object_ids import new_object_ids
from engage.models import Workspace

_MISSING = """
    SELECT number FROM generate_series(0, %s::int - 1) AS number
    WHERE NOT EXISTS (
        SELECT FROM customers_customer WHERE workspace_id = %s AND external_id = 'user-' || number
    )
"""
_COPY = "COPY customers_customer (id, workspace_id, external_id, attributes) FROM STDIN"


def seed_crowd(*, workspace: Workspace, size: int) -> int:
    """Creates those of the workspace's customers `user-0` to `user-<size - 1>` that are missing; returns how many.

    Raises IntegrityError if another program creates one of them at the same moment.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MISSING, [size, workspace.id])
        missing = [number for (number,) in cursor]
        with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
            for customer_id, number in zip(new_object_ids(len(missing)), missing, strict=True):
                copy.write_row((customer_id, workspace.id, f"user-{number}", "{}"))
        if missing:
            # Until autovacuum runs, queries would be planned for the few customers that there were before.
            cursor.execute("ANALYZE (SKIP_LOCKED) customers_customer")
    return len(missing)
