"""The locks under which enrollments change."""

import time
from collections.abc import Hashable, Sequence

from engage.database.sql import Statement

_KEY = "hashtextextended('engage: steps and decides', 0)"
# Ends a statement that locks customers as the relation `held`, and gives their ids. Once all of them are locked, it
# marks the transaction, until its end, as one of those who step or let in; whoever waits for locks is not marked yet.
HELD_AND_MARKED = (
    f"SELECT id FROM held UNION ALL SELECT NULL WHERE (SELECT pg_advisory_xact_lock_shared({_KEY})) IS NULL"  # noqa: S608
)

_LOCK = """
WITH held AS MATERIALIZED (
    SELECT id FROM customers_customer
    WHERE id = ANY(ARRAY(SELECT customer_id FROM journeys_enrollment WHERE id = ANY({enrollment_ids}::text[])))
    ORDER BY id FOR NO KEY UPDATE {locked}
)
{held_and_marked}
"""
_LOCK_ALL = Statement(_LOCK, held_and_marked=HELD_AND_MARKED, locked="")
_LOCK_FREE = Statement(_LOCK, held_and_marked=HELD_AND_MARKED, locked="SKIP LOCKED")


def lock_customers_of(enrollment_ids: Sequence[str], *, wait: bool = True) -> set[str]:
    """Locks the enrollments' customers, in the order of their ids, until the transaction ends, and returns the ids.

    Those whom others have locked are waited for, or passed over.
    """
    return set((_LOCK_ALL if wait else _LOCK_FREE).column(enrollment_ids=list(enrollment_ids)))


_UNDER_WAY = Statement(
    """
SELECT virtualtransaction FROM pg_locks
WHERE locktype = 'advisory' AND mode = 'ShareLock' AND objsubid = 1
  AND (classid::bigint << 32) | objid::bigint = {key} AND pid <> pg_backend_pid()
  AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
""",
    key=_KEY,
)
_LOOK_SECONDS = 0.02
# Of this process: those who were under way when it first asked on behalf of something, and had not ended lately.
_remembered: dict[Hashable, set[str]] = {}
_MOST_REMEMBERED = 100


def under_way() -> set[str]:
    """The transactions that step or let in at this moment, and so may not yet see what was just committed."""
    return set(_UNDER_WAY.column())


def not_ended(transactions: set[str], *, seconds: float) -> set[str]:
    """Those of the transactions that have not ended; it waits for them for at most so long.

    Nobody waits for the caller, who must be in no transaction.
    """
    until = time.monotonic() + seconds
    while (left := transactions & under_way()) and time.monotonic() < until:
        time.sleep(_LOOK_SECONDS)
    return left


def all_ended(about: Hashable, *, patience: float) -> bool:
    """Whether all have ended who were under way when this process first asked about this; it waits at most so long."""
    known = _remembered.pop(about, None)
    left = not_ended(under_way() if known is None else known, seconds=patience)
    if left:
        if len(_remembered) >= _MOST_REMEMBERED:
            _remembered.clear()
        _remembered[about] = left
    return not left
