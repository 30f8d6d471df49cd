"""The service behind a pooler in transaction mode, which hands a server's session from one client to the next."""

from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import psycopg
import pytest
from django.db import connection

from journeys.models import Enrollment, Journey
from tests.support.calls import data, trigger
from tests.support.clients import ServerClient
from tests.support.factories import DAY, crowd
from tests.support.pooler import PROGRAM, Pooler, pgbouncer
from tests.support.processes import SCHEDULER, WORKER, celery
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.journey(steps=[DAY]),
    pytest.mark.django_db(transaction=True),
    pytest.mark.mostly_waits,
    pytest.mark.without_pooler,  # has one of its own
    pytest.mark.skipif(PROGRAM is None, reason="PgBouncer is not installed"),
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


@pytest.fixture
def pooler(tmp_path: Path) -> Iterator[Pooler]:
    """One that has a single session of the server, which all its clients share."""
    with pgbouncer(connection.get_connection_params(), tmp_path, sessions=1) as running:
        yield running


def left_in_the_session(pooler: Pooler) -> dict[str, list[Any]]:
    looked_at = {
        "settings": f"SELECT name FROM pg_settings WHERE source = 'session' AND name NOT IN {_ITS_OWN}",
        "statements": "SELECT statement FROM pg_prepared_statements",
        "cursors": "SELECT name FROM pg_cursors WHERE name <> ''",
        "locks": "SELECT objid FROM pg_locks WHERE locktype = 'advisory' AND pid = pg_backend_pid()",
        "tables": "SELECT relname FROM pg_class WHERE relpersistence = 't'",
        "channels": "SELECT * FROM pg_listening_channels()",
    }
    url = pooler.url(connection.settings_dict["NAME"]).partition("?")[0]
    with psycopg.connect(url, prepare_threshold=None, autocommit=True) as there:
        return {what: rows for what, query in looked_at.items() if (rows := there.execute(query).fetchall())}


@pytest.mark.slow
def test_work_is_done_and_leaves_nothing_behind_in_the_session(
    pooler: Pooler, server: ServerClient, journey: Journey, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = crowd(journey.workspace, 20)
    monkeypatch.setenv("DATABASE_URL", pooler.url(connection.settings_dict["NAME"]))
    with ExitStack() as stack:
        stack.enter_context(celery(*WORKER, log=tmp_path / "worker.log"))
        stack.enter_context(celery(*SCHEDULER, log=tmp_path / "beat.log"))
        data(trigger(server, journey, {"external_ids": names}))
        for name in names[:5]:
            data(trigger(server, journey, {"external_id": name}))
        wait_until(lambda: Enrollment.objects.filter(step_began_at__isnull=False).count() == len(names))
    assert left_in_the_session(pooler) == {}


def test_the_database_gives_the_session_what_it_needs(pooler: Pooler) -> None:
    other = connection.copy()
    other.settings_dict |= {"HOST": "127.0.0.1", "PORT": pooler.port}
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
