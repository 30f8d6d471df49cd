"""Drops what may not be sent any more: by an opt-out, by a suppressed address, or by what a claim finds when it asks.

1. A dropped delivery moves its enrollment, whose step is then skipped. Its caps have it back (a trigger of its table).
2. An attempt may have been claimed just before. It begins soon after its claim began to look (claims.py), or never; so
   whoever drops what may be claimed answers only once that time is over: no attempt begins after the answer
   (walking/opted_out.py).
3. What was written while an address was suppressed, and what the policy forbids by now, is found by the claim.
"""

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import structlog

from customers.contact.ledger import About
from customers.models import Suppression
from engage.database.sql import Rows, Statement
from journeys.engine.enrollments.transitions import MOVE_ANSWERED
from journeys.engine.webhooks.claim_statements import LEASE_SECONDS

log = structlog.get_logger(__name__)


class Barred(NamedTuple):
    """A delivery that may not be sent any more, the rule that says so, and why in words."""

    id: int
    rule: str
    reason: str


class Dropped(NamedTuple):
    """How many were dropped, how many of them may be claimed at this moment, and how many enrollments may go on."""

    number: int = 0
    claimed: int = 0
    moved: int = 0


# Each is looked up by its key (docs/sql.md).
_OF_CUSTOMERS = Statement(
    """
SELECT sent.id, asked.topic FROM {asked}
CROSS JOIN LATERAL (SELECT id FROM journeys_enrollment known WHERE known.customer_id = asked.customer_id) AS entered
CROSS JOIN LATERAL (
    SELECT known.id, known.contact, known.state FROM journeys_webhookdelivery known
    WHERE known.enrollment_id = entered.id AND known.contact IS NOT NULL
) AS sent
WHERE sent.state IN ('waiting', 'held') AND sent.contact->>'topic' = asked.topic
  AND sent.contact->>'channel' = asked.channel AND NOT (sent.contact->'transactional')::bool
""",
    asked=Rows("asked", {"customer_id": "text", "topic": "text", "channel": "text"}),
)
_TO_ADDRESS = Statement("""
SELECT id FROM journeys_webhookdelivery
WHERE workspace_id = {workspace_id} AND contact->>'address' = {address} AND contact IS NOT NULL
  AND state IN ('waiting', 'held') AND ({all_of_them} OR NOT (contact->'transactional')::bool)
""")
_LOCK = """
SELECT sent.id FROM (
    SELECT asked.id, entered.customer_id FROM unnest({ids}::bigint[]) AS asked (id)
    CROSS JOIN LATERAL (SELECT * FROM journeys_webhookdelivery known WHERE known.id = asked.id LIMIT 1) AS sent
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment known WHERE known.id = sent.enrollment_id LIMIT 1
    ) AS entered
    ORDER BY entered.customer_id OFFSET 0
) AS sent
CROSS JOIN LATERAL (
    SELECT id FROM customers_customer known WHERE known.id = sent.customer_id LIMIT 1 FOR NO KEY UPDATE {held}
) AS customer
"""
_LOCK_ALL, _LOCK_FREE = Statement(_LOCK, held=""), Statement(_LOCK, held="SKIP LOCKED")
_DROP = Statement(
    """
WITH known AS MATERIALIZED (
    SELECT barred.*, sent.enrollment_id, sent.ordinal, sent.again,
           sent.state = 'waiting' AND sent.due_at > now() AND sent.due_at <= now() + {lease} * interval '1 second'
               AS may_be_claimed
    FROM (SELECT * FROM {barred} ORDER BY id OFFSET 0) AS barred
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_webhookdelivery one
        WHERE one.id = barred.id AND one.state IN ('waiting', 'held') LIMIT 1 FOR NO KEY UPDATE
    ) AS sent
), dropped AS (
    UPDATE journeys_webhookdelivery delivery SET state = 'dropped', result = known.reason, due_at = now()
    FROM known WHERE delivery.id = ANY(ARRAY[known.id])
), told AS (
    UPDATE journeys_steprun run SET policy = jsonb_build_object('verdict', 'skip', 'rule', known.rule, 'until', NULL)
    FROM known WHERE run.enrollment_id = ANY(ARRAY[known.enrollment_id]) AND run.ordinal = known.ordinal
      AND NOT known.again
), answered AS (
    SELECT standing.id FROM known
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_steprun run
        WHERE run.enrollment_id = known.enrollment_id AND run.ordinal = known.ordinal LIMIT 1
    ) AS run
    CROSS JOIN LATERAL (
        SELECT * FROM journeys_enrollment standing WHERE standing.id = known.enrollment_id LIMIT 1
    ) AS standing
    WHERE NOT known.again AND run.state = 'waiting' AND standing.state = 'active' AND standing.step_id = run.step_id
), moved AS ({move_answered})
SELECT (SELECT count(*) FROM known), (SELECT count(*) FROM known WHERE may_be_claimed), (SELECT count(*) FROM moved)
""",
    move_answered=MOVE_ANSWERED,
    lease=str(LEASE_SECONDS),
    barred=Rows("barred", {"id": "bigint", "rule": "text", "reason": "text"}),
)


def drop(barred: Sequence[Barred], *, wait: bool = True) -> Dropped:
    """Drops those that have not ended. Must run in a transaction, in which it locks their customers.

    Those whom others have locked are waited for, or passed over.
    """
    ids = [one.id for one in barred]
    locked = set((_LOCK_ALL if wait else _LOCK_FREE).column(ids=ids)) if barred else set()
    if not locked:
        return Dropped()
    (row,) = _DROP.rows(barred=[one for one in barred if one.id in locked])
    dropped = Dropped(*row)
    if dropped.number:
        log.info("messages_dropped", messages=dropped.number)
    return dropped


def drop_of_customers(reasons: Mapping[About, str]) -> Dropped:
    """Drops what waits to be sent to these customers about these topics by these channels, and why."""
    why = {about.topic: reason for about, reason in reasons.items()}
    return drop([Barred(id_, "consent", why[topic]) for id_, topic in _OF_CUSTOMERS.rows(asked=sorted(reasons))])


def drop_to_address(suppressed: Suppression) -> Dropped:
    """Drops what waits to be sent to the address; as drop.

    To be called once the suppression is committed: so each claim has either found that, or is found here.
    """
    found = _TO_ADDRESS.column(
        workspace_id=suppressed.workspace_id,
        address=suppressed.digest,
        all_of_them=suppressed.reason != Suppression.Reason.COMPLAINT,
    )
    return drop([Barred(id_, "reach", f"The address is suppressed ({suppressed.reason}).") for id_ in found])
