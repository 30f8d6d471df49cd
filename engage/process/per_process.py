"""What a process makes for itself once it needs it, because its threads and connections would not survive a fork."""

import os
from collections.abc import Callable
from multiprocessing.util import Finalize
from threading import Lock
from typing import Generic, TypeVar

Made = TypeVar("Made")


class PerProcess(Generic[Made]):
    """Made at first use, in a forked child anew, and closed when the process ends."""

    def __init__(self, make: Callable[[], Made], *, close: Callable[[Made], object]) -> None:
        self._make, self._close = make, close
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)

    def _begin_anew(self) -> None:
        self._lock = Lock()
        self._made: Made | None = None

    def get(self) -> Made:
        with self._lock:
            if self._made is None:
                self._made = self._make()
                # Unlike atexit, also in processes of the multiprocessing module, as those of some servers are.
                Finalize(None, self.close, exitpriority=0)
            return self._made

    def close(self) -> None:
        """Also to be called where a process ends without running Python's exit handlers."""
        with self._lock:
            made, self._made = self._made, None
        if made is not None:
            self._close(made)
