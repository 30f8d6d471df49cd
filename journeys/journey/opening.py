"""A journey is closed, so that it takes in nobody any more, and activated again."""

from datetime import datetime

from django.db import transaction

from journeys.engine.steering.acts import Steered, queued_and_inside, record_act
from journeys.engine.steering.holding import locked
from journeys.journey.authoring import save_journey
from journeys.models import Journey, SteeringAct


def close(journey: Journey, *, reason: str, actor: str, now: datetime, dry_run: bool = False) -> Steered:
    """Closes the journey: it takes in nobody any more, not even those who are queued; who is inside goes on. What is
    scheduled is decided when it is due, by what the journey is then.

    One that is closed, or aborted, stays as it is.
    """
    return _set(SteeringAct.Kind.CLOSE, journey, reason=reason, actor=actor, now=now, dry_run=dry_run)


def activate(journey: Journey, *, reason: str, actor: str, now: datetime, dry_run: bool = False) -> Steered:
    """Lets the journey take in customers, also after it was aborted. One that is held stays held.

    Raises InvalidJourney if it may not be active as it is, or some have yet to leave it, or to be decided.
    """
    return _set(SteeringAct.Kind.ACTIVATE, journey, reason=reason, actor=actor, now=now, dry_run=dry_run)


def _set(kind: SteeringAct.Kind, journey: Journey, *, reason: str, actor: str, now: datetime, dry_run: bool) -> Steered:
    active = kind is SteeringAct.Kind.ACTIVATE
    with transaction.atomic():
        changed = locked(journey).active is not active
        queued, inside = queued_and_inside(journey)
        with transaction.atomic():
            journey = save_journey(workspace=journey.workspace, key=journey.key, now=now, active=active).journey
            if dry_run:
                transaction.set_rollback(True)
        if changed and not dry_run:
            record_act(kind, journey, actor=actor, reason=reason, queued=queued, inside=inside)
    return Steered(
        journey_id=journey.id, state=journey.state, dry_run=dry_run, changed=changed, queued=queued, inside=inside
    )
