"""What becomes of work that failed, by its error, its attempts and whether it was alone."""

from enum import Enum

import psycopg
from django.db import DatabaseError, DataError, OperationalError

from engage.credentials.encryption import UnknownEncryptionKey
from journeys.rules.failures import Verdict, verdict
from tests.support.cases import each


def of_database(cause: psycopg.Error, error: type[DatabaseError] = OperationalError) -> DatabaseError:
    raised = error()
    raised.__cause__ = cause
    return raised


class Cause(Enum):
    CONNECTION = of_database(psycopg.errors.AdminShutdown())
    LOCK = of_database(psycopg.errors.LockNotAvailable())
    DISK = of_database(psycopg.errors.DiskFull())
    RIGHT = of_database(psycopg.errors.InsufficientPrivilege(), DatabaseError)
    KEY = UnknownEncryptionKey()
    DEADLOCK = of_database(psycopg.errors.DeadlockDetected())
    VALUE = of_database(psycopg.errors.NumericValueOutOfRange(), DataError)
    OURS = ZeroDivisionError()


@each(
    "attempts, alone, verdicts",
    [
        (1, False, "CUT_OFF RELEASE RETRY RETRY RETRY RETRY RETRY RETRY"),
        (1, True, "CUT_OFF RELEASE SNOOZE SNOOZE SNOOZE RETRY RETRY RETRY"),
        (2, False, "CUT_OFF RETRY RETRY RETRY RETRY RETRY RETRY RETRY"),
        (2, True, "CUT_OFF SNOOZE SNOOZE SNOOZE SNOOZE RETRY RETRY RETRY"),
        (6, True, "CUT_OFF SNOOZE SNOOZE SNOOZE SNOOZE RETRY RETRY RETRY"),
    ],
)
def test_the_verdict_on_work_that_failed(attempts: int, alone: bool, verdicts: str) -> None:
    said = {cause.name: verdict(cause.value, attempts=attempts, alone=alone) for cause in Cause}
    assert said == {cause.name: Verdict[name] for cause, name in zip(Cause, verdicts.split(), strict=True)}
