"""What follows in journeys from an opt-out, in its transaction, with the customers locked; and from a suppression.

1. What waits to be sent about the topic by that channel is dropped, and its step skipped; what pages have yet to show
   about it is withdrawn. The answer waits where an attempt that was claimed before may yet begin.
2. Whoever has left the topic in all its channels leaves the journeys that are about it, if `onOptOut` says so. Who only
   pauses (`until`) stays inside.
"""

import time
from collections.abc import Collection, Sequence

from django.db import transaction

from customers.contact.consent import State
from customers.contact.ledger import About, Change, consents_of
from customers.models import Suppression, Topic
from engage.database.sql import Rows, Statement
from journeys.engine.due import Due
from journeys.engine.enrollments.transitions import EnrollmentExit, exit_enrollments
from journeys.engine.wakeups import wake
from journeys.engine.webhooks.claim_statements import BEGIN_SECONDS
from journeys.engine.webhooks.dropping import Dropped, drop_of_customers, drop_to_address

_WITHDRAW = Statement(
    """
UPDATE journeys_inappdelivery delivery SET state = 'withdrawn', ended_at = statement_timestamp(), because = asked.reason
FROM {asked}
WHERE delivery.customer_id = ANY(ARRAY[asked.customer_id]) AND delivery.ended_at IS NULL AND EXISTS (
    SELECT FROM journeys_steprun run
    WHERE run.enrollment_id = delivery.enrollment_id AND run.ordinal = delivery.ordinal
      AND run.policy->>'topic' = asked.topic
)
""",
    asked=Rows("asked", {"customer_id": "text", "topic": "text", "reason": "text"}),
)
_INSIDE = Statement(
    """
SELECT entered.id, asked.customer_id, asked.topic FROM {asked}
CROSS JOIN LATERAL (
    SELECT id, journey_id FROM journeys_enrollment known
    WHERE known.customer_id = asked.customer_id AND known.state = 'active'
) AS entered
CROSS JOIN LATERAL (SELECT * FROM journeys_journey known WHERE known.id = entered.journey_id LIMIT 1) AS journey
WHERE journey.topic = asked.topic AND journey.on_opt_out = 'exit'
""",
    asked=Rows("asked", {"customer_id": "text", "topic": "text"}),
)


def opted_out(changes: Sequence[Change]) -> None:
    """Does what follows from those of the changes that forbid something."""
    left = [one for one in changes if one.after.state is not State.SUBSCRIBED]
    if not left:
        return
    _after(drop_of_customers({one.about: _reason(one.about.topic) for one in left}))
    shown = [one.about for one in left if one.about.channel == "in_app"]
    if shown:
        _WITHDRAW.execute(asked=[(about.customer_id, about.topic, _reason(about.topic)) for about in shown])
    gone = [one for one in left if one.after.state is State.UNSUBSCRIBED and one.after.until is None]
    for workspace_id in {one.workspace_id for one in gone}:
        own = [one.about for one in gone if one.workspace_id == workspace_id]
        _exit(workspace_id, {(about.customer_id, about.topic) for about in own})


def _after(dropped: Dropped) -> None:
    if dropped.moved:
        transaction.on_commit(_wake_walkers, robust=True)
    if dropped.claimed:
        transaction.on_commit(_let_claims_pass, robust=True)


def _wake_walkers() -> None:
    wake(Due(walk=True))


def _let_claims_pass() -> None:
    time.sleep(BEGIN_SECONDS)


def _exit(workspace_id: str, left: Collection[tuple[str, str]]) -> None:
    """Ends what those are inside of who have left these topics in all their channels."""
    inside = _INSIDE.rows(asked=sorted(left))
    if not inside:
        return
    topics = Topic.objects.filter(workspace=workspace_id, key__in={topic for _, topic in left})
    held = consents_of(workspace_id=workspace_id, customer_ids={customer_id for customer_id, _ in left})
    out = {about for about, one in held.items() if one.state is State.UNSUBSCRIBED and one.until is None}
    whole = {
        (customer_id, topic.key)
        for topic in topics
        for customer_id, key in left
        if key == topic.key and all(About(customer_id, key, channel) in out for channel in topic.channels)
    }
    exit_enrollments(
        EnrollmentExit(enrollment_id=id_, reason=_reason(topic))
        for id_, customer_id, topic in inside
        if (customer_id, topic) in whole
    )


def on_suppression(suppressed: Suppression) -> None:
    """Drops what waits to be sent to the address, once that is committed."""

    def drop() -> None:
        with transaction.atomic():
            _after(drop_to_address(suppressed))

    transaction.on_commit(drop, robust=True)


def _reason(topic: str) -> str:
    return f"Unsubscribed from {topic!r}."
