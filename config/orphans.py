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
    parent, before = parent_process(), signal.getsignal(signal.SIGTERM)
    if parent is not None and parent.pid is not None:
        Thread(target=_outlive_nobody, args=[parent.pid, before], name="orphans", daemon=True).start()


def _outlive_nobody(parent: int, before: object) -> None:
    """Asks once: the web server's processes never end if they are asked again while they finish what is in flight.

    So it waits until the signal has the handler of a process that serves, and no longer the one from `before`.
    """
    while os.getppid() == parent or signal.getsignal(signal.SIGTERM) == before:
        time.sleep(_SECONDS_BETWEEN_LOOKS)
    os.kill(os.getpid(), signal.SIGTERM)
