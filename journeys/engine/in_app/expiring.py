"""Deliveries that nobody has ended in time: a sweeper ends them, in sets, and records that."""

import operator
import time
from collections.abc import Iterator, Sequence
from functools import reduce

from django.db import transaction

from engage.database.alone import in_halves
from engage.database.sql import Statement
from journeys.engine.due import Due
from journeys.engine.in_app.transitions import State, count, expired_events
from journeys.engine.walking.reactions import record_and_react

_AT_ONCE = 500
_EXPIRING = Statement("""
SELECT id, customer_id FROM journeys_inappdelivery
WHERE ended_at IS NULL AND expires_at <= now() AND id <> ALL({but}::text[]) ORDER BY expires_at LIMIT {most}
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
    """Ends what has expired, for at most so long; what is to be done then. What cannot be ended holds up no other."""
    led_to, failed, until = list[Due](), list[str](), time.monotonic() + seconds
    while time.monotonic() < until:
        found, ended = _EXPIRING.rows(most=_AT_ONCE, but=failed), len(led_to)
        left = in_halves("in_app_expiry", lambda some: led_to.extend(_expire(some)), found) if found else []
        failed += [delivery_id for delivery_id, _ in left]
        if len(found) < _AT_ONCE or (len(led_to) == ended and not left):
            break
    return reduce(operator.or_, led_to, Due())


def _expire(found: Sequence[tuple[str, str]]) -> Iterator[Due]:
    """Ends those whose customers nobody has locked; nothing if that is none."""
    with transaction.atomic():
        held = _LOCK.column(customer_ids=list({customer_id for _, customer_id in found}))
        if rows := _EXPIRE.records(ids=[delivery_id for delivery_id, _ in found], customer_ids=held):
            count(rows, [State.EXPIRED])
            yield record_and_react(list(expired_events(rows)))
