"""Which errors say that the database is away."""

import psycopg
from django.db import (
    DataError,
    IntegrityError,
    InterfaceError,
    InternalError,
    NotSupportedError,
    OperationalError,
    ProgrammingError,
)
from psycopg import errors

from engage.database.outages import is_cut_off, is_environmental, is_held_up, is_not_set_up, is_outage
from engage.http.envelope import as_refusal
from tests.support.cases import each


def raised(error: Exception, cause: Exception | None) -> Exception:
    """As Django raises it."""
    error.__cause__ = cause
    return error


@each(
    "error",
    [
        raised(OperationalError(), psycopg.OperationalError("server closed the connection unexpectedly")),
        raised(OperationalError(), errors.AdminShutdown()),
        raised(OperationalError(), errors.CannotConnectNow()),
        raised(OperationalError(), errors.ConnectionFailure()),
        raised(InterfaceError("connection already closed"), None),
        raised(InternalError(), errors.IdleInTransactionSessionTimeout()),
    ],
)
def test_it_is_away_and_the_connection_with_it(error: Exception) -> None:
    assert is_cut_off(error)
    assert is_outage(error)
    assert is_environmental(error)


@each(
    "error",
    [
        raised(OperationalError(), errors.TooManyConnections()),
        raised(OperationalError(), errors.DiskFull()),
        raised(OperationalError(), errors.IoError()),
        raised(InternalError(), errors.ReadOnlySqlTransaction()),
    ],
)
def test_it_is_there_and_cannot_work(error: Exception) -> None:
    assert not is_cut_off(error)
    assert is_outage(error)
    assert is_environmental(error)


@each(
    "error",
    [
        raised(ProgrammingError(), errors.InsufficientPrivilege()),
        raised(ProgrammingError(), errors.UndefinedTable()),
        raised(ProgrammingError(), errors.UndefinedColumn()),
        NotSupportedError("PostgreSQL 16 or later is required (found 15.14)."),
    ],
)
def test_it_is_there_and_not_set_up(error: Exception) -> None:
    assert not is_outage(error)
    assert is_not_set_up(error)
    assert is_environmental(error)


def test_it_is_there_and_others_hold_a_lock() -> None:
    error = raised(OperationalError(), errors.LockNotAvailable())
    assert is_held_up(error)
    assert not is_outage(error)
    assert is_environmental(error)


@each(
    "error",
    [
        raised(OperationalError(), errors.DeadlockDetected()),
        raised(OperationalError(), errors.QueryCanceled()),
        raised(OperationalError(), errors.ProgramLimitExceeded()),
        raised(InternalError(), errors.InFailedSqlTransaction()),
        raised(IntegrityError(), errors.UniqueViolation()),
        raised(DataError(), None),
        raised(ValueError(), errors.DiskFull()),
        ValueError(),
    ],
)
def test_it_is_there(error: Exception) -> None:
    assert not is_outage(error)
    assert not is_environmental(error)


@each(
    "error, message",
    [
        (raised(InternalError(), errors.ReadOnlySqlTransaction()), "The database cannot be reached at the moment."),
        (raised(OperationalError(), errors.QueryCanceled()), "The database could not finish the call."),
        (raised(OperationalError(), errors.LockNotAvailable()), "Something that the call needs was locked"),
        (raised(ProgrammingError(), errors.InsufficientPrivilege()), "The database is not set up for this version"),
        (raised(ProgrammingError(), errors.UndefinedColumn()), "The database is not set up for this version"),
        (NotSupportedError("PostgreSQL 16 or later is required"), "The database is not set up for this version"),
    ],
)
def test_a_caller_is_told_what_is_known(error: Exception, message: str) -> None:
    refusal = as_refusal(error)
    assert (refusal.status, refusal.message.startswith(message)) == (503, True)


def test_a_caller_in_a_deadlock_is_told_to_try_again() -> None:
    refusal = as_refusal(raised(OperationalError(), errors.DeadlockDetected()))
    assert (refusal.status, refusal.headers) == (503, {"Retry-After": "1"})
    assert refusal.message == "Another call was changing the same things at this moment. Nothing was done; try again."
