"""PgBouncer in transaction mode: POOLER=pgbouncer puts it between the service and the PostgreSQL of a run."""

import os
import re
import shutil
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import psycopg
from psycopg.conninfo import conninfo_to_dict

from config.local.servers import ordinary_user
from tests.support.receiver import free_port
from tests.support.waiting import wait_until

PROGRAM = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
_PREPARES_SINCE = (1, 21)
_CONFIGURATION = """
[databases]
* = {server}
[pgbouncer]
listen_addr = {addresses}
listen_port = {port}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = {sessions}
max_client_conn = 1000
server_login_retry = 1
query_wait_timeout = 5
logfile = {folder}/pgbouncer.log
"""


@dataclass(frozen=True, kw_only=True)
class Pooler:
    """One that runs."""

    port: int
    user: str

    def url(self, database: str) -> str:
        """What the service needs to know of it."""
        options = "".join(f"?{name}={str(value).lower()}" for name, value in self.options.items())
        return f"postgres://{quote(self.user)}@127.0.0.1:{self.port}/{quote(database)}{options}"

    @property
    def options(self) -> dict[str, None]:
        """What a client has to keep to."""
        return {} if _prepares() else {"prepare_threshold": None}


def is_wanted() -> bool:
    """Whether this run goes through a pooler. Raises ValueError where it cannot."""
    wanted = os.environ.get("POOLER", "")
    if wanted not in {"", "pgbouncer"}:
        raise ValueError(f"POOLER is pgbouncer or nothing, not {wanted!r}.")
    if wanted and PROGRAM is None:
        raise ValueError("POOLER=pgbouncer needs PgBouncer, which is not installed.")
    return bool(wanted)


@contextmanager
def pgbouncer(
    server: str | Mapping[str, Any],
    folder: Path,
    *,
    sessions: int = 50,
    addresses: Sequence[str] = ("127.0.0.1",),
    settings: Mapping[str, str] | None = None,
) -> Iterator[Pooler]:
    """In front of PostgreSQL (a URL, or what libpq knows of it) until the end of the block.

    It has so many of the server's `sessions` for each database, which begin with these `settings`.
    """
    known = conninfo_to_dict(server) if isinstance(server, str) else dict(server)
    port, file = free_port(), folder / "pgbouncer.ini"
    file.write_text(
        _CONFIGURATION.format(
            server=_as_written(known, settings or {}), addresses=",".join(addresses), port=port,
            sessions=sessions, folder=folder,
        )
        + ("max_prepared_statements = 200\n" if _prepares() else "")
    )  # fmt: skip
    with (folder / "pgbouncer.said").open("wb") as said:
        process = subprocess.Popen([*ordinary_user(), str(PROGRAM), str(file)], stdout=said, stderr=said)
    try:
        wait_until(lambda: _answers(port, known), what="PgBouncer")
        yield Pooler(port=port, user=str(known["user"]))
    finally:
        process.terminate()
        process.wait()


def _as_written(known: Mapping[str, Any], settings: Mapping[str, str]) -> str:
    """The server's row in the configuration."""
    row = {name: known[name] for name in ("host", "port", "user", "password") if known.get(name)}
    if settings:
        row["connect_query"] = "; ".join(f"SET {name} = '{value}'" for name, value in settings.items())
    return " ".join("{}='{}'".format(name, str(value).replace("'", "''")) for name, value in row.items())


def _prepares() -> bool:
    """Whether it knows prepared statements."""
    said = subprocess.run([str(PROGRAM), "--version"], check=True, capture_output=True, text=True).stdout
    found = re.search(r"(\d+)\.(\d+)", said)
    return found is not None and (int(found[1]), int(found[2])) >= _PREPARES_SINCE


def _answers(port: int, known: Mapping[str, Any]) -> bool:
    try:
        psycopg.connect(host="127.0.0.1", port=port, dbname=known["dbname"], user=known["user"]).close()
    except psycopg.OperationalError:
        return False
    return True
