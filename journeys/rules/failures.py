"""Work that fails: what becomes of it, how often it is tried, how long it waits, and what is recorded about it."""

from enum import Enum, auto

import psycopg

from engage.database.outages import is_cut_off, is_environmental, is_held_up, is_left_idle
from engage.json.storable import storable

GIVEN_UP = "Given up after "  # how the reason of an exit, or of a job, then begins
MAX_ATTEMPTS = 5
_LONGEST_RECORD = 300  # characters


class Verdict(Enum):
    """What becomes of work that failed: chunks of jobs, or claimed enrollments.

    CUT_OFF: the connection is lost, and with it the attempt. It does not count; what was tried alone is snoozed.
    LEFT_IDLE: so it is, because this work alone took so long meanwhile. It counts, as where the worker had died.
    RELEASE: others held a lock that it needs. The attempt does not count.
    SNOOZE: it may be no fault of the work, which is alone. It is retried for as long as it takes, always alone.
    RETRY: the attempt counts. Work that was tried together is tried one by one, and each MAX_ATTEMPTS times; given up
    is what has had as many when it is claimed once more, so that an attempt counts at which the worker died.
    """

    CUT_OFF = auto()
    LEFT_IDLE = auto()
    RELEASE = auto()
    SNOOZE = auto()
    RETRY = auto()


def verdict(error: Exception, *, attempts: int, alone: bool) -> Verdict:
    """What becomes of work whose attempt failed so; `attempts` counts this one, and what is `alone` is one piece."""
    table = (  # the first that holds
        (attempts > 1 and is_left_idle(error), Verdict.LEFT_IDLE),
        (is_cut_off(error), Verdict.CUT_OFF),
        (attempts == 1 and is_held_up(error), Verdict.RELEASE),
        (alone and is_environmental(error), Verdict.SNOOZE),
        (True, Verdict.RETRY),
    )
    return next(found for holds, found in table if holds)


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


SNOOZE_SECONDS = 5.0  # until work is tried again that failed alone, perhaps through no fault of its own


def why_given_up(error: str, *, at: str) -> str:
    """Why something that was tried MAX_ATTEMPTS times has failed for good.

    Its last error; if it has none, each worker died `at` it ("deciding").
    """
    return f"{GIVEN_UP}{MAX_ATTEMPTS} attempts: {error or f'the worker died while {at} it.'}"
