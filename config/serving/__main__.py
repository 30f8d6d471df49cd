"""The main process of the web server: `python -m config.serving`.

It binds the socket, on which the first process that can serve listens, and says so once that is done: who comes before
that is refused at once. Where another server has the address, it takes over that one's socket, and who comes is served
by either. It keeps WEB_WORKERS processes serving and never gives up on them: one that ends is replaced.
SIGTERM and SIGINT stop all, SIGHUP replaces all, one after the other, by processes with the code of now.
"""

import signal
import socket
import sys
import time
from collections.abc import Sequence
from threading import Event

from django.core.exceptions import ImproperlyConfigured

from config.serving.children import Child
from config.serving.handover import Handover, listening
from config.serving.options import options

APPLICATION = "config.wsgi:application"
_LOOK_SECONDS = 0.2
_PAUSE_SECONDS = 1.0  # before the next try where one process after the other ends
_SETTLED_SECONDS = 5.0  # a process that ends later than this after its start is replaced at once


class Supervisor:
    """Keeps a number of processes serving."""

    def __init__(self, application: str, listener: socket.socket, *, workers: int) -> None:
        self._application, self._listener, self._workers = application, listener, workers
        self._handover = Handover(listener)
        self._signalled, self._stops, self._renews = Event(), False, False
        self._serving: dict[Child, float] = {}  # and when each was started
        self._leaving: list[Child] = []
        self._was_ready = False
        self._not_before = 0.0

    def listen(self) -> None:
        """To the signals."""
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, self._stop)
        signal.signal(signal.SIGHUP, self._renew)

    def _stop(self, *_: object) -> None:
        self._stops = True
        self._signalled.set()

    def _renew(self, *_: object) -> None:
        self._renews = True
        self._signalled.set()

    def run(self) -> int:
        """Returns the exit code: 0 if a signal asked it to stop, 1 if no process has ever been able to serve."""
        while not self._stops:
            self._fill()
            self._wait()
            if not self._look():
                break
            if self._renews:
                self._renews = False
                self._replace_all()
        code = 0 if self._stops else 1
        self._stop_all()
        return code

    def _wait(self) -> None:
        self._signalled.wait(_LOOK_SECONDS)
        self._signalled.clear()
        self._handover.look()

    def _fill(self) -> None:
        if time.monotonic() >= self._not_before:
            while len(self._serving) < self._workers:
                self._start()

    def _start(self) -> Child:
        child = Child(self._application, self._listener)
        self._serving[child] = time.monotonic()
        return child

    def _look(self) -> bool:
        """Notes who has ended; whether it makes sense to go on."""
        if not self._was_ready and any(child.serves for child in self._serving):
            self._was_ready = True
            _say("serving")
        now = time.monotonic()
        for child, started in list(self._serving.items()):
            if child.ended is None:
                continue
            del self._serving[child]
            child.forget()
            if not self._was_ready:
                return False  # it has said why
            _say(f"process {child.pid} ended (exit code {child.ended}); another one is started")
            if now - started < _SETTLED_SECONDS:
                self._not_before = now + _PAUSE_SECONDS
        self._look_after_the_leaving()
        return True

    def _look_after_the_leaving(self) -> None:
        for child in list(self._leaving):
            child.kill_if_late()
            if child.ended is not None:
                self._leaving.remove(child)
                child.forget()

    def _replace_all(self) -> None:
        """One after the other; where a new one cannot serve, the old ones stay."""
        for old in list(self._serving):
            new = self._start()
            while new.ended is None and not new.serves and not self._stops:
                self._wait()
                self._look_after_the_leaving()
            if self._stops:
                return
            if not new.serves:
                del self._serving[new]
                new.forget()
                _say("the new process cannot serve, so the old ones stay")
                return
            if old in self._serving:
                del self._serving[old]
                old.stop()
                self._leaving.append(old)

    def _stop_all(self) -> None:
        self._handover.end()
        self._listener.close()
        self._leaving += self._serving
        self._serving.clear()
        for child in self._leaving:
            child.stop()
        while self._leaving:
            self._look_after_the_leaving()
            time.sleep(_LOOK_SECONDS / 4)


def main(arguments: Sequence[str]) -> int:
    """The exit code."""
    try:
        chosen = options()
        listener = listening(chosen.host, chosen.port)
    except ImproperlyConfigured as error:
        sys.stderr.write(f"{error}\n")
        return 1
    except OSError as error:
        sys.stderr.write(f"{chosen.host}:{chosen.port} cannot be listened to: {error.strerror}.\n")
        return 1
    supervisor = Supervisor(arguments[0] if arguments else APPLICATION, listener, workers=chosen.workers)
    supervisor.listen()
    return supervisor.run()


def _say(text: str) -> None:
    sys.stderr.write(f"web: {text}\n")
    sys.stderr.flush()


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
