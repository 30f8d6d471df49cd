"""`manage.py import_customers`: customers, members of a segment or events from a file."""

import codecs
import sys
import time
from argparse import ArgumentParser, ArgumentTypeError, RawDescriptionHelpFormatter
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from django.core.exceptions import ValidationError
from django.core.management.base import BaseCommand, CommandError

from customers.audience.membership import segment_id_of_key
from customers.files.importing import OUTCOMES, Imported, Write, customers_of, import_file
from customers.files.reading import PLAIN, Source
from engage.errors import Refusal
from engage.models import Workspace
from engage.notations.countries import validate_country
from engage.notations.plurals import counted
from engage.notations.terminal import printable
from journeys.engine.walking.imported_events import events_of
from journeys.management.arguments import file_named, workspace_named

_EVERY_SECONDS = 0.2
_WIDTH = 30


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = r"""Import customers, members of a segment or events from a file of comma-separated values.

The first row names the columns: external_id, email, phone, userId or customerId, and attributes with their types
(score:number, vip:boolean, since:date, tags:json, else text). With --events, a row is an event of a customer who is
there: eventName, occurredAt, and properties with their types.

An empty cell leaves as it is what is stored, and \N takes it away. Blank rows are skipped and counted. A row that
cannot be applied is written to the error file, with its number; the others are applied, and the command fails at the
end, and as long as any row has failed. Stopped at any moment, the same command goes on where it was, and tries again
those that have failed. Once all of a file has been imported, importing it again changes nothing, but with --again.
Nothing is started but by --start-journeys.
"""

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.formatter_class = RawDescriptionHelpFormatter
        parser.add_argument("file", metavar="FILE.csv", type=file_named)
        parser.add_argument("--workspace", required=True, metavar="KEY")
        parser.add_argument(
            "--map",
            nargs="+",
            action="extend",
            default=[],
            metavar="COLUMN=NAME",
            help="What a column of the file is: 'E-Mail=email' 'Points=score:number'. An empty name leaves it out.",
        )
        parser.add_argument("--delimiter", default="", help="The character between two cells; as the header has it.")
        parser.add_argument(
            "--encoding",
            type=_encoding,
            help="Such as cp1252; UTF-8, or what a mark at the beginning says.",
        )
        parser.add_argument(
            "--country",
            type=_country,
            metavar="CODE",
            help="Of phone numbers without one, such as DE; that of the workspace, if any.",
        )
        self._add_what_is_done(parser)

    def _add_what_is_done(self, parser: ArgumentParser) -> None:
        parser.add_argument(
            "--duplicates",
            choices=["fail", "last"],
            default="fail",
            help="What becomes of a later row with the same identifier and another e-mail address or phone number: it "
            "fails, or it counts.",
        )
        parser.add_argument("--dry-run", action="store_true", help="Tell what would become of the rows; write nothing.")
        kinds = parser.add_mutually_exclusive_group()
        kinds.add_argument("--segment", metavar="KEY", help="Put the customers of all rows into this segment as well.")
        kinds.add_argument("--events", action="store_true", help="The rows are events.")
        parser.add_argument("--start-journeys", action="store_true", help="The events do what a server's would do.")
        parser.add_argument(
            "--on-conflict",
            choices=["fail", "skip-identifier", "skip-row"],
            default="fail",
            help="What becomes of a row with an identifier of somebody else: it fails, it is applied without that "
            "identifier, or it is left out, which the error file tells but is no failure.",
        )
        parser.add_argument("--errors", type=file_named, metavar="FILE", help="The error file; FILE.csv.errors.csv.")
        parser.add_argument("--again", action="store_true", help="Import a file that has been imported once more.")

    def handle(self, *_: Any, **options: Any) -> None:
        workspace = workspace_named(options["workspace"])
        file, events = options["file"], options["events"]
        if options["start_journeys"] and not events:
            raise CommandError("--start-journeys is for --events: customers start no journey.")
        if len(options["delimiter"]) > 1:
            raise CommandError("--delimiter must be one character.")
        errors = options["errors"] or file.with_name(f"{file.name}.errors.csv")
        source = Source(
            path=file,
            delimiter=options["delimiter"],
            encoding=options["encoding"] or "",
            renamed=_renamed(options["map"]),
            events=events,
            skips_conflicts=options["on_conflict"] == "skip-identifier",
            last_counts=options["duplicates"] == "last",
            country=workspace.default_country if options["country"] is None else options["country"],
        )
        try:
            imported = import_file(
                workspace_id=workspace.id,
                source=source,
                write=_writer(workspace, options),
                kind="events" if events else options["segment"] or "",
                errors=errors,
                skips_rows=options["on_conflict"] == "skip-row",
                again=options["again"],
                dry_run=options["dry_run"],
                tell=Bar(total=file.stat().st_size) if sys.stderr.isatty() else lambda _bytes, _rows: None,
            )
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be used: {error.strerror}.") from None
        except Refusal as refusal:
            raise CommandError(printable(refusal.message)) from None
        self._tell(imported, errors=None if options["dry_run"] else errors)

    def _tell(self, imported: Imported, *, errors: Path | None) -> None:
        counts = {name: number for name in OUTCOMES if (number := imported.counts.get(name))}
        told = ", ".join(f"{number:,} {name}" for name, number in counts.items()) or "no rows"
        failed = counted(counts.get("failed", 0), "row")
        if imported.before:
            self.stdout.write(f"This file has been imported ({told}). Nothing was done; --again imports it once more.")
        elif errors is None:
            self.stdout.write(f"Dry run: {told}. Nothing was written.")
            for name, rows in imported.first.items():
                self.stdout.write("".join(f"  {name}: {printable(row)}\n" for row in rows), ending="")
        else:
            self.stdout.write(f"Import {imported.id[:12]}: {told}.")
        if imported.unread_phones:
            rows = (
                f"{counted(imported.unread_phones, 'phone number')}, row {', '.join(map(str, imported.first_unread))}"
            )
            self.stdout.write(f"Kept as written, not read as international (--country says of where it is): {rows}.")
        if counts.get("failed"):
            where = f": {errors} has their numbers and why" if errors and not imported.before else ""
            raise CommandError(f"{failed} failed{where}.")
        if counts.get("skipped") and errors and not imported.before:
            self.stdout.write(f"{errors} has the numbers of the skipped ones.")


