"""The service behind a pooler in transaction mode, which hands a server's session from one client to the next."""

import shutil
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from config.local.servers import ordinary_user
from engage.models import Workspace
from journeys.models import Enrollment, Journey
from tests.calls import data, trigger
from tests.clients import ServerClient
from tests.factories import JourneyFactory, crowd
from tests.processes import SCHEDULER, WORKER, celery
from tests.receiver import free_port
from tests.waiting import wait_until

_PGBOUNCER = shutil.which("pgbouncer", path="/usr/sbin:/usr/bin:/usr/local/bin:/opt/homebrew/bin")
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.mostly_waits,
    pytest.mark.skipif(_PGBOUNCER is None, reason="PgBouncer is not installed"),
]
# Those that PgBouncer itself sets anew for each client.
_ITS_OWN = (
    "application_name",
    "client_encoding",
    "DateStyle",
    "IntervalStyle",
    "TimeZone",
    "standard_conforming_strings",
)
_CONFIGURATION = """
[databases]
* = host={host} port={port} user={user}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = {listens}
unix_socket_dir =
auth_type = any
pool_mode = transaction
default_pool_size = 1
logfile = {folder}/pgbouncer.log
"""


@pytest.fixture
def pooler(tmp_path: Path) -> Iterator[int]:
    """The port of one that has a single session of the server, which all its clients share."""
    known = connection.get_connection_params()
    listens, file = free_port(), tmp_path / "pgbouncer.ini"
    where = {"host": known["host"], "port": known.get("port") or 5432, "user": known["user"]}
    file.write_text(_CONFIGURATION.format(**where, listens=listens, folder=tmp_path))
    for folder in (tmp_path, *tmp_path.parents[:3]):
        folder.chmod(0o777 if folder is tmp_path else 0o755)
    with (tmp_path / "said").open("wb") as said:
        process = subprocess.Popen([*ordinary_user(), str(_PGBOUNCER), str(file)], stdout=said, stderr=said)
    try:
        wait_until(lambda: answers(listens), what="PgBouncer")
        yield listens
    finally:
        process.terminate()
        process.wait()


def answers(port: int) -> bool:
    try:
        client(port).close()
    except psycopg.OperationalError:
        return False
    return True


def client(port: int) -> "psycopg.Connection[Any]":
    name, user = connection.settings_dict["NAME"], connection.settings_dict["USER"]
    return psycopg.connect(host="127.0.0.1", port=port, dbname=name, user=user, prepare_threshold=None, autocommit=True)


def left_in_the_session(port: int) -> dict[str, list[Any]]:
    looked_at = {
        "settings": f"SELECT name FROM pg_settings WHERE source = 'session' AND name NOT IN {_ITS_OWN}",
        "statements": "SELECT statement FROM pg_prepared_statements",
        "cursors": "SELECT name FROM pg_cursors WHERE name <> ''",
        "locks": "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
        "tables": "SELECT relname FROM pg_class WHERE relpersistence = 't'",
        "channels": "SELECT * FROM pg_listening_channels()",
    }
    with client(port) as there:
        return {what: rows for what, query in looked_at.items() if (rows := there.execute(query).fetchall())}


def url(port: int) -> str:
    name, user = connection.settings_dict["NAME"], connection.settings_dict["USER"]
    return f"postgres://{user}@127.0.0.1:{port}/{name}?prepare_threshold=none"


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, steps=[{"id": "day", "type": "delay", "for": "P1D"}])


def test_work_is_done_and_leaves_nothing_behind_in_the_session(
    pooler: int, server: ServerClient, journey: Journey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = crowd(journey.workspace, 20)
    monkeypatch.setenv("DATABASE_URL", url(pooler))
    with ExitStack() as stack:
        stack.enter_context(celery(*WORKER, log=tmp_path / "worker.log"))
        stack.enter_context(celery(*SCHEDULER, log=tmp_path / "beat.log"))
        data(trigger(server, journey, {"external_ids": names}))
        for name in names[:5]:
            data(trigger(server, journey, {"external_id": name}))
        wait_until(lambda: Enrollment.objects.filter(step_began_at__isnull=False).count() == len(names))
    assert left_in_the_session(pooler) == {}


def test_the_database_gives_the_session_what_it_needs(pooler: int) -> None:
    other = connection.copy()
    other.settings_dict |= {"HOST": "127.0.0.1", "PORT": pooler}
    other.settings_dict["OPTIONS"] = {"server_side_binding": True, "prepare_threshold": None}
    with other.cursor() as cursor:
        for name, value in (("enable_seqscan", "off"), ("jit", "off"), ("lock_timeout", "2s")):
            cursor.execute("SELECT current_setting(%s)", [name])
            assert cursor.fetchone() == (value,)
    connection.ensure_connection()
    assert other.connection.behind_pooler
    assert not connection.connection.behind_pooler
    other.close()
    assert left_in_the_session(pooler) == {}
