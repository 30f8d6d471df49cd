"""PostgreSQL and Redis from wheels, used if DATABASE_URL / REDIS_URL are not set.

Any process of the checkout may ask for them: the first one starts them, all others find them, and they stop some
seconds after the last process that used them has ended. No process has to sign off:

1. Who uses a server shares its users' lock, which the kernel drops when the process ends, however it ends.
2. The server's own processes hold the lock `running`. Whoever gets it may start the server, and hands it over.
3. A process beside the server (`main`) tries to take the users' lock for itself. Once it has had no user for the grace,
   which the last one has noted in the lock, it stops the server; and at once if the data or the lock are deleted. The
   next server waits for its end.
4. If that process is killed, the kernel asks the server to stop.
"""

import os
import subprocess
import sys
import time
from contextlib import closing
from functools import partial

from config import ROOT
from config.local import servers
from config.local.locks import FileLock
from config.local.processes import with_us
from config.local.servers import EmbeddedServerError, Server

START_SECONDS = 60.0  # creating the cluster takes one second, replaying its log after a crash may take longer
STOPPING_SECONDS = 30.0  # to stop in an orderly way
POLL_SECONDS = 0.02
TICK_SECONDS = 0.25
LOG_LINES_SHOWN = 15
SERVERS = {"postgresql": servers.postgresql, "redis": servers.redis}
_in_use: dict[str, tuple[Server, FileLock]] = {}


def database_url() -> str:
    """The URL of the checkout's PostgreSQL, which runs as long as this process lives."""
    return _use(servers.postgresql())


def redis_url() -> str:
    """The URL of the checkout's Redis, which runs as long as this process lives."""
    return _use(servers.redis())


def stop_unless_used(*, within: float) -> None:
    """Releases the servers and waits until they are gone, unless other processes still use them."""
    for _, lock in _in_use.values():
        lock.note("0")
        lock.close()
    deadline = time.monotonic() + within
    while any(_is_ending(server) for server, _ in _in_use.values()) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)
    _in_use.clear()


def _use(server: Server) -> str:
    if server.name not in _in_use:
        grace, lock = servers.grace(), FileLock.at(server.users)
        _in_use[server.name] = (server, lock)
        lock.share()
        lock.note(str(grace))
    deadline = time.monotonic() + START_SECONDS
    started = False
    while time.monotonic() < deadline:
        with closing(FileLock.at(server.running)) as running:
            if running.try_exclusive():
                if started:
                    said = "\n".join(server.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])
                    raise EmbeddedServerError(f"{server.name} did not start. The end of {server.log}:\n{said}")
                _start(server, running)
                started = True
        if server.answers(server.url):
            return server.url
        time.sleep(POLL_SECONDS)
    raise EmbeddedServerError(f"{server.name} does not answer at {server.url}; see {server.log}.")


def _is_ending(server: Server) -> bool:
    """Whether it runs though nobody uses it, or the process beside it has yet to exit."""
    with closing(FileLock.at(server.users)) as users, closing(FileLock.at(server.running)) as running:
        return not running.try_exclusive() if users.try_exclusive() else not users.try_share()


def _start(server: Server, running: FileLock) -> None:
    """Failures are in the log; they show in the lock being free again."""
    command = [sys.executable, "-m", "config.local.embedded", server.name, str(running.fd)]
    with open(server.log, "ab", opener=partial(os.open, mode=0o600)) as log:
        subprocess.run(
            command, check=False, cwd=ROOT, pass_fds=[running.fd], start_new_session=True,
            stdin=subprocess.DEVNULL, stdout=log, stderr=log,
        )  # fmt: skip


def main(name: str, running_fd: str) -> None:
    """Runs a server as long as it is used, in a process of its own that no terminal's Ctrl-C reaches."""
    if os.fork():
        os._exit(0)
    server, running = SERVERS[name](), FileLock(int(running_fd))
    users, tended = FileLock.at(server.users), FileLock.at(server.tended)
    tended.exclusive()
    server.prepare(server)
    command = [*server.user, *with_us(server.stop_signal), *server.program]
    process = subprocess.Popen(command, stdin=subprocess.DEVNULL, pass_fds=[running.fd])
    running.close()
    last_use = time.monotonic()
    while process.poll() is None and server.data.exists() and users.stands_at(server.users):
        if not users.try_exclusive():
            last_use = time.monotonic()
        elif time.monotonic() - last_use < float(users.noted()):
            users.release()
        else:
            break
        time.sleep(TICK_SECONDS)
    process.send_signal(server.stop_signal)
    try:
        process.wait(STOPPING_SECONDS)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
