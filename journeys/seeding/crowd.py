"""Many customers at once, to try the service with: `user-0`, `user-1`, …"""

from django.db import connection

from engage.models import Workspace
from engage.object_ids import new_object_id

_MISSING = """
    SELECT number FROM generate_series(0, %s::int - 1) AS number
    WHERE NOT EXISTS (
        SELECT FROM customers_customer WHERE workspace_id = %s AND external_id = 'user-' || number
    )
"""
_COPY = "COPY customers_customer (id, workspace_id, external_id, attributes) FROM STDIN"


def seed_crowd(*, workspace: Workspace, size: int) -> int:
    """Makes those of the workspace's customers `user-0` to `user-<size - 1>` that are missing; returns how many.

    Raises IntegrityError where another program makes one of them at the same moment.
    """
    with connection.cursor() as cursor:
        cursor.execute(_MISSING, [size, workspace.id])
        missing = [number for (number,) in cursor]
        with connection.wrap_database_errors, cursor.copy(_COPY) as copy:
            for number in missing:
                copy.write_row((new_object_id(), workspace.id, f"user-{number}", "{}"))
        if missing:
            # Until autovacuum comes by, queries would be planned as for the few customers of before.
            cursor.execute("ANALYZE customers_customer")
    return len(missing)
