"""What the records say of an error that nobody expected."""

import psycopg

from engage.storable_json import storable

_LONGEST = 300


def for_the_record(error: Exception) -> str:
    """The kind of the error and its message. Of the database's errors the detail is left out: it quotes rows."""
    cause = error.__cause__
    message = cause.diag.message_primary if isinstance(cause, psycopg.Error) else str(error)
    return storable(f"{type(error).__name__}: {message}"[:_LONGEST])
