"""`deploy/backup` and `manage.py backup_drill`: a dump is restored elsewhere, and what does not hold of it is told."""

import os
import subprocess
from collections.abc import Iterator
from io import StringIO
from pathlib import Path

import psycopg
import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from psycopg import sql

from config import ROOT
from engage.models import Workspace
from journeys.models import Journey
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory
from tests.support.one_of_everything import one_of_everything

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.without_pooler]


def address(database: str) -> str:
    known = connection.get_connection_params()
    wanted = {key: known[key] for key in ("host", "port", "user", "password") if known.get(key)}
    return psycopg.conninfo.make_conninfo(dbname=database, **wanted)


@pytest.fixture
def elsewhere() -> Iterator[str]:
    """An empty database of the same server."""
    name = f"{connection.settings_dict['NAME']}_drill"
    with psycopg.connect(address("postgres"), autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
        yield address(name)
        server.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


@pytest.fixture(autouse=True)
def _programs_of_the_server(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pg_dump that is older than the server refuses."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT setting FROM pg_config WHERE name = 'BINDIR'")
        folder = cursor.fetchone()[0]
    monkeypatch.setenv("PATH", f"{folder}:{os.environ['PATH']}")


def backed_up(folder: Path) -> None:
    environment = os.environ | {"DATABASE_URL": address(connection.settings_dict["NAME"]), "KEEP": "1"}
    environment.pop("DATABASE_DIRECT_URL", None)
    subprocess.run([ROOT / "deploy" / "backup", folder], env=environment, check=True, capture_output=True)


def drilled(folder: Path, to: str) -> str:
    said = StringIO()
    call_command("backup_drill", str(folder), to=to, stdout=said)
    return said.getvalue()


@pytest.mark.slow
def test_the_newest_dump_is_restored_and_holds_together(
    server: ServerClient, acme: Workspace, journey: Journey, elsewhere: str, tmp_path: Path
) -> None:
    for name in ("ada", "bob"):
        CustomerFactory.create(workspace=acme, external_id=name)
        data(trigger(server, journey, {"external_id": name}))
        if name == "ada":
            let_workers_decide()
            let_workers_walk()
    (tmp_path / "engage-20200101T000000Z.dump").touch()  # older, and no dump
    backed_up(tmp_path)
    said = drilled(tmp_path, elsewhere)
    assert ": 0.0 hours old, " in said
    assert said.endswith("It holds together.\n")
    with pytest.raises(CommandError, match="has tables"):
        drilled(tmp_path, elsewhere)


@pytest.mark.slow
def test_what_does_not_hold_is_told(acme: Workspace, elsewhere: str, tmp_path: Path) -> None:
    one_of_everything(acme)
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM journeys_chunk")
        cursor.execute("UPDATE journeys_webhookdelivery SET state = 'waiting', attempts = 7, due_at = now()")
        cursor.execute("UPDATE journeys_enrollmentjob SET result = '', status = 'queued', decided_at = NULL")
    backed_up(tmp_path)
    with pytest.raises(CommandError) as raised:
        drilled(tmp_path, elsewhere)
    for part in ("enrollments are not what", "queued jobs are in no chunk", "another number of attempts"):
        assert part in str(raised.value)


def test_nothing_to_restore_or_nowhere_to_restore_it_is_told(tmp_path: Path) -> None:
    with pytest.raises(CommandError, match=r"There is no engage-….dump"):
        drilled(tmp_path, address("postgres"))
    (tmp_path / "engage-20261399T999999Z.dump").touch()  # digits of no time
    with pytest.raises(CommandError, match=r"There is no engage-….dump"):
        drilled(tmp_path, address("postgres"))
    (tmp_path / "engage-20200101T000000Z.dump").touch()
    with pytest.raises(CommandError, match="The database of --to"):
        drilled(tmp_path, address("none_of_that_name"))
