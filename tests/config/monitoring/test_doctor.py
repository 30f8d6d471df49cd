"""`manage.py doctor`, and what a process says at its start, of set-ups in which something is amiss."""

import json
from collections.abc import Iterator
from io import StringIO

import psycopg
import pytest
from django.core.management import call_command
from django.db import NotSupportedError, connection
from django.test import Client
from pytest_django import Settings
from structlog.testing import capture_logs

from config.monitoring.doctor import _say, findings, how_durable
from config.monitoring.release import commit
from customers.models import Topic
from engage.models import Workspace
from tests.config.environments import manage
from tests.support.factories import JourneyFactory

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.without_pooler]


def found() -> dict[str, tuple[str, str]]:
    return {one.check: (one.state, one.says) for one in findings()}


def test_where_all_is_well_there_is_a_line_for_each_look_and_nothing_fails() -> None:
    call_command("doctor", stdout=(said := StringIO()))
    lines = said.getvalue().splitlines()
    assert {line.split()[0] for line in lines} <= {"ok", "warning"}
    wanted = (
        "versions",
        "postgresql",
        "migrations",
        "rights",
        "sessions",
        "durability",
        "pooler",
        "clock",
        "connections",
    )
    for check in (
        *wanted,
        "transactions",
        "dead rows",
        "spellings",
        "delays",
        "links",
        "redis",
        "redis policy",
        "static files",
        "sending",
    ):
        assert sum(f" {check}  " in f"{line[:24]}  " for line in lines) == 1, check


def test_programs_read_it_as_json() -> None:
    call_command("doctor", json=True, stdout=(said := StringIO()))
    assert {tuple(one) for one in json.loads(said.getvalue())} == {("check", "state", "says")}


def test_nothing_is_amiss_in_a_migrated_database() -> None:
    seen = found()
    assert seen["sessions"] == ("ok", "The database gives its sessions what they need.")
    assert seen["migrations"] == ("ok", "all applied")
    assert seen["pooler"] == ("ok", "none")


def test_a_setting_that_sessions_lack_is_named_with_what_gives_it() -> None:
    name = connection.settings_dict["NAME"]
    with connection.cursor() as cursor:
        cursor.execute(f'ALTER DATABASE "{name}" RESET lock_timeout')
    try:
        state, says = found()["sessions"]
    finally:
        with connection.cursor() as cursor:
            cursor.execute(f"ALTER DATABASE \"{name}\" SET lock_timeout = '2s'")
    assert (state, says.endswith(f"ALTER DATABASE \"{name}\" SET lock_timeout = '2s'")) == ("warning", True)


@pytest.fixture
def without_rights() -> Iterator[str]:
    """The service connects as such a role; gives the usual one."""
    usual, role = connection.settings_dict["USER"], f"{connection.settings_dict['NAME']}_lodger"
    with connection.cursor() as cursor:
        cursor.execute(f'CREATE ROLE "{role}" LOGIN')
        cursor.execute(f'GRANT SELECT ON ALL TABLES IN SCHEMA public TO "{role}"')
    connection.settings_dict["USER"] = role
    yield usual
    connection.settings_dict["USER"] = usual
    with connection.cursor() as cursor:
        cursor.execute(f'DROP OWNED BY "{role}"')
        cursor.execute(f'DROP ROLE "{role}"')


@pytest.mark.usefixtures("without_rights")
def test_a_right_that_is_missing_is_said_at_the_start_and_by_the_doctor_in_the_same_words() -> None:
    with pytest.raises(SystemExit) as ended:
        call_command("doctor", stdout=StringIO())
    assert ended.value.code == 1
    state, says = found()["rights"]
    assert (state, says.startswith(f"The role {connection.settings_dict['USER']} lacks DELETE on ")) == ("failed", True)
    with capture_logs() as lines:
        _say()
    assert {"event": "set_up_incomplete", "check": "rights", "says": says, "log_level": "error"} in lines


