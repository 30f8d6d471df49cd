"""The calls that steer in the OpenAPI document."""

from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

from drf_spectacular.utils import OpenApiParameter

from engage.errors import InvalidRequest, MissingParameter, Refusal
from engage.schema.bodies import Body, choice_of
from engage.schema.calls import WORKSPACE_ID, ServerCall, path_id
from engage.schema.responses import Answer
from journeys.api.steering import answers
from journeys.api.steering.answers import CancelledTriggerData, SteeringData
from journeys.api.steering.serializers import ENROLLMENTS, AbortBody, CancelTriggerBody, ResumeBody, SteerBody
from journeys.api.triggers.examples import JOURNEY, TRIGGER
from journeys.api.triggers.serializers import DRY_RUN
from journeys.design.authoring import InvalidJourney
from journeys.entering.trigger import JourneyNotFound
from journeys.jobs.trigger_states import TriggerNotFound
from journeys.models import Journey
from journeys.steering.holding import JourneyAborted

_REASONS = {"With a reason": {"reason": "The mail provider is down."}, "Without one": {}}
_RESUMES = {
    "All at once": {"reason": "The mail provider is back."},
    "At a pace": {"reason": "The mail provider is back.", "perMinute": 600},
}
_ABORTS = {"With its reason": {"reason": "The offer has ended."}}
_CANCELS = {
    "Those who entered stay": {"reason": "The wrong segment was named."},
    "Those who entered leave": {"reason": "The wrong segment was named.", "enrollments": "exit"},
}

_HELD = SteeringData(
    journeyId=JOURNEY,
    state=Journey.State.HELD.value,
    dryRun=False,
    changed=True,
    queued=12,
    inside=310,
    settled=True,
    released=0,
    releasedUntil=None,
    exited=0,
)
_HELD_BEFORE: SteeringData = {**_HELD, "changed": False}
_CLOSED: SteeringData = {**_HELD, "state": Journey.State.CLOSED.value}
_ACTIVATED: SteeringData = {**_HELD, "state": Journey.State.ACTIVE.value}
_RESUMED: SteeringData = {**_ACTIVATED, "released": 180, "releasedUntil": "2026-11-20T19:26:18.000Z"}
_ABORTED: SteeringData = {**_HELD, "state": Journey.State.ABORTED.value, "inside": 0, "exited": 310}
_WOULD_ABORT: SteeringData = {**_ABORTED, "dryRun": True}
_CANCELLED = CancelledTriggerData(
    triggerId=TRIGGER,
    journeyId=JOURNEY,
    dryRun=False,
    customers=1000,
    cancelled=640,
    alreadyDecided=360,
    exited=0,
    inside=355,
)

_call = partial(ServerCall, tag="Journeys")
_JOURNEY_ID = path_id("journey_id", "The journey's id. The journey may be inactive.")
_DRY_RUN = OpenApiParameter(
    DRY_RUN,
    bool,
    description="`true` to be told what the call would do. Nothing is changed. Without it, the call is carried out.",
)
_BAD_DRY_RUN = InvalidRequest("dryRun must be true or false, not 'yes'.")
_AGAIN = "Calling again changes nothing more, so the call may be repeated."


def _act(
    operation_id: str,
    summary: str,
    description: str,
    *,
    body: Body,
    requests: Mapping[str, Any],
    shown: Mapping[str, tuple[str, SteeringData]],
    refusals: Sequence[Refusal] = (),
) -> ServerCall:
    return _call(
        operation_id=operation_id,
        summary=summary,
        description=f"{description.strip()}\n\n{_AGAIN}",
        parameters=[WORKSPACE_ID, _JOURNEY_ID, _DRY_RUN],
        body=body,
        requests=requests,
        answers=[Answer(data=SteeringData, description="The journey after the call.", examples=shown)],
        refusals=[_BAD_DRY_RUN, JourneyNotFound(JOURNEY), *refusals],
    )


