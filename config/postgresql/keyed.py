"""Connections of workers, which look everything up by its keys.

PostgreSQL keeps the plans of a session, also those by which it checks foreign keys. A plan made while a table had a
page of rows reads all of it for each row looked up, until the table is analyzed: the first large call after a quiet
start then takes a time that grows with its square. A worker asks for nothing that no index knows, so it forbids this.
"""

from typing import Any

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.backends.signals import connection_created


def forbid_reading_whole_tables(*, connection: BaseDatabaseWrapper, **_: Any) -> None:
    """Tells the planner to use indexes wherever there are any."""
    with connection.cursor() as cursor:
        cursor.execute("SET enable_seqscan = off")


def forbid_in_all_connections() -> None:
    """For every connection that this process and its children will make."""
    connection_created.connect(forbid_reading_whole_tables)
