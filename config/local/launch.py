"""`make run`: starts the whole service from nothing, step by step, and stops it on Ctrl-C."""

import errno
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http import HTTPStatus
from http.client import HTTPConnection, HTTPException
from ipaddress import ip_address
from pathlib import Path
from typing import NoReturn

import redis

from config import ROOT
from config.local import embedded
from config.local.demo import RECEIVER_HOST, read_demo
from config.local.first_screen import Address, first_screen
from config.local.locks import FileLock
from config.local.processes import ProcessEnded, Processes, listening_workers, workers
from config.local.servers import ANSWER_SECONDS, EmbeddedServerError, data_folder, grace, launcher_lock

IDLE_SECONDS = 120.0  # for which the processes may do nothing before all of them are up
TOLD_SECONDS = 15.0  # between two words of what is waited for
STOP_SECONDS = 10.0  # for the processes, and again for the servers
ENDINGS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
PROCFILE = ROOT / "Procfile"
NO_ADVICE = "ignore:You're running the worker with superuser"  # Celery's; in a container, running as root is deliberate
ANY_ADDRESS = {"0.0.0.0": "127.0.0.1", "::": "::1"}  # noqa: S104 - what the user asked for
RECEIVER = {"receiver": "python -m config.local.receiver"}
PORTS_TRIED = 100
HOST_WANTED = "HOST must be an IP address of this machine"


class Stopped(BaseException):
    """A signal asked this process to stop."""


class LaunchError(Exception):
    """The service cannot start."""


def main() -> int:
    """Returns the exit code: 0 if a signal asked it to stop, 1 if the start failed or a process ended."""
    for number in ENDINGS:
        if number != signal.SIGHUP or signal.getsignal(number) != signal.SIG_IGN:  # nohup wants it ignored
            signal.signal(number, _raise_stopped)
    try:
        _launch(host=os.environ.get("HOST") or "127.0.0.1", port=os.environ.get("PORT") or "8000")
    except Stopped:
        return 0
    except (LaunchError, ProcessEnded, EmbeddedServerError) as error:
        _say(f"\n{error}\n")
        return 1
    finally:
        _ignore_signals()
        embedded.stop_unless_used(within=STOP_SECONDS)


def _launch(*, host: str, port: str) -> NoReturn:
    _refuse_production()
    address = _address(host, port)
    grace()  # a server in use could be neither started nor given up with a grace that is refused
    _lock_data(address)
    _refuse_a_busy_port(host, address.port)
    os.environ["DEMO_RECEIVER_PORT"] = str(_free_port_above(address.port))
    redis_url = _ensure_servers()
    _prepare_database()
    demo = read_demo()
    if demo is None:
        raise LaunchError("The demo's notes have vanished.")
    processes = Processes()
    try:
        with _stopping_put_off():
            processes.start(procfile=PROCFILE, environment=_environment(host, port), extra=RECEIVER)
        _wait_until(lambda: _is_ready(address), processes, what="the web server")
        _wait_until(lambda: _workers_wait(redis_url), processes, what="the workers")
        _say(first_screen(address=address, demo=demo))
        while True:
            processes.check()
            time.sleep(0.2)
    finally:
        _ignore_signals()
        _say("Stopping ...")
        processes.stop(within=STOP_SECONDS)


def _refuse_production() -> None:
    """A given database may be a real one, and the settings assume so: then development must be explicit."""
    if os.environ.get("DATABASE_URL") and not os.environ.get("ENVIRONMENT"):
        raise LaunchError(
            "DATABASE_URL is set, and make run would migrate that database and make a demo and an administrator in it. "
            "Where that is meant, say so: ENVIRONMENT=development make run"
        )
    if os.environ.setdefault("ENVIRONMENT", "development") != "development":
        raise LaunchError("make run is for development: it makes a demo. In production, run the Procfile's processes.")


def _address(host: str, port: str) -> Address:
    if not port.isdecimal() or not 0 < int(port) < 2**16:
        raise LaunchError(f"PORT must be a number from 1 to 65535, not {port!r}.")
    try:
        ip_address(host)  # the web server looks up no names
    except ValueError:
        raise LaunchError(f"{HOST_WANTED}, not {host!r}.") from None
    return Address(host=ANY_ADDRESS.get(host, host), port=int(port))


def _lock_data(address: Address) -> None:
    """Held until this process ends: two on the same data would send each other's tour to their own receiver."""
    lock = FileLock.at(launcher_lock())
    if not lock.try_exclusive():
        raise LaunchError(
            f"make run is running already, at {lock.noted()}, with the data in {data_folder()}. "
            "Use that one or stop it, or give this one data of its own: EMBEDDED_DATA=... make run"
        )
    lock.note(address.url)


