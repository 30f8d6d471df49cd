"""How long a statement of this process may take: the web server's are limited, those of workers and commands are not.

A pooler's sessions are lent to others, so nothing is set in them: there, a statement's silence is limited instead.
What is large by its nature has a limit of its own, for the whole of a transaction (`large_work`).
"""

import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from threading import Lock

from django.db import DatabaseError, connection

from engage.database.sql import Statement
from engage.errors import Refusal

_LONGER_SECONDS = 600.0
_LARGE_SECONDS = 300.0
_in_one_thread = Lock()
_ALLOW_LARGE = Statement("SELECT set_config('statement_timeout', {limit}, true)")  # until the transaction ends
_LIMIT = Statement("SELECT current_setting('statement_timeout'), set_config('statement_timeout', {limit}, true)")
_CHECK_ALL_NOW = Statement("SET CONSTRAINTS ALL IMMEDIATE")


class LargeWorkInProgress(Refusal):
    """This process does other work whose size only the data bound: on a customer with very many records, or for all of
    a large segment.
    """

    status = 503
    error = "Service unavailable"
    code = "large_work_in_progress"
    says = "Other work on very many customers or records is going on. Nothing was done; try again."
    sends = {"Retry-After": "30"}


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


@contextmanager
def limited_statements(seconds: float) -> Iterator[None]:
    """Within it, each statement of this transaction may take so long. For what tenants have written, in workers."""
    ((before, _),) = _LIMIT.rows(limit=f"{seconds * 1000:.0f}ms")
    yield
    _LIMIT.rows(limit=before)  # what has raised has ended the transaction


@contextmanager
def in_one_thread() -> Iterator[None]:
    """Within it is the one thread of the process that does large work. Raises LargeWorkInProgress if another does."""
    if not _in_one_thread.acquire(blocking=False):
        raise LargeWorkInProgress
    try:
        yield
    finally:
        _in_one_thread.release()


@contextmanager
def large_work() -> Iterator[None]:
    """Within it, statements may take five minutes together; in one thread of the process, or large calls use up all.

    Must run inside a transaction, of which it checks the deferred constraints, too. A pooler's silence may last as
    long: no more than one thread waits for it. Raises LargeWorkInProgress.
    """
    with in_one_thread():
        _ALLOW_LARGE.execute(limit=f"{_LARGE_SECONDS * 1000:.0f}ms")
        with connection.connection.ending_at(time.monotonic() + _LARGE_SECONDS):
            yield
            _CHECK_ALL_NOW.execute()


def _limit(seconds: float) -> None:
    with connection.cursor() as cursor:
        if not getattr(connection.connection, "behind_pooler", False):
            cursor.execute("SELECT set_config('statement_timeout', %s, false)", [f"{seconds * 1000:.0f}ms"])
