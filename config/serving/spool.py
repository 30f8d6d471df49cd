"""A long answer on its way from the thread that makes it to a caller who may read slowly, through a file.

So the thread and its database connection are free as soon as the answer is made, and memory stays flat.
"""

import os
import tempfile
from collections.abc import Callable
from threading import Lock

PIECE = 64 * 1024  # bytes that are sent at once; each must be taken by the caller within the deadline


class ReaderGone(Exception):
    """Nobody wants the rest of the answer."""


class Spool:
    """Written by one thread and read by the loop. Both have to leave it."""

    def __init__(self, tell: Callable[[], None]) -> None:
        """`tell` is called by the writing thread when there is something new, at most once until the next `read`."""
        self._file = tempfile.TemporaryFile(buffering=0)  # noqa: SIM115 - closed by whoever leaves last
        self._lock, self._users = Lock(), 2
        self._tell, self._told = tell, False
        self._written = self._read = 0
        self.is_complete = self.has_failed = False

    def write(self, data: bytes) -> None:
        """Raises ReaderGone if the loop has left, OSError if there is no room."""
        if self._users < 2:  # noqa: PLR2004 - the two
            raise ReaderGone
        view = memoryview(data)
        while view:
            view = view[self._file.write(view) :]
        self._written += len(data)
        self._say()

    def end(self, *, failed: bool) -> None:
        """Nothing more will be written; where it failed, what was written is not the whole answer."""
        self.has_failed, self.is_complete = failed, True
        self._told = False
        self._say()
        self.leave()

    def _say(self) -> None:
        if not self._told:
            self._told = True
            self._tell()

    def read(self) -> bytes:
        """The next piece; empty if there is none yet, or none any more."""
        self._told = False
        piece = os.pread(self._file.fileno(), PIECE, self._read) if self._read < self._written else b""
        self._read += len(piece)
        return piece

    def leave(self) -> None:
        with self._lock:
            self._users -= 1
            if not self._users:
                self._file.close()
