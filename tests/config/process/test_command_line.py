"""`manage.py` says in one line where the set-up is not one that a command can work with."""

import os
import subprocess
import sys
from pathlib import Path
from urllib.parse import urlsplit

import pytest
from django.db import NotSupportedError

from config import ROOT
from config.local import embedded
from config.process.command_line import execute
from tests.config.environments import manage

NOBODY = "postgres://engage:hush@127.0.0.1:1/engage"


def unmigrated() -> str:
    """A database of the tests' server that holds no tables."""
    url = urlsplit(os.environ.get("DATABASE_URL") or embedded.database_url())
    return url._replace(path="/postgres").geturl()


@pytest.mark.slow
def test_where_nobody_answers() -> None:
    done = manage("createsuperuser --no-input --username x --email x@x.io", DATABASE_URL=NOBODY)
    assert done.returncode == 1
    assert done.stderr.startswith("PostgreSQL does not answer at 127.0.0.1:1 for the database engage: connection ")
    assert done.stderr.count("\n") == 1
    assert "hush" not in done.stderr


@pytest.mark.slow
def test_where_nothing_is_migrated() -> None:
    done = manage("seed_workspace", DATABASE_URL=unmigrated())
    assert (done.returncode, done.stderr) == (
        1, "The database lacks tables or columns that this version needs: run manage.py migrate first.\n",
    )  # fmt: skip


def test_where_a_setting_is_refused() -> None:
    done = manage("prune", LOG_LEVEL="loud")
    assert done.returncode == 1
    assert done.stderr == "LOG_LEVEL must be one of DEBUG, INFO, WARNING, ERROR, CRITICAL, not 'loud'.\n"


@pytest.mark.slow
def test_an_argument_that_is_no_text() -> None:
    done = subprocess.run(
        [sys.executable, "manage.py", "export_workspace", b"acm\xff"], cwd=ROOT, env=os.environ, capture_output=True,
        check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (1, b"An argument is no text in UTF-8: 'acm\\udcff'.\n")


@pytest.mark.slow
def test_who_wants_to_see_where_it_was_raised_is_shown() -> None:
    assert "Traceback" in manage("prune --traceback", DATABASE_URL=NOBODY).stderr


@pytest.mark.slow
def test_a_reader_who_goes_away_is_not_told_of_it() -> None:
    with subprocess.Popen(
        [sys.executable, "manage.py", "help"], cwd=ROOT, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
        env={**os.environ, "ENVIRONMENT": "development"},
    ) as command:  # fmt: skip
        assert command.stdout
        assert command.stderr
        command.stdout.close()
        assert command.stderr.read() == ""
    assert command.returncode == 141


@pytest.mark.slow
@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_one_line() -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(
            [sys.executable, "manage.py", "help"], cwd=ROOT, stdout=full, stderr=subprocess.PIPE, text=True,
            env={**os.environ, "ENVIRONMENT": "development"}, check=False,
        )  # fmt: skip
    assert (done.returncode, done.stderr) == (
        1, "The output cannot be written: No space left on device. The command itself may have done its work.\n",
    )  # fmt: skip


def test_nothing_is_done_where_the_output_is_closed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """A new key's secret would be lost."""
    done: list[object] = []
    monkeypatch.setattr("config.process.command_line._Commands.execute", done.append)
    monkeypatch.setattr(sys, "stdout", None)
    assert execute(["manage.py", "seed_workspace"]) == 1
    assert capsys.readouterr().err == "Standard output is closed, so nothing was done.\n"
    assert done == []


def test_an_interrupt_is_one_line(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    def interrupt(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("config.process.command_line._Commands.execute", interrupt)
    assert execute(["manage.py", "prune"]) == 130
    assert capsys.readouterr().err == "Interrupted.\n"


def test_a_postgresql_that_is_too_old_is_one_line(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    def refuse(_: object) -> None:
        raise NotSupportedError("PostgreSQL 16 or later is required (found 15.14).")

    monkeypatch.setattr("config.process.command_line._Commands.execute", refuse)
    assert execute(["manage.py", "migrate"]) == 1
    assert capsys.readouterr().err == "PostgreSQL 16 or later is required (found 15.14).\n"
