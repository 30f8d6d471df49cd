"""Workers that lose their connection to Redis as soon as they have it."""

import time
from typing import Any

from celery import bootsteps

_SOON = 5.0  # seconds, beside the pause before
_LONGEST = 10.0


class PauseBeforeConnecting(bootsteps.StartStopStep):
    """Makes a worker wait before it connects again, ever longer, while each connection is lost soon.

    A Redis that answers and refuses, as in a failover or for want of a right, would be asked again at once and for
    ever, and each time fill the log. One that is away is another matter: Celery waits for it by itself.
    """

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._pause = 0.0
        self._began = float("-inf")

    def stop(self, parent: Any) -> None:
        """Called whenever a connection is lost, however far the worker has come with it; and at the worker's end."""
        if parent.blueprint.state != bootsteps.RUN:  # type: ignore[attr-defined] # not in the stubs
            return
        lasted = time.monotonic() - self._began
        self._pause = 0.0 if lasted > _SOON else min(max(1.0, 2 * self._pause), _LONGEST)
        time.sleep(self._pause)
        self._began = time.monotonic()
