"""Waking the workers: messages that say where there is something to do.

A message may be lost or doubled. What is to be done stands in PostgreSQL; a sweeper publishes again what waits too
long. So publishing is never repeated, raises nothing that Redis is to blame for, and is left out while it is away; who
publishes after a commit does it with `robust`, and not as a `functools.partial`: it has no `__qualname__`, which Django
logs where it raises.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache

import structlog
from celery import current_app
from kombu.exceptions import OperationalError

from engage.background import BackgroundCall
from engage.redis_availability import REDIS_FAILURES, redis_availability, redis_client
from engage.request_log import beginning_request_id, current_request_id
from journeys.reactions import Reaction

log = structlog.get_logger(__name__)

ENROLL = "enroll"
WALK = "walk"
SEND = "send"
# Somebody serves the single lane or is about to; whoever queues a job meanwhile need not publish. It goes by itself,
# so that nobody relies for long on a worker that has died.
_SINGLE_PENDING = "engage:single-lane-pending"
_PENDING_MS = 500
_BETWEEN_LOOKS_SECONDS = 0.02
_redis = cache(redis_client)


@dataclass(frozen=True, kw_only=True)
class _FirstOfBurst:
    """The job after which a message to the single lane is named."""

    trigger_id: str
    job_id: str
    request_id: str


def wake_for_single(*, trigger_id: str, job_id: str) -> None:
    """Wakes the single lane for one job, in a moment: who has queued it need not wait until Redis has answered."""
    _single_lane.ask(_FirstOfBurst(trigger_id=trigger_id, job_id=job_id, request_id=current_request_id()))


def _wake_single_lane(first: _FirstOfBurst) -> None:
    """While a worker is expected there or at work, it will take this job too.

    The worker takes the mark away before it looks for the last time, and the job was committed before this looks at
    the mark: either the worker sees the job, or this publishes.
    """
    try:
        if redis_availability.is_expected() and _redis().set(_SINGLE_PENDING, b"1", nx=True, px=_PENDING_MS):
            _publish(
                ENROLL,
                task_id=first.job_id,
                queue="single",
                request_id=first.request_id,
                lane="single",
                trigger_id=first.trigger_id,
                start=0,
            )
    except REDIS_FAILURES as error:
        redis_availability.note_failure(purpose="wake-ups", error=error)


_single_lane = BackgroundCall(_wake_single_lane, rest_seconds=_BETWEEN_LOOKS_SECONDS)


def wake_now() -> None:
    """Sends at once what was going to be sent in a moment; for tests."""
    _single_lane.run_now()


def stay_at_single_lane() -> None:
    """A worker serves the single lane and will look again within less than half a second."""
    try:
        _redis().set(_SINGLE_PENDING, b"1", px=_PENDING_MS)
    except REDIS_FAILURES as error:
        redis_availability.note_failure(purpose="wake-ups", error=error)


def leave_single_lane() -> None:
    """A worker is about to look at the single lane for the last time: later jobs need a message of their own."""
    try:
        _redis().delete(_SINGLE_PENDING)
    except REDIS_FAILURES as error:
        redis_availability.note_failure(purpose="wake-ups", error=error)


def wake_for_bulk(*, trigger_id: str, first_jobs: Sequence[tuple[int, str]]) -> None:
    """Wakes the bulk lane: a message per (start, job id) of a chunk's first job.

    Each that still waits from before does for one of them: its worker, too, goes on until nothing waits in the lane.
    """
    for start, job_id in first_jobs[_messages_that_wait("bulk") :]:
        if not _publish(ENROLL, task_id=job_id, queue="bulk", lane="bulk", trigger_id=trigger_id, start=start):
            return


def wake_lane(*, lane: str, first_jobs: Sequence[str]) -> None:
    """Wakes a lane for whatever waits in it; the sweeper's way.

    As above, a message that still waits does for one.
    """
    for job_id in first_jobs[_messages_that_wait(lane) :]:
        _wake_lane_once(lane, job_id)


def hand_on(*, lane: str, first_job: str) -> None:
    """A worker's turn at the lane is over, and something still waits: one message, whatever else does.

    So there are as many at work until nothing waits as there were when it began.
    """
    _wake_lane_once(lane, first_job)


def _wake_lane_once(lane: str, first_job: str) -> None:
    _publish(ENROLL, task_id=first_job, queue=lane, lane=lane, trigger_id=None, start=None)


def _messages_that_wait(queue: str) -> int:
    """How many; 0 while Redis is away, which publishing will find out, too."""
    try:
        return int(_redis().llen(queue)) if redis_availability.is_expected() else 0
    except REDIS_FAILURES as error:
        redis_availability.note_failure(purpose="wake-ups", error=error)
        return 0


def wake_for_reaction(reaction: Reaction) -> None:
    """Wakes whoever has something to do after recorded events were committed with what they led to.

    One message for all the jobs: its worker takes those that have queued behind the first.
    """
    if reaction.queued:
        first = reaction.queued[0]
        wake_for_single(trigger_id=first.trigger_id, job_id=first.job_id)
    if reaction.somebody_walks:
        wake_walker()


def wake_walker() -> None:
    """Somebody may walk on at once."""
    _wake_one(WALK, queue="walk")


def wake_sender() -> None:
    """Webhooks may be sent at once."""
    _wake_one(SEND, queue="webhooks")


def _wake_one(task: str, *, queue: str) -> None:
    """While an earlier message still waits, its worker will find this work, too: so they never pile up.

    A tick of the scheduler that has expired makes nobody look; but the next tick does.
    """
    if not _messages_that_wait(queue):
        _publish(task, task_id=None, queue=queue)


def _publish(
    task: str,
    *,
    task_id: str | None,
    queue: str,
    request_id: str | None = None,
    **arguments: str | int | None,
) -> bool:
    """Whether the message was handed to Redis. `request_id` is that with which this began, unless it is given."""
    if not redis_availability.is_expected():
        return False
    try:
        current_app.send_task(
            task,
            task_id=task_id,
            queue=queue,
            kwargs=arguments,
            argsrepr="",  # for monitors, which do not run; to make them takes a fifth of a publication
            kwargsrepr="",
            headers={"request_id": beginning_request_id() if request_id is None else request_id},
            ignore_result=True,
            retry=False,
        )
    except (*REDIS_FAILURES, OperationalError) as error:
        redis_availability.note_failure(purpose="wake-ups", error=error)
        return False
    return True
