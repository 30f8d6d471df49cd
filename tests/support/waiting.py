"""Waiting for what other processes and threads do."""

import time
from collections.abc import Callable

_POLL_SECONDS = 0.02


def wait_until(holds: Callable[[], bool], *, what: str = "it to hold", seconds: float = 60.0) -> None:
    """Waits until the condition holds. Raises TimeoutError, which names `what`, if it does not within `seconds`."""
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            raise TimeoutError(f"Waited {seconds:g} s for {what}.")
        time.sleep(_POLL_SECONDS)
