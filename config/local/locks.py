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
        """Takes it shared, waiting while another process holds it exclusively."""
        fcntl.flock(self.fd, fcntl.LOCK_SH)

    def exclusive(self) -> None:
        """Takes it exclusively, waiting while another process holds it."""
        fcntl.flock(self.fd, fcntl.LOCK_EX)

    def try_share(self) -> bool:
        """Takes it shared unless another process holds it exclusively."""
        return self._try(fcntl.LOCK_SH)

    def try_exclusive(self) -> bool:
        """Takes it exclusively unless another process holds it."""
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
        """Closes this handle; the lock lasts while a child that inherited it lives."""
        os.close(self.fd)

    def note(self, text: str) -> None:
        """Records what others should know about the holder.

        This is one write of a fixed length: a concurrent reader sees either the previous note or this one.
        """
        os.pwrite(self.fd, text.ljust(_WIDTH).encode(), 0)

    def noted(self) -> str:
        """The last holder's note."""
        return os.pread(self.fd, _WIDTH, 0).decode().rstrip()

    def stands_at(self, path: Path) -> bool:
        """Whether this handle is still the file that others would open there."""
        return path.exists() and os.path.samestat(os.fstat(self.fd), path.stat())
