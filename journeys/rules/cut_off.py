"""What a lost connection leaves unrecorded: an attempt that it ended is given back once the database answers again."""

from collections import deque
from collections.abc import Callable
from contextlib import suppress

from django.db import DatabaseError, InterfaceError, connection

_unrecorded: deque[Callable[[], None]] = deque()


def record_after_cut(record: Callable[[], None]) -> None:
    """Records with a new connection; if there is none to be had, before this process claims its next work.

    Only if the process ends before that does the attempt count, as if it had ended in the middle of it.
    """
    _unrecorded.append(record)
    connection.close_if_unusable_or_obsolete()
    with suppress(DatabaseError, InterfaceError):
        flush_pending()


def flush_pending() -> None:
    """To be called before work is claimed. While the database is away, it raises the error and keeps what is left."""
    while _unrecorded:
        _unrecorded[0]()
        _unrecorded.popleft()
