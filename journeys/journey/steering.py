"""The calls that steer journeys and triggers while they run: hold, resume, close, activate, abort, cancel."""

from dataclasses import dataclass, replace
from datetime import UTC, datetime
from enum import StrEnum
from functools import partial
from typing import Annotated

from django.utils import timezone

from engage.calls.asked import Asked
from engage.calls.call import Answered, post
from engage.calls.queries import DRY_RUN_MESSAGE, DryRun
from engage.errors import InvalidRequest, MissingParameter
from engage.json.fields import Text, Whole
from engage.scopes import Scope, require_scope
from journeys.engine import wakeups
from journeys.engine.due import Due
from journeys.engine.steering import cancelling
from journeys.engine.steering.aborting import abort
from journeys.engine.steering.acts import Steered
from journeys.engine.steering.cancelling import CancelledTrigger
from journeys.engine.steering.holding import MOST_PER_MINUTE, JourneyAborted, hold, resume
from journeys.faces.path_ids import ANY_JOURNEY, JOURNEY_ID, TRIGGER_ID
from journeys.journey.authoring import YET_ABORTING, InvalidJourney
from journeys.journey.opening import activate, close
from journeys.models import Journey, Trigger
from journeys.steps.exit import LONGEST_REASON

_REASON = Text(longest=LONGEST_REASON, blank_is_absent=True)


@dataclass(frozen=True, kw_only=True)
class SteerBody:
    """Why it is done."""

    reason: Annotated[str, "Why, as text. It is kept with who did it.", _REASON] = ""


@dataclass(frozen=True, kw_only=True)
class ResumeBody(SteerBody):
    """Why the journey goes on, and how fast."""

    per_minute: Annotated[
        int | None,
        "How many of those that became due meanwhile go on in a minute. Without it, all are due at once.",
        Whole(most=MOST_PER_MINUTE),
    ] = None


@dataclass(frozen=True, kw_only=True)
class AbortBody:
    """Why the journey is aborted."""

    reason: Annotated[
        str, "Why, as text. It is kept with who did it, and is part of each enrollment's exit reason.", _REASON
    ]


class Enrollments(StrEnum):
    KEEP = "keep"
    EXIT = "exit"


@dataclass(frozen=True, kw_only=True)
class CancelTriggerBody(SteerBody):
    """Why the call is taken back, and what becomes of those who have entered by it."""

    enrollments: Annotated[
        Enrollments, "What becomes of those who have entered by the call: `keep`, the default, or `exit`."
    ] = Enrollments.KEEP


_HELD_SAYS = "The journey is on hold. No customer advances."
_ABORTED_SAYS = "The journey is aborted; all who were inside leave."
_NOT_SETTLED = " What had begun before has not ended: a step may yet be written, or somebody let in."

_WITH_A_REASON = {"With a reason": {"reason": "The mail provider is down."}, "Without one": {}}
_HELD = Steered(journey_id=JOURNEY_ID.example, state=Journey.State.HELD, changed=True, queued=12, inside=310)
_ACTIVATED = replace(_HELD, state=Journey.State.ACTIVE)
_RESUMED = replace(_ACTIVATED, released=180, released_until=datetime(2026, 11, 20, 19, 26, 18, tzinfo=UTC))
_ABORTED = replace(_HELD, state=Journey.State.ABORTED, inside=0, exited=310)
_CANCELLED = CancelledTrigger(
    trigger_id=TRIGGER_ID.example,
    journey_id=JOURNEY_ID.example,
    customers=1000,
    cancelled=640,
    already_decided=360,
    exited=0,
    inside=355,
)

_steering = partial(post, scope=Scope.DEFINITIONS, policy="steer", tag="Journeys", requests=_WITH_A_REASON)
_of_a_journey = partial(_steering, ids=[ANY_JOURNEY], answer="The journey after the call.")


def _perhaps_not_settled(steered: Steered, *, says: str) -> Answered[Steered]:
    return Answered(data=steered, says=None if steered.settled else says + _NOT_SETTLED)


@_of_a_journey(
    path="journeys/{workspaceId}/{journeyId}/hold",
    says=_HELD_SAYS,
    optional_body=True,
    examples={"Held": _HELD, "Held before": replace(_HELD, changed=False)},
    refuses=[JourneyAborted()],
)
def hold_journey(asked: Asked[SteerBody, DryRun], journey: Journey) -> Answered[Steered]:
    """Hold a journey

    Nobody steps while the journey is held, and no attempt at one of its webhooks begins: from the moment of the answer
    on, at the latest a second after it. The answer waits for steps that are under way; should one not end within some
    seconds, `settled` is false. Customers may still enter if the journey is active, events end waits as ever, and waits
    keep their due times; who becomes due waits at that step until the journey is resumed.

    Calling again changes nothing more, so the call may be repeated.
    """
    held = hold(journey, reason=asked.body.reason, actor=asked.actor, dry_run=asked.query.dry_run)
    return _perhaps_not_settled(held, says=_HELD_SAYS)


