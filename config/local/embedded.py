"""PostgreSQL and Redis from wheels, used if DATABASE_URL / REDIS_URL are not set.

Any process of the checkout may ask for them: the first one starts them, all others find them, and they stop some
seconds after the last process that used them has ended. No process has to sign off: "using" is a kernel lock, released
when the process ends. `config.local.keeper` describes the rest of the design.
"""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing, suppress

import psycopg
import redis

from config import ROOT
from config.local import servers
from config.local.locks import FileLock
from config.local.servers import EmbeddedServerError, Server

START_SECONDS = 60.0  # creating the cluster takes one second, replaying its log after a crash may take longer
POLL_SECONDS = 0.02
ANSWER_SECONDS = 2  # how long a server is waited for when it is asked whether it is up
LOG_LINES_SHOWN = 15
_in_use: dict[str, tuple[Server, FileLock]] = {}


def database_url() -> str:
    """The URL of the checkout's PostgreSQL, which runs as long as this process lives."""
    return _use(server=servers.postgresql(), answers=_postgresql_answers)


def redis_url() -> str:
    """The URL of the checkout's Redis, which runs as long as this process lives."""
    return _use(server=servers.redis(), answers=_redis_answers)


def stop_unless_used(*, within: float) -> None:
    """Releases the servers and waits until they and their keepers are gone, unless other processes still use them."""
    stopping = [server for server, lock in _in_use.values() if _give_up(server, lock)]
    _in_use.clear()
    deadline = time.monotonic() + within
    while any(_is_kept(server) or _is_left(server) for server in stopping) and time.monotonic() < deadline:
        time.sleep(POLL_SECONDS)


def _use(*, server: Server, answers: Callable[[str], bool]) -> str:
    if server.name not in _in_use:
        lock = FileLock.at(server.users)
        lock.share()
        _in_use[server.name] = (server, lock)
    _wait_for(server, answers)
    return server.url


def _wait_for(server: Server, answers: Callable[[str], bool]) -> None:
    """Waits until the server answers, starting a keeper if there is none."""
    deadline = time.monotonic() + START_SECONDS
    started = False
    while time.monotonic() < deadline:
        if _is_kept(server):
            if answers(server.url):
                return
            time.sleep(POLL_SECONDS)
        elif started:
            raise EmbeddedServerError(f"{server.name} did not start. The end of {server.log}:\n{_end_of_log(server)}")
        else:
            started = _start_keeper(server)
    raise EmbeddedServerError(f"{server.name} does not answer at {server.url}; see {server.log}.")


def _is_kept(server: Server) -> bool:
    with closing(FileLock.at(server.keeper)) as lock:
        return not lock.try_exclusive()


def _is_left(server: Server) -> bool:
    """Whether the keeper's process has yet to exit: it holds the users' lock exclusively to its last moment."""
    with closing(FileLock.at(server.users)) as users:
        return not users.try_share()


def _start_keeper(server: Server) -> bool:
    """Takes the keeper's lock and hands it to a new keeper; False if another process was first."""
    with closing(FileLock.at(server.keeper)) as lock, open(server.log, "ab", opener=_for_us_alone) as log:
        if not lock.try_exclusive():
            return False
        lock.note("")  # until the new keeper has noted itself
        command = [sys.executable, "-m", "config.local.keeper", server.name, str(lock.fd), str(servers.grace())]
        # Failures are in the log; they show in the lock being free again.
        subprocess.run(
            command, check=False, cwd=ROOT, pass_fds=[lock.fd], stdin=subprocess.DEVNULL, stdout=log, stderr=log
        )
        return True


def _for_us_alone(path: str, flags: int) -> int:
    return os.open(path, flags, mode=0o600)


def _give_up(server: Server, lock: FileLock) -> bool:
    """True if this process was the server's last user, so that the server will stop."""
    lock.close()
    with closing(FileLock.at(server.users)) as users:
        if not users.try_exclusive():
            return False
    _start_keeper(server)  # only if the last one was killed: what it left behind must be stopped
    with closing(FileLock.at(server.keeper)) as keeper, suppress(ProcessLookupError):
        while _is_kept(server) and not keeper.noted():
            time.sleep(POLL_SECONDS)  # this process was interrupted when it had just started one
        if keeper.noted():
            os.kill(keeper.holder(), signal.SIGTERM)
    return True


def _postgresql_answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=ANSWER_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True


def _redis_answers(url: str) -> bool:
    try:
        with redis.Redis.from_url(url, socket_timeout=ANSWER_SECONDS) as client:
            return bool(client.ping())
    except redis.RedisError:
        return False


def _end_of_log(server: Server) -> str:
    return "\n".join(server.log.read_text(errors="replace").splitlines()[-LOG_LINES_SHOWN:])
