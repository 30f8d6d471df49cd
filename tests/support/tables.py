"""What the database holds."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from django.apps import apps
from django.contrib.auth.models import Permission
from django.contrib.contenttypes.models import ContentType
from django.db import connection, transaction

from engage.models import AuditEntry

_OF_THE_MIGRATIONS = {ContentType._meta.db_table, Permission._meta.db_table, "django_migrations"}


def everything() -> dict[str, list[Any]]:
    """Every row of every table, by the model's name."""
    return {model.__name__: list(model._default_manager.order_by("pk").values()) for model in apps.get_models()}


def tables_that_mention(text: str) -> set[str]:
    """Every table of the database with a row in which the text stands anywhere."""
    found = set()
    with connection.cursor() as cursor:
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT EXISTS (SELECT FROM "{table}" AS r WHERE r::text LIKE %s)', [f"%{text}%"])
            if cursor.fetchone()[0]:
                found.add(table)
    return found


_OTHERS_AT_WORK = """
SELECT EXISTS (
    SELECT FROM pg_stat_activity
    WHERE datname = current_database() AND pid <> pg_backend_pid()
    AND backend_type = 'client backend' AND state = 'active'
)
"""


def empty_after_all() -> None:
    """As `empty_all`, after a test that commits: once what its threads and processes have asked for is done.

    PostgreSQL ends a statement whose process was killed meanwhile, and commits it. A row of the feed names no other
    table's, so it would be there in the tests that follow.
    """
    until = time.monotonic() + 5
    with connection.cursor() as cursor:
        while time.monotonic() < until:
            cursor.execute(_OTHERS_AT_WORK)
            if not cursor.fetchone()[0]:
                break
            time.sleep(0.01)
    empty_all()


def empty_all() -> None:
    """Deletes every row that migrating did not make.

    In one statement, at whose end the foreign keys are checked, so the order of the tables does not matter. The audit
    lets go of its entries only while nobody guards them.
    """
    tables = connection.introspection.django_table_names(only_existing=True, include_views=False)
    deletions = [f'_{table} AS (DELETE FROM "{table}")' for table in tables if table not in _OF_THE_MIGRATIONS]
    audit = AuditEntry._meta.db_table
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT EXISTS (SELECT FROM {audit})")
        if cursor.fetchone()[0]:
            cursor.execute(f"ALTER TABLE {audit} DISABLE TRIGGER USER")
            cursor.execute(f"DELETE FROM {audit}")
            cursor.execute(f"ALTER TABLE {audit} ENABLE TRIGGER USER")
        cursor.execute(f"WITH {', '.join(deletions)} SELECT")


@contextmanager
def taken_back() -> Iterator[None]:
    """Whatever the block does to the tables, the next one finds them as they were."""
    around = transaction.atomic()
    vars(around)["_from_testcase"] = True  # none of the service's own
    with around:
        yield
        transaction.set_rollback(True)
