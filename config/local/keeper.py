"""A separate process that keeps one embedded server running while it is used, and stops it afterwards.

`embedded` starts it, detached, and hands over the keeper's lock: there is one keeper per server and checkout.

1. Every process that uses the server shares the users' lock. The keeper tries to take it exclusively every tick; if
   that succeeds, the server is unused.
2. A server that is unused for some seconds is stopped. The keeper holds the users' lock meanwhile, so a process that
   needs the server now waits, finds no keeper and starts the next one.
3. The server's processes inherit a lock too. It shows that they are running, even if the previous keeper was killed
   and left them behind; this keeper then takes them over. A server that died is started again.
4. If the data or the lock files are deleted, the keeper stops the server and exits.
"""

import os
import signal
import subprocess
import sys
import time
from contextlib import suppress

from config.local import servers
from config.local.locks import FileLock
from config.local.servers import Server

TICK_SECONDS = 0.25
SHORT_LIFE_SECONDS = 5.0
SHORT_LIVES = 3  # in a row: a server that dies so often would die again
STOPPING_SECONDS = 30.0  # to stop in an orderly way
SERVERS = {"postgresql": servers.postgresql, "redis": servers.redis}


class Keeper:
    def __init__(self, *, server: Server, lock: FileLock, grace: float) -> None:
        self.server = server
        self.lock = lock
        self.users = FileLock.at(server.users)
        self.running = FileLock.at(server.running)
        self.process: subprocess.Popen[bytes] | None = None  # None also if the previous keeper started it
        self.started = -SHORT_LIFE_SECONDS
        self.short_lives = 0
        self.grace = grace

    def keep(self) -> None:
        """Returns when the server has been stopped."""
        last_use = time.monotonic()
        while True:
            self._ensure_running()
            time.sleep(TICK_SECONDS)
            if not self._is_in_place():
                break
            if not self.users.try_exclusive():
                last_use = time.monotonic()
            elif time.monotonic() - last_use < self.grace:
                self.users.release()
            else:
                break
        self._stop()
        self.lock.close()  # before the users' lock, which is released on exit

    def hurry(self) -> None:
        """Stops as soon as no process uses the server."""
        self.grace = 0

    def _is_in_place(self) -> bool:
        server = self.server
        return self.lock.stands_at(server.keeper) and self.running.stands_at(server.running) and server.data.exists()

    def _ensure_running(self) -> None:
        if not self.running.try_exclusive():
            return
        self.short_lives = self.short_lives + 1 if time.monotonic() - self.started < SHORT_LIFE_SECONDS else 0
        if self.short_lives == SHORT_LIVES:
            raise SystemExit(f"{self.server.name} ends right after its start")
        self._reap()
        self.server.prepare(self.server)
        self.started = time.monotonic()
        self.process = subprocess.Popen(
            self.server.command,
            stdin=subprocess.DEVNULL,
            pass_fds=[self.running.fd],
            preexec_fn=self._note_the_server,  # noqa: PLW1509 - there are no threads
        )
        self.running.close()
        self.running = FileLock.at(self.server.running)

    def _note_the_server(self) -> None:
        """Runs in the server's process. If the keeper is killed from now on, the next one knows what to stop."""
        self.running.note_holder(os.getpid())

    def _stop(self) -> None:
        for request in (self.server.stop_signal, signal.SIGKILL):
            with suppress(ProcessLookupError):  # it is gone, but its children are still ending
                os.kill(self.running.holder(), request)
            if self._ends(within=STOPPING_SECONDS):
                break
        self._reap()

    def _reap(self) -> None:
        """Leaves no zombie: in a container there may be no other process to reap it."""
        if self.process is not None:
            self.process.wait()

    def _ends(self, *, within: float) -> bool:
        deadline = time.monotonic() + within
        while time.monotonic() < deadline:
            if self.running.try_exclusive():
                return True
            time.sleep(0.02)
        return False


def main(name: str, lock_fd: str, grace: str) -> None:
    keeper = Keeper(server=SERVERS[name](), lock=FileLock(int(lock_fd)), grace=float(grace))
    signal.signal(signal.SIGTERM, lambda *_: keeper.hurry())
    _detach(keeper.lock)
    keeper.keep()


def _detach(lock: FileLock) -> None:
    """Continues as an orphaned process in its own session, which no terminal's Ctrl-C reaches."""
    if os.fork():
        os._exit(0)
    lock.note_holder(os.getpid())  # not by the parent: a signal that comes before the fork has ended here is lost
    os.setsid()


if __name__ == "__main__":
    main(*sys.argv[1:])
