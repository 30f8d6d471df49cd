"""Work that fails: how often it is tried, how long it waits, and what is recorded about it."""

import psycopg

from engage.json.storable import storable

GIVEN_UP = "Given up after "  # how the reason of an exit, or of a job, then begins
MAX_ATTEMPTS = 5
_LONGEST_RECORD = 300  # characters


def for_the_record(error: Exception) -> str:
    """The error's type and message. The detail of a database error is left out: it quotes rows."""
    cause = error.__cause__
    message = cause.diag.message_primary if isinstance(cause, psycopg.Error) else str(error)
    return storable(f"{type(error).__name__}: {message}"[:_LONGEST_RECORD])


def pause_after(attempts: str) -> str:
    """SQL for the wait before the next attempt: 1, 2, 4, 8 seconds; none if all that is left is to give up.

    `attempts` is the column that counts them.
    """
    return f"CASE WHEN {attempts} < {MAX_ATTEMPTS} THEN interval '1 second' * power(2, {attempts} - 1) ELSE '0' END"


# SQL for work that failed alone, perhaps through no fault of its own: the attempt does not count, but at least one is
# kept, so that it is still tried alone. `seconds` is until it is.
PUT_OFF = "attempts = greatest(attempts - 1, 1), due_at = now() + make_interval(secs => {seconds})"
PUT_OFF_SECONDS = 5.0


def why_given_up(error: str, *, at: str) -> str:
    """Why something that was tried MAX_ATTEMPTS times has failed for good.

    Its last error; if it has none, each worker died `at` it ("deciding").
    """
    return f"{GIVEN_UP}{MAX_ATTEMPTS} attempts: {error or f'the worker died while {at} it.'}"
