"""A web process ends with the server that started it."""

import os
import signal
import time
from multiprocessing import parent_process
from threading import Thread

_SECONDS_BETWEEN_LOOKS = 1.0


def end_when_orphaned() -> None:
    """Makes this process end, as if it had been asked to, once the process that started it is gone.

    The web server's processes would otherwise outlive a server that was killed, and share its port with the next one:
    half of the calls would still be answered by the old code, with the old settings.
    """
    parent = parent_process()
    if parent is not None and parent.pid is not None:
        Thread(target=_outlive_nobody, args=[parent.pid], name="orphans", daemon=True).start()


def _outlive_nobody(parent: int) -> None:
    while True:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
        if os.getppid() != parent:  # asks again and again: a process that is still starting does not listen
            os.kill(os.getpid(), signal.SIGTERM)
