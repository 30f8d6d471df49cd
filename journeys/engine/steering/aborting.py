"""A journey is aborted: it takes in nobody, and all who are inside leave it.

1. It is closed, and held until all have left: nobody steps, and no attempt at a webhook begins.
2. Once the decisions that were under way have been committed, nobody comes in any more. Whoever lets people out waits
   for that first; a sweeper, whose process also walks, only looks, and comes back.
3. Those inside are exited, some at a time, what is queued is decided (undecided.py), and all that it has delivered is
   withdrawn. Until nothing is left, also of what others have locked, or if the process dies, another one goes on
   (going_on.py). Until then it cannot be opened again.
"""

import time
from collections.abc import Iterator, Sequence

from django.db import transaction
from django.db.models.functions import Now

from customers.models import NEXT_SERIAL
from engage.database.index_order import IN_INDEX_ORDER
from engage.database.outages import unless_held_up
from engage.database.sql import Statement
from engage.database.statement_limit import longer_statements
from journeys.engine.enrollments.locks import all_ended, lock_customers_of
from journeys.engine.enrollments.transitions import EnrollmentExit, exit_enrollments
from journeys.engine.enrollments.withdrawing import withdraw_of_journey
from journeys.engine.steering.acts import Steered, queued_and_inside
from journeys.engine.steering.holding import LONGEST_WALK_SECONDS, forget_results, locked, put_on_hold
from journeys.engine.steering.releasing import release
from journeys.engine.steering.undecided import decide_queued
from journeys.models import Enrollment, Journey, SteeringAct

_EXIT_SECONDS = 10.0
_AT_ONCE = 500
_LAST = "g"  # after every id


def abort(journey: Journey, *, reason: str, actor: str, dry_run: bool = False) -> Steered:
    """Aborts the journey. If more are inside or queued than can be let out or decided within some seconds, that is done
    with the next ticks.

    One that is aborted already, with nobody inside and nothing queued, stays as it is.
    """
    if not dry_run:
        forget_results(journey)
    with transaction.atomic():
        journey = locked(journey)
        queued, inside = queued_and_inside(journey)
        changed = journey.aborted_at is None or (journey.held_at is None and inside + queued > 0)
        if changed and not dry_run:
            closed = {"active": False, "updated_at": Now(), "aborted_at": Now(), "aborted_serial": NEXT_SERIAL}
            put_on_hold(
                journey,
                reason=reason,
                actor=actor,
                act=SteeringAct.Kind.ABORT,
                also=closed,
                queued=queued,
                inside=inside,
            )
    exited: int | None = inside
    if not dry_run:
        with longer_statements():
            exited = exit_remaining(journey.id, seconds=_EXIT_SECONDS, patience=LONGEST_WALK_SECONDS)
        queued, inside = queued_and_inside(journey)
    return Steered(
        journey_id=journey.id,
        state=Journey.State.ABORTED,
        dry_run=dry_run,
        changed=changed,
        queued=0 if dry_run else queued,
        inside=0 if dry_run else inside,
        settled=exited is not None,
        exited=exited or 0,
    )


def exit_remaining(journey_id: str, *, seconds: float, patience: float = 0.0) -> int | None:
    """Exits those who are inside an aborted journey, and decides what is queued, for at most so long; returns how many
    exit. Safe to run twice.

    It waits at most `patience` for those who are deciding, and may yet let somebody in; None if they have not ended.
    With none it also passes over customers whom others have locked: the next time tells.
    """
    aborting = Journey.objects.filter(id=journey_id, aborted_at__isnull=False, held_at__isnull=False)
    journey = aborting.first()
    if journey is None:
        return 0
    if not all_ended((journey.id, journey.aborted_at), patience=patience):
        return None
    total, until, left = 0, time.monotonic() + seconds, list[str]()
    for found in _inside(journey, but=left):
        exited = exit_all(found, reason=f"The journey was aborted: {journey.held_because}", wait=patience > 0)
        total += exited
        if exited < len(found):
            left += found
        if time.monotonic() >= until:
            return total
    if not decide_queued(journey, until=until) or left:  # or ended by themselves: the next time tells
        return total
    # What staff have had sent again is released: its step is over.
    with unless_held_up():
        because = f"The journey was aborted: {journey.held_because}"
        withdrawn = withdraw_of_journey(journey_id, because=because, until=until)
        if withdrawn and aborting.update(held_at=None, held_by="", held_because="", resumed_at=Now()):
            release(journey_id, seconds=seconds)
    return total


def exit_all(enrollment_ids: Sequence[str], *, reason: str, wait: bool = True) -> int:
    """Exits those of them that have not ended, and withdraws what any have delivered, in one transaction.

    Returns how many exit. Those of customers who are being merged at this moment are left; and those whom others have
    locked, if they still are after a wait, or at once.
    """
    for waits in (True, False) if wait else (False,):
        with unless_held_up(), transaction.atomic():
            held = lock_customers_of(enrollment_ids, wait=waits)
            locked = Enrollment.objects.filter(id__in=enrollment_ids, customer_id__in=held).values_list("id", flat=True)
            return len(
                exit_enrollments(EnrollmentExit(enrollment_id=one, reason=reason, withdraws=True) for one in locked)
            )
    return 0


# Who waits in a step or was suspended is found at once, however many have ever been inside.
_AT_HAND = Statement(
    """
SELECT id FROM (
    SELECT id FROM journeys_enrollment, {in_index_order}
    WHERE journey_id = {journey_id} AND step_began_at IS NOT NULL
      AND state || '' = 'active' AND id <> ALL({but}::text[])
    ORDER BY step_id, id LIMIT {most}
) AS waiting
UNION
SELECT id FROM (
    SELECT id FROM journeys_enrollment, {in_index_order}
    WHERE journey_id = {journey_id} AND was_due_at IS NOT NULL
      AND state || '' = 'active' AND id <> ALL({but}::text[])
    ORDER BY was_due_at LIMIT {most}
) AS suspended
""",
    in_index_order=IN_INDEX_ORDER,
)
# For others, its whole past is gone through: the newest first, who are more likely to be inside.
_INSIDE = Statement("""
SELECT id FROM journeys_enrollment
WHERE workspace_id = {workspace_id} AND journey_id = {journey_id}
  AND state || '' = 'active' AND id <> ALL({but}::text[]) AND id < {before}
ORDER BY id DESC LIMIT {most}
""")


def _inside(journey: Journey, *, but: list[str]) -> Iterator[list[str]]:
    """All inside, some at a time, except those, to whom more may come. Its past is gone through once, and not again
    from its end for each part; then once more, if anybody was found.
    """
    before = _LAST
    while True:
        whose = {"journey_id": journey.id, "but": but, "most": _AT_ONCE}
        if found := _AT_HAND.column(**whose):
            yield found
        elif found := _INSIDE.column(workspace_id=journey.workspace_id, before=before, **whose):
            before = found[-1]
            yield found
        elif before == _LAST:
            return
        else:
            before = _LAST
