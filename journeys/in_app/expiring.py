"""Deliveries that nobody has ended in time: a sweeper ends them, in sets, and records that."""

import time

from django.db import transaction

from engage.database.sql import Statement
from journeys.due import Due
from journeys.in_app.transitions import State, count, expired_events
from journeys.walking.reactions import record_and_react

_AT_ONCE = 500
_EXPIRING = Statement("""
SELECT id, customer_id FROM journeys_inappdelivery
WHERE ended_at IS NULL AND expires_at <= now() ORDER BY expires_at LIMIT {most}
""")
# As everybody does who records events: customers first, in the order of their ids. Who is locked is left for later.
_LOCK = Statement("""
SELECT id FROM customers_customer WHERE id = ANY({customer_ids}::text[]) ORDER BY id FOR NO KEY UPDATE SKIP LOCKED
""")
_EXPIRE = Statement("""
UPDATE journeys_inappdelivery SET state = 'expired', ended_at = now()
WHERE id = ANY({ids}::text[]) AND customer_id = ANY({customer_ids}::text[]) AND ended_at IS NULL
RETURNING *
""")


def expire(*, seconds: float) -> Due:
    """Ends what has expired, for at most so long; what is to be done then."""
    due, until = Due(), time.monotonic() + seconds
    while time.monotonic() < until:
        number, led_to = _expire_some()
        due |= led_to
        if number < _AT_ONCE:
            break
    return due


def _expire_some() -> tuple[int, Due]:
    found = _EXPIRING.rows(most=_AT_ONCE)
    if not found:
        return 0, Due()
    with transaction.atomic():
        held = _LOCK.column(customer_ids=list({customer_id for _, customer_id in found}))
        rows = _EXPIRE.records(ids=[delivery_id for delivery_id, _ in found], customer_ids=held)
        if not rows:
            return 0, Due()
        count(rows, [State.EXPIRED])
        return len(rows), record_and_react(list(expired_events(rows)))
