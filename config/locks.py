"""Kernel locks on files: the kernel drops them when a process ends, however it ends, so they never go stale."""

import fcntl
import os
from pathlib import Path
from typing import Self

_WIDTH = 300  # bytes of a note, padded


class FileLock:
    """One open handle on a lock file; a child that inherits the handle holds the same lock."""

    def __init__(self, fd: int) -> None:
        self.fd = fd

    @classmethod
    def at(cls, path: Path) -> Self:
        return cls(os.open(path, os.O_RDWR | os.O_CREAT, 0o600))

    def share(self) -> None:
        """Hold it together with others, waiting for whoever has it alone."""
        fcntl.flock(self.fd, fcntl.LOCK_SH)

    def try_share(self) -> bool:
        """Hold it together with others if nobody has it alone now."""
        return self._try(fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Hold it alone if nobody else holds it now."""
        return self._try(fcntl.LOCK_EX)

    def _try(self, kind: int) -> bool:
        try:
            fcntl.flock(self.fd, kind | fcntl.LOCK_NB)
        except BlockingIOError:
            return False
        return True

    def release(self) -> None:
        fcntl.flock(self.fd, fcntl.LOCK_UN)

    def close(self) -> None:
        """Let go of this handle; the lock lasts as long as a child has inherited it."""
        os.close(self.fd)

    def note_holder(self, pid: int) -> None:
        """Write down who is about to hold it, for whoever wants to send that process a signal."""
        self.note(str(pid))

    def holder(self) -> int:
        """The process that holds it; meaningful only while somebody does."""
        return int(self.noted())

    def note(self, text: str) -> None:
        """Write down what others should know of the holder.

        One write of a fixed length: who reads meanwhile finds the note before or this one.
        """
        os.pwrite(self.fd, text.ljust(_WIDTH).encode(), 0)

    def noted(self) -> str:
        """What the last holder wrote down."""
        return os.pread(self.fd, _WIDTH, 0).decode().rstrip()

    def stands_at(self, path: Path) -> bool:
        """Whether this handle is still the file that others would open there."""
        return path.exists() and os.path.samestat(os.fstat(self.fd), path.stat())
