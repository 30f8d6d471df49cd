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

HELD = SteeringData(
    journeyId=JOURNEY,
    state=Journey.State.HELD.value,
    dryRun=False,
    changed=True,
    queued=12,
    inside=310,
    released=0,
    releasedUntil=None,
    exited=0,
)
HELD_BEFORE: SteeringData = {**HELD, "changed": False}
CLOSED: SteeringData = {**HELD, "state": Journey.State.CLOSED.value}
ACTIVATED: SteeringData = {**HELD, "state": Journey.State.ACTIVE.value}
RESUMED: SteeringData = {**ACTIVATED, "released": 180, "releasedUntil": "2026-11-20T19:26:18.000Z"}
ABORTED: SteeringData = {**HELD, "state": Journey.State.ABORTED.value, "inside": 0, "exited": 310}
WOULD_ABORT: SteeringData = {**ABORTED, "dryRun": True}
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
