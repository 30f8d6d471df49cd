"""The locks under which enrollments change."""

import time
from collections.abc import Sequence

from engage.database.sql import Statement

_LOCK = Statement("""
SELECT id FROM customers_customer
WHERE id = ANY(ARRAY(SELECT customer_id FROM journeys_enrollment WHERE id = ANY({enrollment_ids}::text[])))
ORDER BY id FOR NO KEY UPDATE
""")


def lock_customers_of(enrollment_ids: Sequence[str]) -> set[str]:
    """Locks the enrollments' customers, in the order of their ids, until the transaction ends, and returns the ids."""
    return set(_LOCK.column(enrollment_ids=list(enrollment_ids)))


# Who has locked a customer's row holds this lock on the table as well until the transaction ends.
_LOCKERS = Statement("""
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'relation' AND relation = 'customers_customer'::regclass AND mode = 'RowShareLock' AND granted
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database()) AND pid <> pg_backend_pid()
""")
_LOOK_SECONDS = 0.02


def wait_for_lockers(*, seconds: float) -> bool:
    """Waits until every transaction has ended that locks customers now, and so may not yet see what was just committed.

    Returns False if that takes longer than `seconds`. Nobody waits for the caller, who must be in no transaction.
    """
    until, before = time.monotonic() + seconds, set(_LOCKERS.column())
    while before:
        if time.monotonic() >= until:
            return False
        time.sleep(_LOOK_SECONDS)
        before &= set(_LOCKERS.column())
    return True
