"""`manage.py`, and `engage` where the wheel is installed.

Django's commands, which end in one line where the set-up is not one that they can work with.
"""

import errno
import os
import sys

from django.core.exceptions import ImproperlyConfigured
from django.core.management import BaseCommand, ManagementUtility
from django.db import DatabaseError, NotSupportedError, connection
from psycopg.errors import InsufficientPrivilege, UndefinedColumn, UndefinedTable

from config.local.servers import EmbeddedServerError
from config.process.loaded_code import freeze_loaded_objects, load_without_collecting
from engage.database.outages import is_outage

_INTERRUPTED, _NOBODY_READS = 130, 141  # a shell's exit codes for SIGINT and SIGPIPE
_NO_ROOM = {errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO}
_MIGRATING = ("migrate", "prepare")


class _Commands(ManagementUtility):
    def fetch_command(self, subcommand: str) -> BaseCommand:
        """The command with all that it has loaded: what comes next is its work."""
        command = super().fetch_command(subcommand)
        freeze_loaded_objects()
        return command


def main() -> int:
    """Runs the command of the command line; the exit code."""
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "config.settings")
    return execute(sys.argv)


def execute(arguments: list[str]) -> int:
    """Runs the command; the exit code. What is no matter of the set-up, or is asked for with --traceback, is raised."""
    if sys.stdout is None:  # as with `>&-`; a secret that was made would be lost
        sys.stderr.write("Standard output is closed, so nothing was done.\n")
        return 1
    load_without_collecting()
    try:
        _Commands(arguments).execute()
        sys.stdout.flush()
    except KeyboardInterrupt:
        sys.stderr.write("Interrupted.\n")
        return _INTERRUPTED
    except BrokenPipeError:  # as with `| head`
        _write_no_more()
        return _NOBODY_READS
    except OSError as error:
        if error.errno not in _NO_ROOM or "--traceback" in arguments:
            raise
        _write_no_more()
        sys.stderr.write(
            f"The output cannot be written: {error.strerror}. The command itself may have done its work.\n"
        )
        return 1
    except UnicodeEncodeError as error:
        if "--traceback" in arguments or not any(map(_is_no_text, arguments)):
            raise
        sys.stderr.write(f"An argument is no text in UTF-8: {error.object!r}.\n")
        return 1
    except (ImproperlyConfigured, EmbeddedServerError, DatabaseError) as error:
        reason = None if "--traceback" in arguments else _reason(error, command="".join(arguments[1:2]))
        if reason is None:
            raise
        sys.stderr.write(f"{reason}\n")
        return 1
    return 0


def _is_no_text(argument: str) -> bool:
    return argument.encode(errors="ignore").decode() != argument


def _write_no_more() -> None:
    """Python would try once more as it ends, and complain."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def _reason(error: Exception, *, command: str) -> str | None:
    """What is wrong with the set-up, in one line; None where nothing is."""
    if not isinstance(error, DatabaseError):
        return str(error)
    if isinstance(error.__cause__, UndefinedTable | UndefinedColumn) and command not in _MIGRATING:
        return "The database lacks tables or columns that this version needs: run manage.py migrate first."
    if isinstance(error, NotSupportedError):  # PostgreSQL is too old, as Django says
        return str(error)
    if isinstance(error.__cause__, InsufficientPrivilege):
        return f"PostgreSQL refuses: {str(error).partition(chr(10))[0]}. See manage.py doctor."
    if is_outage(error):
        known, said = connection.settings_dict, str(error).partition("\n")[0]
        where = f"{known['HOST'] or 'this machine'}:{known['PORT'] or 5432}"
        return f"PostgreSQL does not answer at {where} for the database {known['NAME']}: {said}"
    return None
