"""Enrollments that a walker has claimed: the locks on their customers, and what happens to those that fail."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models.functions import Now

from journeys.failures import PUT_OFF, PUT_OFF_SECONDS, pause_after
from journeys.models import Enrollment


@dataclass(frozen=True, kw_only=True)
class ClaimedEnrollment:
    """An enrollment that was due at `due_at` (as PostgreSQL writes it); `attempts` counts this one."""

    id: str
    attempts: int
    due_at: str


def is_anybody_due() -> bool:
    """Whether an enrollment is due and not claimed: after a claim that found none, one whose customer is locked."""
    return Enrollment.objects.filter(due_at__lte=Now()).exists()


_LOCK = """
SELECT id FROM customers_customer
WHERE id = ANY(ARRAY(SELECT customer_id FROM journeys_enrollment WHERE id = ANY(%s::text[])))
ORDER BY id FOR NO KEY UPDATE
"""


def lock_customers_of(enrollment_ids: Sequence[str]) -> None:
    """Locks the rows of the enrollments' customers, in the order of their ids, until the transaction ends."""
    with connection.cursor() as cursor:
        cursor.execute(_LOCK, [list(enrollment_ids)])


# Rows are updated by key, as in entering/waiting_jobs.py; `|| ''` keeps the index of the active ones out of it.
_HOLD_BACK = """
UPDATE journeys_enrollment enrollment SET error = failed.error, due_at = now() + {pause}
FROM unnest(%s::text[], %s::int[], %s::text[]) AS failed(id, attempts, error)
WHERE enrollment.id = ANY(ARRAY[failed.id]) AND enrollment.attempts = failed.attempts
  AND enrollment.state || '' = 'active'
""".replace("{pause}", pause_after("enrollment.attempts"))


@dataclass(frozen=True, kw_only=True)
class FailedAttempt:
    """A failed attempt at a claimed enrollment, and why it failed."""

    claimed: ClaimedEnrollment
    error: str


def hold_back(failures: Sequence[FailedAttempt]) -> None:
    """Records why attempts failed, and delays the next ones."""
    if not failures:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _HOLD_BACK,
            [
                [failure.claimed.id for failure in failures],
                [failure.claimed.attempts for failure in failures],
                [failure.error for failure in failures],
            ],
        )


_PUT_OFF = """
UPDATE journeys_enrollment
SET error = %s, {put_off}
WHERE id = %s AND attempts = %s AND state = 'active'
""".replace("{put_off}", PUT_OFF)


def put_off(failure: FailedAttempt) -> None:
    """Records why one enrollment, tried alone, failed, if that may be no fault of the enrollment.

    It is retried for as long as it takes, always alone: if it is at fault after all, it costs others nothing.
    """
    with connection.cursor() as cursor:
        cursor.execute(_PUT_OFF, [failure.error, PUT_OFF_SECONDS, failure.claimed.id, failure.claimed.attempts])


_PUT_BACK = """
UPDATE journeys_enrollment enrollment
SET attempts = enrollment.attempts - 1, due_at = coalesce(now() + make_interval(secs => %s), claimed.due_at)
FROM unnest(%s::text[], %s::int[], %s::timestamptz[]) AS claimed(id, attempts, due_at)
WHERE enrollment.id = ANY(ARRAY[claimed.id]) AND enrollment.attempts = claimed.attempts
  AND enrollment.state || '' = 'active'
"""


def put_back(claimed: Sequence[ClaimedEnrollment], *, seconds: float | None = None) -> None:
    """Returns enrollments that were not tried: the claim does not count, and they are as long due as before.

    With `seconds`, they are due after these.
    """
    if not claimed:
        return
    with connection.cursor() as cursor:
        cursor.execute(
            _PUT_BACK,
            [
                seconds,
                [one.id for one in claimed],
                [one.attempts for one in claimed],
                [one.due_at for one in claimed],
            ],
        )
