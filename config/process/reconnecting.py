"""Backoff for workers that lose their connection to Redis right after connecting."""

import time
from typing import Any

from celery import bootsteps

_SOON_SECONDS = 5.0  # not counting the pause before
_LONGEST_PAUSE_SECONDS = 10.0


class PauseBeforeConnecting(bootsteps.StartStopStep):
    """Makes a worker wait before it reconnects, longer each time, while connections are lost soon.

    A Redis that answers and refuses, as in a failover or for lack of a permission, would be retried at once and for
    ever, filling the log. For one that is away this is not needed: Celery itself waits for it.
    """

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._pause = 0.0
        self._began = float("-inf")

    def stop(self, parent: Any) -> None:
        """Called whenever a connection is lost, however far the worker got with it, and when the worker stops."""
        if parent.blueprint.state != bootsteps.RUN:  # type: ignore[attr-defined] # not in the stubs
            return
        lasted = time.monotonic() - self._began
        self._pause = 0.0 if lasted > _SOON_SECONDS else min(max(1.0, 2 * self._pause), _LONGEST_PAUSE_SECONDS)
        time.sleep(self._pause)
        self._began = time.monotonic()
