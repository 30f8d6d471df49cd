"""`manage.py backup_drill FOLDER --to DSN`: whether one could go on with the newest backup, and how soon."""

import argparse
import re
import subprocess
import time
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import psycopg
from django.core.management.base import BaseCommand, CommandError

from config.monitoring.health import missing_migrations
from journeys.engine.operations.invariants import violations

_DUMP = re.compile(r"engage-(\d{8}T\d{6})Z\.dump")  # as deploy/backup names them
_TABLES = "SELECT count(*) FROM pg_class WHERE relkind = 'r' AND relnamespace = 'public'::regnamespace"
_SHOWN = 20


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = (
        "Restore the newest dump of a folder into an empty database and check what holds of every database of the "
        "service. Exits with 1 if something does not. Needs pg_restore; the service's own database is not touched."
    )

    def add_arguments(self, parser: argparse.ArgumentParser) -> None:
        parser.add_argument("folder", type=Path, help="Where deploy/backup puts the dumps.")
        parser.add_argument("--to", required=True, metavar="DSN", help="An empty database: postgres://…/engage_drill")

    def handle(self, *, folder: Path, to: str, **_: Any) -> None:
        dump, made_at = _newest(folder)
        age = datetime.now(UTC) - made_at
        self.stdout.write(f"{dump.name}: {age.total_seconds() / 3600:.1f} hours old, {dump.stat().st_size:,} bytes")
        began = time.monotonic()
        _restore(dump, to)
        self.stdout.write(f"restored in {time.monotonic() - began:.1f} s")
        with psycopg.connect(to, autocommit=True, options="-c statement_timeout=0") as there:
            if missing := missing_migrations(there.cursor()):
                raise CommandError(f"It is of an earlier version; migrate it first: {', '.join(missing)}.")
            found = list(violations(lambda statement: there.execute(statement.encode()).fetchall()))
        self.stdout.write(f"checked in all {time.monotonic() - began:.1f} s after the beginning")
        if found:
            raise CommandError("\n".join(["It does not hold together:", *found[:_SHOWN]]))
        self.stdout.write("It holds together.")


def _newest(folder: Path) -> tuple[Path, datetime]:
    """By the time in its name: a copy has another time of its own."""
    dumps = {made_at: path for path in folder.glob("*.dump") if (made_at := _made_at(path.name))}
    if not dumps:
        raise CommandError(f"There is no engage-….dump in {folder}: deploy/backup makes them.")
    latest = max(dumps)
    return dumps[latest], latest


def _made_at(name: str) -> datetime | None:
    with suppress(ValueError):  # digits of no time
        if found := _DUMP.fullmatch(name):
            return datetime.strptime(f"{found[1]}+0000", "%Y%m%dT%H%M%S%z")
    return None


def _restore(dump: Path, to: str) -> None:
    """Raises CommandError if the database is not empty, cannot be reached, or takes not all of the dump."""
    try:
        with psycopg.connect(to) as there:
            if (row := there.execute(_TABLES).fetchone()) and row[0]:
                raise CommandError("The database of --to has tables. Name an empty one: nothing in it is replaced.")
    except psycopg.Error as error:
        raise CommandError(f"The database of --to: {error}") from None
    asked = ["pg_restore", "--no-owner", "--no-privileges", "--no-comments", "--exit-on-error", f"--dbname={to}"]
    try:
        restored = subprocess.run([*asked, str(dump)], capture_output=True, text=True, check=False)
    except FileNotFoundError:
        raise CommandError("pg_restore is not installed: it comes with PostgreSQL's client.") from None
    if restored.returncode:
        raise CommandError(f"pg_restore: {restored.stderr.strip()[-2000:]}")
