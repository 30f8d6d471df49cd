"""Response bodies about what was steered, as the API spells them."""

from typing import Annotated, TypedDict

from engage.database.object_ids import ObjectId
from engage.http.spelling import spelled
from engage.http.times import Instant
from engage.json.keywords import known
from journeys.models import Journey
from journeys.steering.acts import Steered
from journeys.steering.cancelling import CancelledTrigger

HELD_MESSAGE = "The journey is held; nobody steps."
RESUMED_MESSAGE = "The journey is resumed."
CLOSED_MESSAGE = "The journey is closed; it takes in nobody any more."
ACTIVATED_MESSAGE = "The journey is activated."
ABORTED_MESSAGE = "The journey is aborted; all who were inside leave."
CANCELLED_TRIGGER_MESSAGE = "The trigger is cancelled; no more of its jobs are decided."
NOT_SETTLED = " What had begun before has not ended: a step may yet be written, or somebody let in."
REHEARSED_MESSAGE = "A dry run: this is what the call would do. Nothing was changed."

_DRY_RUN = Annotated[bool, "Whether this is only what the call would do."]


class SteeringData(TypedDict):
    """A journey after the call, and what the call did, in numbers."""

    journeyId: Annotated[ObjectId, "The journey's id."]
    state: Annotated[
        str,
        "`active`: customers enter and step. `closed`: nobody enters, and those inside go on. `held`: nobody steps. "
        "`aborted`: nobody enters, and nobody is inside.",
        known(Journey.State.values),
    ]
    dryRun: _DRY_RUN
    changed: Annotated[bool, "False if there was nothing to do: the journey was like that before."]
    queued: Annotated[int, "The number of jobs that wait for their decision."]
    inside: Annotated[int, "The number of enrollments that have not ended."]
    settled: Annotated[
        bool,
        "False if a step or a decision that had begun before the call has not ended: it may yet be written. Call again "
        "to be told.",
    ]
    released: Annotated[int, "How many became due while the journey was held, and go on now."]
    releasedUntil: Annotated[Instant | None, "When about the last of them goes on, if they do so at a pace."]
    exited: Annotated[int, "How many enrollments the call has ended."]


class CancelledTriggerData(TypedDict):
    """What became of a trigger's jobs. `cancelled` and `alreadyDecided` are all of them."""

    triggerId: Annotated[ObjectId, "The trigger's id."]
    journeyId: Annotated[ObjectId, "The journey's id."]
    dryRun: _DRY_RUN
    customers: Annotated[int, "The number of jobs that the trigger has."]
    cancelled: Annotated[int, "How many of them this call has cancelled."]
    alreadyDecided: Annotated[int, "How many were decided before, or cancelled."]
    exited: Annotated[int, "How many enrollments the call has ended."]
    inside: Annotated[
        int, "How many enrollments of the trigger have not ended. If they were to leave, call again until it is 0."
    ]


def steering_data(steered: Steered, *, dry_run: bool) -> SteeringData:
    return spelled(SteeringData, steered, dryRun=dry_run)


def cancelled_trigger_data(cancelled: CancelledTrigger, *, dry_run: bool) -> CancelledTriggerData:
    return spelled(CancelledTriggerData, cancelled, dryRun=dry_run)
