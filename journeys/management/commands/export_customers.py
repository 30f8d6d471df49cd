"""`manage.py export_customers`: a workspace's customers as a file that `import_customers` reads."""

import os
import sys
from argparse import ArgumentParser
from typing import Any

from django.core.management.base import BaseCommand, CommandError

from customers.files.exporting import export_customers
from engage.audit.acting import acting, command
from engage.audit.recording import change, record
from engage.models import AuditEntry
from engage.notations.plurals import counted
from journeys.management.arguments import file_named, workspace_named


class Command(BaseCommand):
    requires_system_checks = ()  # which load all views
    help = (
        "Write a workspace's customers to a file of comma-separated values, as servers have described them: importing "
        "it again changes nothing. What only in-app messages have said is left out."
    )

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("file", metavar="FILE.csv", type=file_named)
        parser.add_argument("--workspace", required=True, metavar="KEY")
        parser.add_argument(
            "--for-spreadsheets",
            action="store_true",
            help="Put an apostrophe before what a spreadsheet would take for a formula. Do not import such a file.",
        )

    def handle(self, *_: Any, **options: Any) -> None:
        workspace, file = workspace_named(options["workspace"]), options["file"]
        part = file.with_name(f"{file.name}.part")
        bom = options["for_spreadsheets"]  # by which they know UTF-8
        try:
            # For the owner's eyes: it is all that is known of people.
            with os.fdopen(
                os.open(part, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600),
                "w",
                encoding="utf-8-sig" if bom else "utf-8",
                newline="",
            ) as out:
                written, left_out = export_customers(
                    workspace_id=workspace.id, out=out, for_spreadsheets=options["for_spreadsheets"], tell=_tell
                )
            with acting(command("export_customers")):
                note = f"{counted(written, 'customer')}, to a file."
                record(change(AuditEntry.Action.EXPORTED, workspace, note=note))
            part.replace(file)
        except OSError as error:
            raise CommandError(f"{error.filename} cannot be written: {error.strerror}.") from None
        finally:
            part.unlink(missing_ok=True)  # where it did not become the file
        if sys.stderr.isatty():
            sys.stderr.write("\n")
        told = f"; {left_out:,} left out, of whom only in-app messages have said anything" if left_out else ""
        self.stdout.write(f"{counted(written, 'customer')}{told}.")


def _tell(read: int) -> None:
    if sys.stderr.isatty():
        sys.stderr.write(f"\r{counted(read, 'customer')}")
        sys.stderr.flush()