def _country(code: str) -> str:
    try:
        validate_country(code)
    except ValidationError as invalid:
        raise ArgumentTypeError(invalid.message) from None
    return code


def _encoding(name: str) -> str:
    try:
        "".encode(name)
    except (LookupError, ValueError):
        raise ArgumentTypeError(f"{name!r} is no encoding.") from None
    return PLAIN if codecs.lookup(name).name in {"utf-8", PLAIN} else name


def _renamed(pairs: Sequence[str]) -> dict[str, str]:
    renamed = {}
    for pair in pairs:
        title, equals, name = pair.rpartition("=")
        if not equals:
            raise CommandError(f"--map takes COLUMN=NAME, not {printable(pair)!r}.")
        renamed[title] = name
    return renamed


def _writer(workspace: Workspace, options: Any) -> Write:
    if options["events"]:
        return events_of(workspace.id, lead_to_nothing=not options["start_journeys"])
    segment_id = None
    if (key := options["segment"]) is not None:
        segment_id = segment_id_of_key(workspace_id=workspace.id, key=key)
        if segment_id is None:
            raise CommandError(f"The workspace has no segment {key!r}.")
    return customers_of(workspace.id, segment_id=segment_id)


class Bar:
    """Shows on a terminal how much of a file is done, a few times in a second."""

    def __init__(self, *, total: int) -> None:
        self._total, self._began, self._told = max(total, 1), time.monotonic(), 0.0

    def __call__(self, done: int, rows: int) -> None:
        now = time.monotonic()
        if now - self._told < _EVERY_SECONDS and done < self._total:
            return
        self._told = now
        filled = _WIDTH * done // self._total
        bar = f"[{'#' * filled}{' ' * (_WIDTH - filled)}] {100 * done // self._total:3} %  {rows:,} rows"
        sys.stderr.write(f"\r{bar}{chr(10) if done >= self._total else ''}")
        sys.stderr.flush()