def _refuse_a_busy_port(host: str, port: int) -> None:
    try:
        _bind(host, port)
    except OSError as error:
        if isinstance(error, socket.gaierror) or error.errno == errno.EADDRNOTAVAIL:
            raise LaunchError(f"{HOST_WANTED}, not {host!r} ({error}).") from error
        free = _free_port_above(port, host=host)
        raise LaunchError(f"{host}:{port} is not free ({error}). Choose another: PORT={free} make run") from error


def _free_port_above(port: int, *, host: str = RECEIVER_HOST) -> int:
    """Usually the next port, so the address of the demo's receiver stays the same across starts."""
    last = min(port + PORTS_TRIED, 2**16 - 1)
    for candidate in range(port + 1, last + 1):
        try:
            _bind(host, candidate)
        except OSError:
            continue
        return candidate
    raise LaunchError(f"No port of {host} above {port} is free; those up to {last} were tried.")


def _bind(host: str, port: int) -> None:
    """Raises OSError if a server could not bind there."""
    family, kind, _, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    with socket.socket(family, kind) as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        probe.bind(where)


def _ensure_servers() -> str:
    """Returns Redis's URL. Both servers run from here on until this process releases them."""
    if not os.environ.get("DATABASE_URL"):
        _say("Starting PostgreSQL ...")
        embedded.database_url()
    if not os.environ.get("REDIS_URL"):
        _say("Starting Redis ...")
    return os.environ.get("REDIS_URL") or embedded.redis_url()


def _prepare_database() -> None:
    """Runs in a separate process, so that this one need not load Django."""
    _say("Preparing the database ...")
    command = [sys.executable, "manage.py", "prepare"]
    preparing: subprocess.Popen[bytes] | None = None
    try:
        with _stopping_put_off():
            preparing = subprocess.Popen(command, cwd=ROOT, stdin=subprocess.DEVNULL, start_new_session=True)
        code = preparing.wait()
    finally:
        if preparing is not None:
            preparing.kill()  # unless it has ended
            preparing.wait()
    if code:
        raise LaunchError("The database could not be prepared; what there is to say stands above.")


def _environment(host: str, port: str) -> dict[str, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ.get('PATH', '')}"
    at_once = {"PYTHONUNBUFFERED": "1"}
    links = {"PUBLIC_URL": f"http://{f'[{host}]' if ':' in host else host}:{port}"}
    return {"PYTHONWARNINGS": NO_ADVICE, **links, **os.environ, **at_once, "HOST": host, "PORT": port, "PATH": path}


def _wait_until(condition: Callable[[], bool], processes: Processes, *, what: str) -> None:
    """Waits as long as the processes are at work: on a busy machine that takes its time.

    Who only waits is now and then at work, too: each such moment counts as five, and no more.
    """
    began = looked = told = time.monotonic()
    idle = 0.0
    while not condition():
        processes.check()
        time.sleep(0.1)
        passed, looked = time.monotonic() - looked, time.monotonic()
        idle = max(idle - 5 * passed, 0) if processes.at_work() else idle + passed
        if idle > IDLE_SECONDS:
            raise LaunchError(f"Gave up on {what}: for {IDLE_SECONDS:.0f} s, no process has done anything.")
        if looked - told > TOLD_SECONDS:
            told = looked
            _say(f"Waiting for {what}, for {looked - began:.0f} s so far: it is being started ...")


def _is_ready(address: Address) -> bool:
    connection = HTTPConnection(address.host, address.port, timeout=ANSWER_SECONDS)
    try:
        connection.request("GET", "/readyz")
        return connection.getresponse().status == HTTPStatus.OK
    except (OSError, HTTPException):
        return False
    finally:
        connection.close()


def _workers_wait(redis_url: str) -> bool:
    """Whether all workers listen to their queues: only then is the time of a trigger meaningful."""
    try:
        with redis.Redis.from_url(redis_url, socket_timeout=ANSWER_SECONDS) as client:
            return listening_workers(client) >= workers(PROCFILE)
    except redis.RedisError:
        return True  # this Redis does not report its clients


def _raise_stopped(*_: object) -> NoReturn:
    _ignore_signals()
    raise Stopped


@contextmanager
def _stopping_put_off() -> Iterator[None]:
    """Puts a stop off until the block has ended: in the middle of Popen it would leave a process that nobody knows."""
    usual = {number: signal.getsignal(number) for number in ENDINGS}
    asked: list[int] = []
    for number, handler in usual.items():
        if handler is _raise_stopped:
            signal.signal(number, lambda number, _: asked.append(number))
    try:
        yield
    finally:
        for number, handler in usual.items():
            signal.signal(number, handler)
    if asked:
        _raise_stopped()


def _ignore_signals() -> None:
    """Stopping takes time; further signals must not interrupt it."""
    for number in ENDINGS:
        signal.signal(number, signal.SIG_IGN)


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    sys.exit(main())
