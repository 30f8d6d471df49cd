"""What became due while a journey was held becomes due again, some at a time.

Webhooks come first, then enrollments, those that are due the longest first. With a pace, the first is due now and the
next a little later. While it lasts, walkers and senders put aside what became due before the resumption and was not put
aside before (walking/standings.py, webhooks/claims.py), so it is released in its turn as well.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.outages import unless_held_up
from engage.database.sql import Statement
from journeys.enrollments.transitions import release_parked
from journeys.models import Enrollment, Journey, WebhookDelivery

_AT_ONCE = 1_000
# How long walkers and senders may take after a resumption until they have come by whatever was due before.
_LOOK_OUT = timedelta(seconds=10)

_RELEASE_HELD = Statement(
    """
WITH held AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY due_at, id) - 1 AS place FROM (
        SELECT id, due_at FROM journeys_webhookdelivery, {in_index_order}
        WHERE held_for = {journey_id} AND state = 'held'
        ORDER BY due_at LIMIT {most} FOR NO KEY UPDATE OF journeys_webhookdelivery SKIP LOCKED
    ) AS first
)
UPDATE journeys_webhookdelivery delivery SET state = 'waiting', held_for = NULL,
    due_at = coalesce({start}::timestamptz + held.place * make_interval(secs => {seconds}), delivery.due_at)
FROM held WHERE delivery.id = ANY(ARRAY[held.id])
""",
    in_index_order=IN_INDEX_ORDER,
)


@dataclass(frozen=True, kw_only=True)
class Released:
    """How many were released, and whether that was all."""

    number: int
    finished: bool


def release(journey_id: str, *, seconds: float) -> int:
    """Releases what a resumed journey has put aside, for at most so long; returns how many. Safe to run twice.

    What others have locked for too long is left for the next time.
    """
    total, until = 0, time.monotonic() + seconds
    while True:
        some = Released(number=0, finished=False)
        with unless_held_up():
            some = _release_some(journey_id)
        total += some.number
        if some.finished or not some.number or time.monotonic() >= until:
            return total


def _release_some(journey_id: str) -> Released:
    """The journey's row is locked: nobody puts anything aside meanwhile, or releases at the same pace."""
    with transaction.atomic():
        resumed = Journey.objects.filter(id=journey_id, resumed_at__isnull=False, held_at__isnull=True)
        journey = resumed.select_for_update(no_key=True).annotate(now=Now()).first()
        if journey is None:
            return Released(number=0, finished=True)
        pace = 60 / journey.per_minute if journey.per_minute else 0.0
        start = max(journey.now, journey.next_release_at or journey.now) if pace else None
        number = _RELEASE_HELD.execute(journey_id=journey.id, start=start, seconds=pace, most=_AT_ONCE)
        number += release_parked(
            journey_id=journey.id, start=_later(start, number * pace), seconds=pace, most=_AT_ONCE - number
        )
        if start is not None:
            resumed.update(next_release_at=_later(start, number * pace))
        over = not pace or journey.resumed_at is None or journey.now > journey.resumed_at + _LOOK_OUT
        finished = over and not _is_anything_left(journey.id)
        if finished:
            resumed.update(resumed_at=None, per_minute=None, next_release_at=None)
        return Released(number=number, finished=finished)


def _later(start: datetime | None, seconds: float) -> datetime | None:
    return None if start is None else start + timedelta(seconds=seconds)


def _is_anything_left(journey_id: str) -> bool:
    """Also what another transaction holds at the moment."""
    return (
        WebhookDelivery.objects.filter(held_for=journey_id, state=WebhookDelivery.State.HELD).exists()
        or Enrollment.objects.filter(journey_id=journey_id, was_due_at__isnull=False).exists()
    )