describe_hold = _act(
    "holdJourney",
    "Hold a journey",
    """
Nobody steps while the journey is held, and no attempt at one of its webhooks begins: from the moment of the answer on,
at the latest a second after it. The answer waits for steps that are under way; should one not end within some seconds,
`settled` is false. Customers may still enter if the journey is active, events end waits as ever, and waits
keep their due times; who becomes due waits at that step until the journey is resumed.
""",
    body=Body(SteerBody, optional=True),
    requests=_REASONS,
    shown={
        "Held": (answers.HELD_MESSAGE, _HELD),
        "Held before": (answers.HELD_MESSAGE, _HELD_BEFORE),
    },
    refusals=[JourneyAborted()],
)

describe_resume = _act(
    "resumeJourney",
    "Resume a held journey",
    """
The journey is active or closed again, as it was before. What became due while it was held is due at once, those that
have waited the longest first; with `perMinute`, so many of them go on in a minute. Whatever becomes due later is not
slowed down. The pace lasts until all of them have gone on; calling again with another `perMinute`, or without one,
changes it for those that are left. `dryRun=true` says how many they are.
""",
    body=Body(ResumeBody, optional=True),
    requests=_RESUMES,
    shown={"At a pace": (answers.RESUMED_MESSAGE, _RESUMED)},
    refusals=[JourneyAborted()],
)

describe_close = _act(
    "closeJourney",
    "Close a journey",
    """
Nobody enters any more: triggers are refused as if there was no such journey, and jobs that are queued are decided as
`journey_inactive`. Those inside go on. A journey that is held stays held.
""",
    body=Body(SteerBody, optional=True),
    requests=_REASONS,
    shown={"Closed": (answers.CLOSED_MESSAGE, _CLOSED)},
)

describe_activate = _act(
    "activateJourney",
    "Activate a closed or aborted journey",
    "Customers enter again. A journey that is held stays held, and one whose definition is not valid is refused.",
    body=Body(SteerBody, optional=True),
    requests=_REASONS,
    shown={"Activated": (answers.ACTIVATED_MESSAGE, _ACTIVATED)},
    refusals=[InvalidJourney("active", "active cannot be true yet: some have yet to leave the aborted journey.")],
)

describe_abort = _act(
    "abortJourney",
    "Abort a journey",
    """
The journey is closed, and all who are inside leave it with this reason. From the moment of the answer on, no step and
no attempt at a webhook begins, at the latest a second after it. If they are very many, the last of them leave some
seconds later, and `inside` says how many those are. `settled` is false if somebody may yet be let in, who then leaves
as well. Jobs that are queued are decided as `journey_inactive`.
""",
    body=Body(AbortBody),
    requests=_ABORTS,
    shown={
        "Aborted": (answers.ABORTED_MESSAGE, _ABORTED),
        "A dry run": (answers.REHEARSED_MESSAGE, _WOULD_ABORT),
    },
    refusals=[MissingParameter("reason is required.")],
)

describe_cancel_trigger = _call(
    operation_id="cancelTrigger",
    summary="Take a whole call back",
    description=f"""
Cancels all jobs of the trigger that are not decided yet, at once: none of them enrolls anybody any more. `cancelled`
and `alreadyDecided` are always all of its jobs. Those who have entered by the call stay inside, or leave with
`"enrollments": "exit"`. {_AGAIN}
""",
    parameters=[WORKSPACE_ID, path_id("trigger_id", "The `triggerId` of the call."), _DRY_RUN],
    body=Body(CancelTriggerBody, properties={"enrollments": choice_of(ENROLLMENTS)}, optional=True),
    requests=_CANCELS,
    answers=Answer(
        data=CancelledTriggerData,
        description="What became of the trigger's jobs.",
        examples={"A part was decided": (answers.CANCELLED_TRIGGER_MESSAGE, _CANCELLED)},
    ),
    refusals=[InvalidRequest("enrollments must be one of keep, exit."), TriggerNotFound(TRIGGER)],
)