def test_a_postgresql_that_is_too_old_is_said_in_the_same_words_everywhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("engage.database.backend.base.DatabaseFeatures.minimum_database_version", (999,))
    state, says = found()["postgresql"]
    assert (state, says.startswith("PostgreSQL 999 or later is required (found ")) == ("failed", True)
    with capture_logs() as lines:
        _say()
    assert [line["says"] for line in lines] == [says]

    def refuse(*_: object) -> None:
        raise NotSupportedError(says)

    with connection.execute_wrapper(refuse):
        assert Client().get("/readyz").json()["postgresql"] == "down"
        assert b"\nengage_postgresql_up{} 0\n" in Client().get("/metrics").content


@pytest.mark.slow
def test_a_server_that_is_away_is_one_line_and_the_others_are_looked_at() -> None:
    done = manage("doctor", DATABASE_URL="postgres://engage:hush@127.0.0.1:1/engage")
    assert done.returncode == 1
    [line] = [line for line in done.stdout.splitlines() if line.startswith("failed")]
    assert "postgresql" in line
    assert "hush" not in done.stdout + done.stderr
    assert "redis policy" in done.stdout


def test_a_transaction_that_has_been_open_for_long_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("config.monitoring.doctor._OLD_SECONDS", 0.0)
    with psycopg.connect(**connection.get_connection_params()) as other:
        other.execute("SELECT 1")
        state, says = found()["transactions"]
        assert (state, f"(process {other.info.backend_pid})" in says) == ("warning", True)


def connections_seen() -> set[object]:
    """Some looks: other tests' processes come and go."""
    return {found()["connections"] for _ in range(5)}


def test_what_other_roles_have_open_is_not_taken_for_nothing(without_rights: str) -> None:
    """Without the right to see it."""
    role = connection.settings_dict["USER"]
    with psycopg.connect(**{**connection.get_connection_params(), "user": without_rights}) as other:
        other.execute("SELECT 1")
        state, says = found()["transactions"]
        assert (state, f"(process {other.info.backend_pid})" in says) == ("warning", True)
        assert says.endswith(f": GRANT pg_read_all_stats TO {role}")
        seen = connections_seen()
        other.execute(f'GRANT pg_read_all_stats TO "{role}"')
        other.commit()
        other.execute("SELECT 1")
        assert connections_seen() & seen
        state, says = found()["transactions"]
        assert (state, says.endswith(f" s old (process {other.info.backend_pid}).")) == ("ok", True)


def test_it_says_where_what_was_acknowledged_may_be_lost() -> None:
    for setting, waits, is_followed, finding in (
        ("on", False, False, ("ok", "no standby follows")),
        ("off", True, True, ("warning", "synchronous_commit is off")),
        ("on", False, True, ("warning", "synchronous_standby_names is empty")),
        ("local", True, True, ("warning", "synchronous_commit is local")),
        ("remote_write", True, True, ("ok", "on a standby as well")),
    ):
        state, says = how_durable(setting, waits, is_followed)
        assert (state, finding[1] in says) == (finding[0], True), says
    assert found()["durability"] == ("ok", "What is acknowledged is on disk; no standby follows.")


def test_it_says_that_messages_about_topics_have_no_links(settings: Settings) -> None:
    settings.PUBLIC_URL = ""
    assert found()["links"][0] == "ok"  # nobody has topics
    Topic.objects.create(
        workspace=Workspace.objects.create(key="acme"), key="news", channels=["email"], default="opted_in"
    )
    assert found()["links"] == (
        "warning", "There are topics and no PUBLIC_URL: messages have no links by which people leave.",
    )  # fmt: skip


def test_it_says_that_sending_is_off(settings: Settings) -> None:
    settings.SENDING = False
    assert found()["sending"] == ("warning", "SENDING is off: webhooks wait.")


def test_the_metrics_carry_the_commit(settings: Settings) -> None:
    commit.cache_clear()
    settings.COMMIT = "abc123"
    try:
        assert b'commit="abc123"' in Client().get("/metrics").content
    finally:
        commit.cache_clear()


@pytest.mark.django_db(transaction=True)
def test_a_delay_that_does_not_say_what_follows_without_a_time_is_named(acme: Workspace) -> None:
    delay = {"id": "wait", "type": "delay", "at": "{{ customer.renewsAt }}"}
    JourneyFactory.create(workspace=acme, key="renewal", steps=[delay])
    state, says = found()["delays"]
    assert (state, says.startswith("renewal: ")) == ("warning", True)
