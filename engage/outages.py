"""Errors of the database: which of them say that it is away, and which that it refused what was asked."""

from django.db import InterfaceError, OperationalError

# Connections that failed; servers that start, stop or have crashed; no connection free.
_AWAY = ("08", "57P", "53300")


def is_outage(error: BaseException) -> bool:
    """Whether the database is away, or has cut the connection: nothing is known to be wrong with what was asked.

    A deadlock, a statement that was cancelled, or a value that is too large are no outage, although Django raises an
    OperationalError for them, too.
    """
    if not isinstance(error, OperationalError | InterfaceError):
        return False
    sqlstate = getattr(error.__cause__, "sqlstate", None)
    return sqlstate is None or sqlstate.startswith(_AWAY)
