"""Many statements that see the database at one moment."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection, transaction

from engage.database.sql import Statement

_OF_ONE_MOMENT = Statement("SET TRANSACTION ISOLATION LEVEL REPEATABLE READ")


@contextmanager
def snapshot() -> Iterator[None]:
    """A transaction that sees what was committed when it began; inside another one it sees what that sees."""
    is_first = not connection.in_atomic_block
    with transaction.atomic():
        if is_first:
            _OF_ONE_MOMENT.execute()
        yield