@_of_a_journey(
    path="journeys/{workspaceId}/{journeyId}/resume",
    says="The journey is resumed.",
    optional_body=True,
    requests={
        "All at once": {"reason": "The mail provider is back."},
        "At a pace": {"reason": "The mail provider is back.", "perMinute": 600},
    },
    examples={"At a pace": _RESUMED},
    refuses=[JourneyAborted()],
)
def resume_journey(asked: Asked[ResumeBody, DryRun], journey: Journey) -> Steered:
    """Resume a held journey

    The journey is active or closed again, as it was before. What became due while it was held is due at once, those
    that have waited the longest first; with `perMinute`, so many of them go on in a minute. Whatever becomes due later
    is not slowed down. The pace lasts until all of them have gone on; calling again with another `perMinute`, or
    without one, changes it for those that are left. `dryRun=true` says how many they are.

    Calling again changes nothing more, so the call may be repeated.
    """
    body, dry_run = asked.body, asked.query.dry_run
    resumed = resume(journey, reason=body.reason, per_minute=body.per_minute, actor=asked.actor, dry_run=dry_run)
    if not dry_run:
        wakeups.wake(Due(walk=True, webhooks=True))
    return resumed


@_of_a_journey(
    path="journeys/{workspaceId}/{journeyId}/close",
    says="The journey is closed to new customers.",
    optional_body=True,
    examples={"Closed": replace(_HELD, state=Journey.State.CLOSED)},
)
def close_journey(asked: Asked[SteerBody, DryRun], journey: Journey) -> Steered:
    """Close a journey

    Nobody enters any more: triggers are refused as if there was no such journey, and jobs that are queued are decided
    as `journey_inactive`. What is scheduled for later is decided when it is due: as `journey_inactive`, unless the
    journey has been activated again. Those inside go on. A journey that is held stays held.

    Calling again changes nothing more, so the call may be repeated.
    """
    reason, dry_run = asked.body.reason, asked.query.dry_run
    return close(journey, reason=reason, actor=asked.actor, dry_run=dry_run, now=timezone.now())


@_of_a_journey(
    path="journeys/{workspaceId}/{journeyId}/activate",
    says="The journey is activated.",
    optional_body=True,
    examples={"Activated": _ACTIVATED},
    refuses=[InvalidJourney("active", YET_ABORTING)],
)
def activate_journey(asked: Asked[SteerBody, DryRun], journey: Journey) -> Steered:
    """Activate a closed or aborted journey

    Customers enter again. A journey that is held stays held, and one whose definition is not valid is refused, as is
    one that names a variable or a connection that is gone.

    Calling again changes nothing more, so the call may be repeated.
    """
    reason, dry_run = asked.body.reason, asked.query.dry_run
    return activate(journey, reason=reason, actor=asked.actor, dry_run=dry_run, now=timezone.now())


@_of_a_journey(
    path="journeys/{workspaceId}/{journeyId}/abort",
    says=_ABORTED_SAYS,
    requests={"With its reason": {"reason": "The offer has ended."}},
    examples={"Aborted": _ABORTED, "A dry run": Answered(data=replace(_ABORTED, dry_run=True), says=DRY_RUN_MESSAGE)},
    refuses=[MissingParameter("reason is required.")],
)
def abort_journey(asked: Asked[AbortBody, DryRun], journey: Journey) -> Answered[Steered]:
    """Abort a journey

    The journey is closed, and all who are inside leave it with this reason. From the moment of the answer on, no step
    and no attempt at a webhook begins, at the latest a second after it. If they are very many, the last of them leave
    some seconds later, and `inside` says how many those are. `settled` is false if somebody may yet be let in, who then
    leaves as well. Jobs that are queued, also for later, are decided as `journey_inactive` at once. If they are very
    many, `queued` says how many are left, and the journey can be activated once they are decided.

    Calling again changes nothing more, so the call may be repeated.
    """
    aborted = abort(journey, reason=asked.body.reason, actor=asked.actor, dry_run=asked.query.dry_run)
    return _perhaps_not_settled(aborted, says=_ABORTED_SAYS)


@_steering(
    path="journeys/{workspaceId}/triggers/{triggerId}/cancel",
    scope=Scope.TRIGGER,
    ids=[TRIGGER_ID],
    says="The trigger is cancelled; no more of its jobs are decided.",
    answer="What became of the trigger's jobs.",
    optional_body=True,
    requests={
        "Those who entered stay": {"reason": "The wrong segment was named."},
        "Those who entered leave": {"reason": "The wrong segment was named.", "enrollments": "exit"},
    },
    examples={"A part was decided": _CANCELLED},
    refuses=[InvalidRequest("enrollments must be one of keep, exit, not 'drop'.")],
)
def cancel_trigger(asked: Asked[CancelTriggerBody, DryRun], trigger: Trigger) -> CancelledTrigger:
    """Cancel a trigger

    Cancels all jobs of the trigger that are not decided yet, at once: none of them enrolls anybody any more.
    `cancelled` and `alreadyDecided` are always all of its jobs. Those who have entered by the call stay inside, or
    leave with `"enrollments": "exit"`; then all in-app messages that they have got by it are withdrawn, also those of
    who has left or completed the journey before. Calling again changes nothing more, so the call may be repeated.
    """
    leave = asked.body.enrollments is Enrollments.EXIT
    if leave:
        require_scope(asked.key.scopes, Scope.ENROLLMENTS)
    return cancelling.cancel_trigger(
        trigger, exit_enrollments=leave, reason=asked.body.reason, actor=asked.actor, dry_run=asked.query.dry_run
    )
