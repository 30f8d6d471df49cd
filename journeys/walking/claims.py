"""Which enrollments a walker claims, and what happens to those that fail."""

from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection
from django.db.models.functions import Now

from engage.named_rows import named_rows
from journeys.failures import PUT_OFF, PUT_OFF_SECONDS, pause_after
from journeys.models import Enrollment

BATCH = 500


@dataclass(frozen=True, kw_only=True)
class ClaimedEnrollment:
    """An enrollment that is due; `attempts` counts this one."""

    id: str
    attempts: int


# Customers and enrollments are locked for the statement only, and skipped if another transaction has locked them. Of
# one customer's enrollments one is taken, since what it does may affect the others: the one that was due first, or that
# was queued first. One that was tried before is taken alone.
# The lease is short: while the walker lives, its locks on the customers keep other walkers away.
#
# The planner's statistics may be from a time when no enrollment was due, or no customer existed, so it has no choice:
# each customer is looked up by key, as in deciding/waiting_jobs.py, not before it is the enrollment's turn; and the
# update selects by id alone, since what is locked is known to be due.
_CLAIM = """
WITH due AS MATERIALIZED (
    SELECT enrollment.*
    FROM (
        SELECT id, customer_id, due_at, job_id FROM journeys_enrollment WHERE due_at <= now() AND {whose}
        ORDER BY due_at OFFSET 0 FOR NO KEY UPDATE SKIP LOCKED
    ) AS enrollment
    CROSS JOIN LATERAL (
        SELECT FROM customers_customer known WHERE known.id = enrollment.customer_id
        LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED
    ) AS customer
    LIMIT %(most)s
), chosen AS (
    SELECT DISTINCT ON (customer_id) id FROM due ORDER BY customer_id, due_at, job_id
)
UPDATE journeys_enrollment SET attempts = attempts + 1, due_at = now() + interval '5 seconds'
WHERE id = ANY(ARRAY(SELECT id FROM chosen))
RETURNING id, attempts
"""


def claim_fresh() -> list[ClaimedEnrollment]:
    """At most BATCH due enrollments not tried before, the longest due first, each of a different customer."""
    return _claim("attempts = 0", most=BATCH)


def claim_tried() -> list[ClaimedEnrollment]:
    """One due enrollment that was tried before; it is walked alone, so that it cannot spoil others."""
    return _claim("attempts > 0", most=1)


def _claim(whose: str, *, most: int) -> list[ClaimedEnrollment]:
    """Each condition is part of the statement's text, so that its partial index serves it."""
    with connection.cursor() as cursor:
        cursor.execute(_CLAIM.replace("{whose}", whose), {"most": most})
        return [ClaimedEnrollment(**row) for row in named_rows(cursor)]


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


# Rows are updated by key, as in deciding/waiting_jobs.py; `|| ''` keeps the index of the active ones out of it.
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
UPDATE journeys_enrollment enrollment SET attempts = enrollment.attempts - 1, due_at = now() + make_interval(secs => %s)
FROM unnest(%s::text[], %s::int[]) AS claimed(id, attempts)
WHERE enrollment.id = ANY(ARRAY[claimed.id]) AND enrollment.attempts = claimed.attempts
  AND enrollment.state || '' = 'active'
"""


def put_back(claimed: Sequence[ClaimedEnrollment], *, seconds: float = 0.0) -> None:
    """Returns enrollments that were not tried: they are due again after these seconds, and the claim does not count."""
    if not claimed:
        return
    with connection.cursor() as cursor:
        cursor.execute(_PUT_BACK, [seconds, [one.id for one in claimed], [one.attempts for one in claimed]])
