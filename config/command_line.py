"""`manage.py`: Django's commands, which report a faulty set-up in one line."""

import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, ManagementUtility
from django.db import DatabaseError, connection
from psycopg.errors import UndefinedColumn, UndefinedTable

from config.loaded_code import load_without_collecting, spare_the_loaded
from config.servers import EmbeddedServerError
from engage.outages import is_outage

_INTERRUPTED, _NOBODY_READS = 130, 141  # a shell's exit codes for SIGINT and SIGPIPE
_MIGRATING = ("migrate", "prepare")


class _Commands(ManagementUtility):
    def fetch_command(self, subcommand: str) -> BaseCommand:
        """Returns the command. Its code is loaded by now; what follows is its work."""
        command = super().fetch_command(subcommand)
        spare_the_loaded()
        return command


def execute(arguments: list[str]) -> int:
    """Runs the command and returns its exit code. Raises errors unrelated to the set-up; with --traceback, all."""
    load_without_collecting()
    try:
        _Commands(arguments).execute()
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return _INTERRUPTED
    except BrokenPipeError:  # as with `| head`; Python would report it again on exit
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return _NOBODY_READS
    except (ImproperlyConfigured, EmbeddedServerError, DatabaseError) as error:
        reason = None if "--traceback" in arguments else _reason(error, command="".join(arguments[1:2]))
        if reason is None:
            raise
        sys.stderr.write(f"{reason}\n")
        return 1
    return 0


def _reason(error: Exception, *, command: str) -> str | None:
    """What is wrong with the set-up, in one line; None if it is not at fault."""
    if not isinstance(error, DatabaseError):
        return str(error)
    if isinstance(error.__cause__, UndefinedTable | UndefinedColumn) and command not in _MIGRATING:
        return "The database lacks tables or columns that this version needs: run manage.py migrate first."
    if is_outage(error):
        known, said = connection.settings_dict, str(error).partition("\n")[0]
        where = f"{known['HOST'] or 'this machine'}:{known['PORT'] or 5432}"
        return f"PostgreSQL does not answer at {where} for the database {known['NAME']}: {said}"
    return None
