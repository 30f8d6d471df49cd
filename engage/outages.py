"""Errors of the database: which of them say that it is away, and which that it refused what was asked."""

from django.db import DatabaseError, InterfaceError, OperationalError

# Connections that failed; servers that start, stop or have crashed.
_CUT_OFF = ("08", "57P")
# A standby that takes no writes; no connection, memory or disk left; errors of the machine.
_UNABLE = ("25006", "53", "58")
# The role lacks a right; a table or a column is that of another version.
_NOT_SET_UP = ("42501", "42P01", "42703")


def is_outage(error: BaseException) -> bool:
    """Whether the database is away or cannot work at all: nothing is known to be wrong with what was asked.

    A deadlock, a statement that was cancelled, or a value that is too large are no outage, although Django raises an
    OperationalError for them, too.
    """
    return is_cut_off(error) or _has_state(error, _UNABLE)


def is_cut_off(error: BaseException) -> bool:
    """Whether the connection is gone, so that nothing else can be done with it either."""
    if _sqlstate(error) is None:
        return isinstance(error, OperationalError | InterfaceError)
    return _has_state(error, _CUT_OFF)


def may_befall_any_work(error: BaseException) -> bool:
    """Whether the cause is probably not what was tried, but that the database is away or not set up for this version.

    It may be all the same: a file that grows too large for one query, a right that one kind of work needs alone.
    """
    return is_outage(error) or _has_state(error, _NOT_SET_UP)


def _has_state(error: BaseException, states: tuple[str, ...]) -> bool:
    return (_sqlstate(error) or "").startswith(states)


def _sqlstate(error: BaseException) -> str | None:
    """None also for what is no error of the database, whatever caused it."""
    return getattr(error.__cause__, "sqlstate", None) if isinstance(error, DatabaseError | InterfaceError) else None
