"""Requests and answers of steering, as the OpenAPI document shows them."""

from journeys.api.steering.answers import CancelledTriggerData, SteeringData
from journeys.api.triggers.examples import JOURNEY, TRIGGER
from journeys.models import Journey

REASONS = {"With a reason": {"reason": "The mail provider is down."}, "Without one": {}}
RESUMES = {
    "All at once": {"reason": "The mail provider is back."},
    "At a pace": {"reason": "The mail provider is back.", "perMinute": 600},
}
ABORTS = {"With its reason": {"reason": "The offer has ended."}}
CANCELS = {
    "Those who entered stay": {"reason": "The wrong segment was named."},
    "Those who entered leave": {"reason": "The wrong segment was named.", "enrollments": "exit"},
}


def _steered(
    state: Journey.State,
    *,
    dry_run: bool = False,
    changed: bool = True,
    inside: int = 310,
    released: int = 0,
    until: str | None = None,
    exited: int = 0,
) -> SteeringData:
    return SteeringData(
        journeyId=JOURNEY,
        state=state.value,
        dryRun=dry_run,
        changed=changed,
        queued=12,
        inside=inside,
        released=released,
        releasedUntil=until,
        exited=exited,
    )


HELD = _steered(Journey.State.HELD)
HELD_BEFORE = _steered(Journey.State.HELD, changed=False)
RESUMED = _steered(Journey.State.ACTIVE, released=180, until="2026-11-20T19:26:18.000Z")
CLOSED = _steered(Journey.State.CLOSED)
ACTIVATED = _steered(Journey.State.ACTIVE)
ABORTED = _steered(Journey.State.ABORTED, inside=0, exited=310)
WOULD_ABORT = _steered(Journey.State.ABORTED, dry_run=True, inside=0, exited=310)
CANCELLED = CancelledTriggerData(
    triggerId=TRIGGER,
    journeyId=JOURNEY,
    dryRun=False,
    customers=1000,
    cancelled=640,
    alreadyDecided=360,
    exited=0,
    inside=355,
)
