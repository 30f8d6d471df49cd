"""A journey is held, and resumed.

While it is held, nobody steps and no attempt at a webhook begins. It takes in whom it would take in, events end waits,
and waits go on: whoever's turn comes is suspended until the journey is resumed.
"""

from collections.abc import Mapping
from datetime import timedelta
from typing import Any

import structlog
from django.db import transaction
from django.db.models.functions import Now
from django.utils import timezone

from engage.errors import Refusal
from engage.feed import FeedType, tell
from journeys.engine.enrollments.locks import not_ended, under_way
from journeys.engine.steering.acts import Steered, queued_and_inside, record_act
from journeys.engine.steering.releasing import release
from journeys.models import Enrollment, GuardedResults, Journey, SteeringAct, WebhookDelivery

log = structlog.get_logger(__name__)
MOST_PER_MINUTE = 1_000_000
# A walker's batch takes a few seconds at most, or PostgreSQL ends it.
LONGEST_WALK_SECONDS = 8.0
_RELEASE_SECONDS = 5.0


class JourneyAborted(Refusal):
    """The journey is aborted, and nobody is inside; it may be activated again."""

    status = 409
    error = "Journey aborted"
    says = "The journey is aborted: there is nothing to hold or to resume. It can be activated."


def locked(journey: Journey) -> Journey:
    """The journey as it is now, locked until the transaction ends."""
    return Journey.objects.select_for_update(no_key=True).get(workspace_id=journey.workspace_id, id=journey.id)


def hold(journey: Journey, *, reason: str, actor: str, dry_run: bool = False) -> Steered:
    """Holds the journey. When it returns, no step is under way, and none begins; attempts may begin for half a second.

    It says so if a walker has not ended within some seconds: that one's step is not `settled`. One that is held already
    stays as it is, and is waited for as well. Raises JourneyAborted.
    """
    with transaction.atomic():
        journey = locked(journey)
        if journey.aborted_at is not None:
            raise JourneyAborted
        changed = journey.held_at is None
        queued, inside = queued_and_inside(journey)
        if changed and not dry_run:
            put_on_hold(journey, reason=reason, actor=actor, queued=queued, inside=inside)
    settled = dry_run or not not_ended(under_way(), seconds=LONGEST_WALK_SECONDS)
    if not settled:
        log.warning("hold_waited_in_vain", journey_id=journey.id)
    return Steered(
        journey_id=journey.id,
        state=Journey.State.HELD,
        dry_run=dry_run,
        changed=changed,
        queued=queued,
        inside=inside,
        settled=settled,
    )


def put_on_hold(
    journey: Journey,
    *,
    reason: str,
    actor: str,
    act: SteeringAct.Kind = SteeringAct.Kind.HOLD,
    also: Mapping[str, Any] | None = None,
    **numbers: int,
) -> None:
    """Holds a journey that the caller has locked, and sets what the act sets beside that."""
    unset = {"resumed_at": None, "per_minute": None, "next_release_at": None}
    held = {"held_at": Now(), "held_by": actor, "held_because": reason, **unset, **(also or {})}
    Journey.objects.filter(id=journey.id).update(**held)
    record_act(act, journey, actor=actor, reason=reason, **numbers)
    if act is SteeringAct.Kind.HOLD:
        tell(FeedType.JOURNEY_HELD, workspace_id=journey.workspace_id, journey_id=journey.id, reason=reason)


def resume(
    journey: Journey, *, reason: str, actor: str, per_minute: int | None = None, dry_run: bool = False
) -> Steered:
    """Resumes the journey. What became due meanwhile is due again: at once, or so many per minute.

    One that is being resumed gets this pace. Any other that is not held stays as it is. The caller wakes the workers.
    Raises JourneyAborted.
    """
    if journey.held_at is not None and not dry_run:
        forget_results(journey)
    with transaction.atomic():
        journey = locked(journey)
        if journey.aborted_at is not None:
            raise JourneyAborted
        changed = journey.held_at is not None or (journey.is_being_resumed and journey.per_minute != per_minute)
        released = count_suspended(journey) if changed else 0
        queued, inside = queued_and_inside(journey)
        if changed and not dry_run:
            _go_on(journey, reason=reason, actor=actor, per_minute=per_minute, released=released)
    until = timezone.now() + timedelta(minutes=released / per_minute) if per_minute and released else None
    if changed and not dry_run:
        release(journey.id, seconds=_RELEASE_SECONDS)
    return Steered(
        journey_id=journey.id,
        state=_state_without_hold(journey),
        dry_run=dry_run,
        changed=changed,
        queued=queued,
        inside=inside,
        released=released,
        released_until=until,
    )


def forget_results(journey: Journey) -> None:
    """Its guard begins anew. Before the journey is locked, as in guards.py."""
    GuardedResults.objects.filter(journey_id=journey.id).delete()


def count_suspended(journey: Journey) -> int:
    """How many enrollments and webhooks have become due while it was held, and were not released since."""
    suspended = Enrollment.objects.filter(journey_id=journey.id, was_due_at__isnull=False)
    held = WebhookDelivery.objects.filter(held_for=journey.id, state=WebhookDelivery.State.HELD)
    return suspended.count() + held.count()


def _go_on(journey: Journey, *, reason: str, actor: str, per_minute: int | None, released: int) -> None:
    Journey.objects.filter(id=journey.id).update(
        held_at=None,
        held_by="",
        held_because="",
        resumed_at=journey.resumed_at or Now(),
        per_minute=per_minute,
        next_release_at=Now() if per_minute else None,
    )
    record_act(SteeringAct.Kind.RESUME, journey, actor=actor, reason=reason, released=released, per_minute=per_minute)


def _state_without_hold(journey: Journey) -> Journey.State:
    return Journey.State.ACTIVE if journey.active else Journey.State.CLOSED
