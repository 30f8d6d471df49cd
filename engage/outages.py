"""Errors of the database: which of them say that it is away, and which that it refused what was asked."""

from django.db import DatabaseError, InterfaceError, OperationalError

# Connections that failed; a standby that takes no writes; no connection, memory or disk left; servers that start, stop
# or have crashed; errors of the machine.
_AWAY = ("08", "25006", "53", "57P", "58")
# The role lacks a right; a table or a column is that of another version.
_NOT_SET_UP = ("42501", "42P01", "42703")


def is_outage(error: BaseException) -> bool:
    """Whether the database is away or cannot work at all: nothing is known to be wrong with what was asked.

    A deadlock, a statement that was cancelled, or a value that is too large are no outage, although Django raises an
    OperationalError for them, too.
    """
    if not isinstance(error, DatabaseError | InterfaceError):
        return False
    sqlstate = _sqlstate(error)
    if sqlstate is None:
        return isinstance(error, OperationalError | InterfaceError)
    return sqlstate.startswith(_AWAY)


def concerns_all_work(error: BaseException) -> bool:
    """Whether any other work would have met the same: the database is away, or not set up for this version.

    Then nothing is wrong with what was tried, and to have tried it does not count.
    """
    return is_outage(error) or _sqlstate(error) in _NOT_SET_UP


def _sqlstate(error: BaseException) -> str | None:
    return getattr(error.__cause__, "sqlstate", None)
