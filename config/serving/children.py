"""The processes that serve: started, watched and stopped by the main process."""

import os
import select
import socket
import subprocess
import sys
import time
from contextlib import suppress

STOP_SECONDS = 10.0  # until a process that was asked to stop is killed


class Child:
    """One of them."""

    def __init__(self, application: str, listener: socket.socket) -> None:
        self._ready, said = os.pipe()
        try:
            numbers = (listener.fileno(), said, os.getpid())
            self._process = subprocess.Popen(
                [sys.executable, "-m", "config.serving.worker", application, *map(str, numbers)],
                pass_fds=(listener.fileno(), said),
                stdin=subprocess.DEVNULL,
            )
        finally:
            os.close(said)
        self._serves: bool | None = None
        self._stop_until: float | None = None

    @property
    def pid(self) -> int:
        return self._process.pid

    @property
    def ended(self) -> int | None:
        """Its exit code, once it has ended."""
        return self._process.poll()

    @property
    def serves(self) -> bool:
        """Whether it has ever been ready."""
        if self._serves is None and select.select([self._ready], [], [], 0)[0]:
            self._serves = os.read(self._ready, 1) != b""
        return bool(self._serves)

    def stop(self) -> None:
        """Asks it to finish what it has in flight."""
        if self._stop_until is None:
            self._stop_until = time.monotonic() + STOP_SECONDS
            with suppress(ProcessLookupError):
                self._process.terminate()

    def kill_if_late(self) -> None:
        if self._stop_until is not None and time.monotonic() > self._stop_until:
            self._process.kill()

    def forget(self) -> None:
        """After its end."""
        os.close(self._ready)
