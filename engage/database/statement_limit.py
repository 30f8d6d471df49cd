"""How long a statement of this process may take: the web server's are limited, those of workers and commands are not.

A pooler's sessions are lent to others, so nothing is set in them: there, a statement's silence is limited instead.
"""

from collections.abc import Iterator
from contextlib import contextmanager, suppress

from django.db import DatabaseError, connection

_LONGER_SECONDS = 600.0


class StatementLimit:
    """The process's own; None where there is none."""

    seconds: float | None = None


statement_limit = StatementLimit()


@contextmanager
def longer_statements() -> Iterator[None]:
    """Within it, statements on the default connection may take ten minutes. For what takes long without being wrong."""
    if not statement_limit.seconds:
        yield
        return
    _limit(_LONGER_SECONDS)
    try:
        yield
    finally:
        with suppress(DatabaseError):  # the transaction has failed, and its end undoes the change as well
            _limit(statement_limit.seconds)


def _limit(seconds: float) -> None:
    with connection.cursor() as cursor:
        if not getattr(connection.connection, "behind_pooler", False):
            cursor.execute("SELECT set_config('statement_timeout', %s, false)", [f"{seconds * 1000:.0f}ms"])
