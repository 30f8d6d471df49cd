"""A journey is aborted: it takes in nobody, and all who are inside leave it.

1. It is closed, and held until all have left: nobody steps, and no attempt at a webhook begins.
2. Once the decisions that were under way have been committed, nobody comes in any more. Whoever lets people out waits
   for that first.
3. Those inside are exited, some at a time. If the process dies, another one goes on (going_on.py).
"""

import time
from collections.abc import Sequence

from django.db import transaction
from django.db.models.functions import Now

from engage.database.outages import unless_held_up
from engage.database.sql import Statement
from journeys.enrollments.locks import lock_customers_of, wait_for_lockers
from journeys.enrollments.transitions import EnrollmentExit, exit_enrollments
from journeys.models import Enrollment, Journey, SteeringAct
from journeys.steering.acts import Steered, queued_and_inside
from journeys.steering.holding import LONGEST_WALK_SECONDS, forget_results, locked, put_on_hold
from journeys.steering.releasing import release

_EXIT_SECONDS = 10.0
_AT_ONCE = 500


def abort(journey: Journey, *, reason: str, actor: str, dry_run: bool = False) -> Steered:
    """Aborts the journey. If more are inside than leave within some seconds, the others leave with the next ticks.

    One that is aborted already, with nobody inside, stays as it is.
    """
    if not dry_run:
        forget_results(journey)
    with transaction.atomic():
        journey = locked(journey)
        queued, inside = queued_and_inside(journey)
        changed = journey.aborted_at is None or (journey.held_at is None and inside > 0)
        if changed and not dry_run:
            closed = {"active": False, "updated_at": Now(), "aborted_at": Now()}
            put_on_hold(
                journey,
                reason=reason,
                actor=actor,
                act=SteeringAct.Kind.ABORT,
                also=closed,
                queued=queued,
                inside=inside,
            )
    exited = inside
    if not dry_run:
        exited = let_out(journey.id, seconds=_EXIT_SECONDS)
        queued, inside = queued_and_inside(journey)
    return Steered(
        journey_id=journey.id,
        state=Journey.State.ABORTED,
        changed=changed,
        queued=queued,
        inside=0 if dry_run else inside,
        exited=exited,
    )


def let_out(journey_id: str, *, seconds: float) -> int:
    """Exits those who are inside an aborted journey, for at most so long; returns how many. Safe to run twice.

    Nobody, if some are deciding for longer than it waits for them: they may yet let somebody in.
    """
    aborting = Journey.objects.filter(id=journey_id, aborted_at__isnull=False, held_at__isnull=False)
    journey = aborting.first()
    if journey is None or not wait_for_lockers(seconds=LONGEST_WALK_SECONDS):
        return 0
    total, last, until = 0, "", time.monotonic() + seconds
    while (found := _inside(journey, after=last)) or last:  # until nobody is found from the start on
        total += exit_all(found, reason=f"The journey was aborted: {journey.held_because}")
        last = found[-1] if found else ""
        if time.monotonic() >= until:
            return total
    # What staff have had sent again is released: its step is over.
    with unless_held_up():
        if aborting.update(held_at=None, held_by="", held_because="", resumed_at=Now()):
            release(journey_id, seconds=seconds)
    return total


def exit_all(enrollment_ids: Sequence[str], *, reason: str) -> int:
    """Exits those of them that have not ended, in one transaction; returns how many.

    Those of customers who are being merged at this moment are left; and all, if others have locked one for too long.
    """
    exited: set[str] = set()
    with unless_held_up(), transaction.atomic():
        held = lock_customers_of(enrollment_ids)
        locked = Enrollment.objects.filter(id__in=enrollment_ids, customer_id__in=held).values_list("id", flat=True)
        exited = exit_enrollments(EnrollmentExit(enrollment_id=one, reason=reason) for one in locked)
    return len(exited)


_INSIDE = Statement("""
SELECT id FROM journeys_enrollment
WHERE workspace_id = {workspace_id} AND journey_id = {journey_id} AND id > {after} AND state || '' = 'active'
ORDER BY id LIMIT {most}
""")


def _inside(journey: Journey, *, after: str) -> list[str]:
    return _INSIDE.column(workspace_id=journey.workspace_id, journey_id=journey.id, after=after, most=_AT_ONCE)
