"""Errors of the database: which of them say that it is away, and which that it refused what was asked."""

from django.db import DatabaseError, InterfaceError, OperationalError

# Connections that failed; a standby that takes no writes; no connection, memory or disk left; servers that start, stop
# or have crashed; errors of the machine.
_AWAY = ("08", "25006", "53", "57P", "58")


def is_outage(error: BaseException) -> bool:
    """Whether the database is away or cannot work at all: nothing is known to be wrong with what was asked.

    A deadlock, a statement that was cancelled, or a value that is too large are no outage, although Django raises an
    OperationalError for them, too.
    """
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    sqlstate = getattr(error.__cause__, "sqlstate", None)
    if sqlstate is None:
        return isinstance(error, OperationalError | InterfaceError)
    return bool(sqlstate.startswith(_AWAY))
