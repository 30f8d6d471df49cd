"""What became due while a journey was held becomes due again, some at a time.

Webhooks come first, then enrollments, those that are due the longest first. With a pace, the first is due now and the
next a little later:

1. Only those are released whose turn comes within some seconds; a sweeper comes back for the others. So the pace can be
   changed, and a hold finds all who have not gone on where they were suspended.
2. Walkers and senders suspend what became due before the resumption and was not suspended before
   (walking/positions.py, webhooks/claims.py), so it is released in its turn as well. The pace lasts until nothing of
   that is due: a host may be left alone for hours, and walkers may be behind.
3. Webhooks that are released while their host is left alone would go to it all at once afterwards. So no more are
   released for a step at a host while one waits there longer than it should. A released one is known by `held_for`.
"""

import time
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import transaction
from django.db.models.functions import Now

from engage.database.index_order import IN_INDEX_ORDER
from engage.database.outages import unless_held_up
from engage.database.sql import Statement
from journeys.engine.enrollments.postponing import resume_suspended
from journeys.models import Enrollment, Journey, WebhookDelivery

_AT_ONCE = 1_000
_AHEAD = timedelta(seconds=10)  # how long before their turn they are released
_MOST_LOOKED_AT = 5_000  # of what is due: behind as many, there may be more

_RELEASE_HELD = Statement(
    """
WITH late AS MATERIALIZED (
    SELECT host, ordinal FROM journeys_webhookdelivery
    WHERE state = 'waiting' AND workspace_id = {workspace_id} AND due_at <= now() - interval '5 seconds'
      AND held_for = {journey_id}
), held AS MATERIALIZED (
    SELECT id, row_number() OVER (ORDER BY due_at, id) - 1 AS place FROM (
        SELECT id, due_at FROM journeys_webhookdelivery, {in_index_order}
        WHERE held_for = {journey_id} AND state = 'held'
          AND NOT EXISTS (SELECT FROM late WHERE late.host = journeys_webhookdelivery.host
                          AND late.ordinal = journeys_webhookdelivery.ordinal)
        ORDER BY due_at LIMIT {most} FOR NO KEY UPDATE OF journeys_webhookdelivery SKIP LOCKED
    ) AS first
)
UPDATE journeys_webhookdelivery delivery SET state = 'waiting',
    held_for = CASE WHEN {start}::timestamptz IS NOT NULL THEN delivery.held_for END,
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
    """Releases what a resumed journey has suspended, for at most so long; returns how many. Safe to run twice.

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
        most = _AT_ONCE if start is None else _turns(start, until=journey.now + _AHEAD, seconds=pace)
        number = _RELEASE_HELD.execute(
            workspace_id=journey.workspace_id, journey_id=journey.id, start=start, seconds=pace, most=most
        )
        number += resume_suspended(
            journey_id=journey.id, start=_later(start, number * pace), seconds=pace, most=most - number
        )
        if start is not None:
            resumed.update(next_release_at=_later(start, number * pace))
        finished = not _is_anything_left(journey.id) and not (pace and _is_anything_due(journey))
        if finished:
            resumed.update(resumed_at=None, per_minute=None, next_release_at=None)
        return Released(number=number, finished=finished)


def _later(start: datetime | None, seconds: float) -> datetime | None:
    return None if start is None else start + timedelta(seconds=seconds)


def _turns(start: datetime, *, until: datetime, seconds: float) -> int:
    """How many have their turns from `start` on, so many seconds apart, until then."""
    return max(0, min(_AT_ONCE, 1 + int((until - start) / timedelta(seconds=seconds)))) if start <= until else 0


_IS_ANYTHING_DUE = Statement(
    """
WITH enrollments AS MATERIALIZED (
    SELECT journey_id FROM journeys_enrollment, {in_index_order}
    WHERE due_at < {resumed_at} ORDER BY due_at LIMIT {most}
), deliveries AS MATERIALIZED (
    SELECT enrollment_id, held_for, due_at FROM journeys_webhookdelivery
    WHERE state = 'waiting' AND workspace_id = {workspace_id} AND due_at <= now() LIMIT {most}
)
SELECT {most} IN ((SELECT count(*) FROM enrollments), (SELECT count(*) FROM deliveries))
    OR EXISTS (SELECT FROM enrollments WHERE journey_id = {journey_id})
    OR EXISTS (
        SELECT FROM deliveries CROSS JOIN LATERAL (
            SELECT * FROM journeys_enrollment known WHERE known.id = deliveries.enrollment_id LIMIT 1
        ) AS standing
        WHERE standing.journey_id = {journey_id}
          AND (deliveries.due_at < {resumed_at} OR deliveries.held_for = {journey_id})
    )
""",
    in_index_order=IN_INDEX_ORDER,
)


def _is_anything_due(journey: Journey) -> bool:
    """Whether anything from before the resumption is due, or may be; also what was released and has not gone on."""
    return bool(
        _IS_ANYTHING_DUE.column(
            workspace_id=journey.workspace_id,
            journey_id=journey.id,
            resumed_at=journey.resumed_at,
            most=_MOST_LOOKED_AT,
        )[0]
    )


def _is_anything_left(journey_id: str) -> bool:
    """Also what another transaction holds at the moment."""
    return (
        WebhookDelivery.objects.filter(held_for=journey_id, state=WebhookDelivery.State.HELD).exists()
        or Enrollment.objects.filter(journey_id=journey_id, was_due_at__isnull=False).exists()
    )
