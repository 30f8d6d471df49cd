"""What may be done a moment later, in a thread of its own, so that nobody waits for it."""

import os
import threading
import time
from collections.abc import Callable
from multiprocessing.util import Finalize
from typing import Generic, TypeVar

import structlog

log = structlog.get_logger(__name__)
Order = TypeVar("Order")


class BackgroundCall(Generic[Order]):
    """A call of a function in the background. One run of it serves everybody who has asked since the run before.

    `run` is given the order of the first of them. It begins at once where the last one was over `rest_seconds` ago,
    else when they have passed: however often it is asked for, it costs little. A process that is killed may take its
    latest orders along; so a background call is only for what is made up for elsewhere.
    """

    def __init__(self, run: Callable[[Order], None], *, rest_seconds: float) -> None:
        self._run, self._rest_seconds = run, rest_seconds
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)
        # The web server's processes are of the multiprocessing module, which calls nothing of atexit at their end.
        Finalize(None, self.run_now, exitpriority=1)

    def _begin_anew(self) -> None:
        """A forked process has no thread yet, and leaves to its parent what was asked of that."""
        self._lock, self._running = threading.Lock(), threading.Lock()
        self._order: Order | None = None
        self._something = threading.Event()
        self._runner: threading.Thread | None = None

    def ask(self, order: Order) -> None:
        """Has the function run soon. Never waits, never raises."""
        with self._lock:
            if self._order is not None or not self._has_runner():
                return
            self._order = order
        self._something.set()

    def _has_runner(self) -> bool:
        """Whether there is a thread for it; where none can be made, the next who asks tries again."""
        if self._runner is None:
            runner = threading.Thread(target=self._run_now_and_then, name="background", daemon=True)
            try:
                runner.start()
            except RuntimeError:
                log.exception("background_call_without_thread")
                return False
            self._runner = runner
        return True

    def run_now(self) -> None:
        """Runs it in this thread, if it was asked for; when this comes back, no earlier order is left."""
        with self._running:
            with self._lock:
                order, self._order = self._order, None
            if order is not None:
                self._run(order)

    def _run_now_and_then(self) -> None:
        while self._something.wait():
            self._something.clear()
            try:
                self.run_now()
            except Exception:
                log.exception("background_call_failed")
            time.sleep(self._rest_seconds)
