"""Work that is done a moment later in its own thread, so that the caller does not wait for it."""

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
    """Calls a function in the background. One run serves all `ask` calls since the previous run.

    `run` receives the order of the first of them. It begins at once if the previous run ended at least `rest_seconds`
    ago, otherwise as soon as they have passed, so it costs little however often it is asked for. A killed process may
    lose its latest orders, so use this only for work that is made up for elsewhere.
    """

    def __init__(self, run: Callable[[Order], None], *, rest_seconds: float) -> None:
        self._run, self._rest_seconds = run, rest_seconds
        self._begin_anew()
        os.register_at_fork(after_in_child=self._begin_anew)
        # Unlike atexit, also in processes of the multiprocessing module, as those of some servers are.
        Finalize(None, self.run_now, exitpriority=1)

    def _begin_anew(self) -> None:
        """Resets the state: a forked process has no thread yet, and its parent serves the parent's order."""
        self._lock, self._running = threading.Lock(), threading.Lock()
        self._order: Order | None = None
        self._something = threading.Event()
        self._runner: threading.Thread | None = None

    def ask(self, order: Order) -> None:
        """Schedules a run soon. Never waits, never raises."""
        with self._lock:
            if self._order is not None or not self._has_runner():
                return
            self._order = order
        self._something.set()

    def _has_runner(self) -> bool:
        """Whether the thread is there; starts it if not. If that fails, the next `ask` tries again."""
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
        """Runs a pending order in this thread. When this returns, no earlier order is left."""
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
