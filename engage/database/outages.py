"""Classifies database errors: whether the database is unavailable, or refused what was asked."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import DatabaseError, InterfaceError, NotSupportedError, OperationalError

from engage.credentials.encryption import UnknownEncryptionKey

# The connection failed, or the server is starting, stopping or has crashed, or it ended a session that was idle within
# a transaction.
_LEFT_IDLE = ("25P03",)
_CUT_OFF = ("08", "57P", *_LEFT_IDLE)
_HELD_UP = ("55P03",)
# A standby that takes no writes; no connections, memory or disk left; a system error.
_UNABLE = ("25006", "53", "58")
# The role lacks a right, or the schema is of another version: a table or a column is missing.
_NOT_SET_UP = ("42501", "42P01", "42703")
_NOT_SUPPORTED = ("0A000",)


def is_outage(error: BaseException) -> bool:
    """Whether the database is unavailable or cannot work at all, with nothing known to be wrong with the request.

    A deadlock, a cancelled statement or a value that is too large is not an outage, although Django raises an
    OperationalError for these, too.
    """
    return is_cut_off(error) or _has_state(error, _UNABLE)


def is_cut_off(error: BaseException) -> bool:
    """Whether the connection is lost, so nothing else can be done with it."""
    if _sqlstate(error) is None:
        return isinstance(error, OperationalError | InterfaceError)
    return _has_state(error, _CUT_OFF)


def is_left_idle(error: BaseException) -> bool:
    """Whether the server ended the session because this process asked for nothing amid a transaction for too long."""
    return _has_state(error, _LEFT_IDLE)


def is_held_up(error: BaseException) -> bool:
    """Whether something that is needed was locked by others for too long. Nothing was done."""
    return _has_state(error, _HELD_UP)


@contextmanager
def unless_held_up() -> Iterator[None]:
    """Around a transaction that may be left undone where something that it needs was locked by others for too long."""
    try:
        yield
    except DatabaseError as error:
        if not is_held_up(error):
            raise


def is_environmental(error: BaseException) -> bool:
    """Whether the cause is probably not the work itself: no database, one of another version, a lock or a missing key.

    The work may still be the cause: a file that grows too large for one query, or a right that only this work needs.
    """
    known = is_outage(error) or is_not_set_up(error) or is_held_up(error)
    return known or isinstance(error, UnknownEncryptionKey)


def is_not_set_up(error: BaseException) -> bool:
    """Whether the database is too old, the role lacks a right, or the schema is of another version."""
    return isinstance(error, NotSupportedError) or _has_state(error, _NOT_SET_UP)


def is_stale_plan(error: BaseException) -> bool:
    """Whether a statement is not possible, which may be because it was prepared before the type of a column changed."""
    return _has_state(error, _NOT_SUPPORTED)


def _has_state(error: BaseException, states: tuple[str, ...]) -> bool:
    return (_sqlstate(error) or "").startswith(states)


def _sqlstate(error: BaseException) -> str | None:
    """The error's SQLSTATE. None also for an exception that is not a database error, whatever its cause."""
    return getattr(error.__cause__, "sqlstate", None) if isinstance(error, DatabaseError | InterfaceError) else None
