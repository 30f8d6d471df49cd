"""Waking the workers: messages that say where work is waiting.

A message may be lost or duplicated. The work itself is stored in PostgreSQL, and a sweeper publishes again for whatever
waits too long. So publishing is never retried, raises no Redis failure, and is skipped while Redis is away. Publish
after a commit with `robust`, and not through a `functools.partial`: it has no `__qualname__`, which Django logs if the
callback raises.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

import redis
import structlog
from celery import current_app
from django.conf import settings
from kombu.exceptions import OperationalError

from engage.process.request_log import beginning_request_id, current_request_id
from engage.redis.availability import REDIS_FAILURES, redis_availability, redis_client, redis_key
from engage.redis.background import BackgroundCall
from journeys.engine.due import Due
from journeys.models import CHUNK_SIZE, Chunk

log = structlog.get_logger(__name__)

ENROLL = "enroll"
WALK = "walk"
SEND = "send"
SWEEP = "sweep"
FOLD = "fold"
RESEND = "resend"
# Set while a worker serves the single lane or is about to: a job queued meanwhile needs no message. It expires by
# itself, so that no job relies for long on a worker that has died.
_SINGLE_PENDING = "engage:single-lane-pending"
_PENDING_MS = 500
_LOOKED_AT = 50  # there is one of each task, and what others may have put there
_BETWEEN_LOOKS_SECONDS = 0.02
_redis = cache(redis_client)  # by its URL


@dataclass(frozen=True, kw_only=True)
class _FirstOfBurst:
    """The first job of a burst: the message to the single lane carries its ids."""

    trigger_id: str
    job_id: str
    request_id: str


def wake_for_single(*, trigger_id: str, job_id: str) -> None:
    """Wakes the single lane for one job, in the background: the caller does not wait for Redis to answer."""
    _single_lane.ask(_FirstOfBurst(trigger_id=trigger_id, job_id=job_id, request_id=current_request_id()))


def _wake_single_lane(first: _FirstOfBurst) -> None:
    """Publishes unless a worker is already at the lane or expected there: it will take this job too.

    The worker clears the mark before it looks for the last time, and the job was committed before this checks the
    mark: either the worker sees the job, or this publishes. Nor does it publish while an earlier message still waits.
    """
    is_first = _ask_redis(lambda client: client.set(redis_key(_SINGLE_PENDING), b"1", nx=True, px=_PENDING_MS))
    if is_first and not _messages_that_wait("single"):
        _publish(
            ENROLL,
            task_id=first.job_id,
            queue="single",
            request_id=first.request_id,
            lane="single",
            trigger_id=first.trigger_id,
            start=0,
        )


_single_lane = BackgroundCall(_wake_single_lane, rest_seconds=_BETWEEN_LOOKS_SECONDS)


def wake_now() -> None:
    """Sends a pending wake-up of the single lane at once; for tests."""
    _single_lane.run_now()


def stay_at_single_lane() -> None:
    """Marks that a worker serves the single lane and will look again within less than half a second."""
    _ask_redis(lambda client: client.set(redis_key(_SINGLE_PENDING), b"1", px=_PENDING_MS))


def leave_single_lane() -> None:
    """Clears the mark before a worker looks at the single lane for the last time: later jobs need their own message."""
    _ask_redis(lambda client: client.delete(redis_key(_SINGLE_PENDING)))


def wake_for_bulk(*, trigger_id: str, first_jobs: Sequence[tuple[int, str]]) -> None:
    """Wakes the bulk lane: one message per (start, job id) of a chunk's first job.

    Each earlier message still in the queue replaces one of them: its worker, too, goes on until the lane is empty.
    """
    for start, job_id in first_jobs[_messages_that_wait("bulk") :]:
        if not _publish(ENROLL, task_id=job_id, queue="bulk", lane="bulk", trigger_id=trigger_id, start=start):
            return


def wake_lane(*, lane: str, first_jobs: Sequence[str]) -> None:
    """Wakes a lane for whatever waits in it; for the sweeper, for a worker that leaves a backlog, and for a crowd.

    As above, each message still in the queue replaces one.
    """
    for job_id in first_jobs[_messages_that_wait(lane) :]:
        _wake_lane_once(lane, job_id)


def hand_on(*, lane: str, first_job: str) -> None:
    """Passes the lane on when a worker's turn is over and work still waits: one message, whatever else is queued.

    So the number of workers at the lane stays the same until nothing waits.
    """
    _wake_lane_once(lane, first_job)


def _wake_lane_once(lane: str, first_job: str) -> None:
    _publish(ENROLL, task_id=first_job, queue=lane, lane=lane, trigger_id=None, start=None)


def _ask_redis(command: Callable[[redis.Redis], Any]) -> Any:
    """Redis's answer to the command; None while Redis is away."""
    if not redis_availability.is_expected():
        return None
    try:
        return command(_redis(settings.REDIS_URL))
    except REDIS_FAILURES as error:
        redis_availability.note_failure(purpose="wake-ups", error=error)
        return None


def _messages_that_wait(queue: str) -> int:
    """The length of the queue; 0 while Redis is away, which publishing will find out too."""
    return int(_ask_redis(lambda client: client.llen(redis_key(queue))) or 0)


def wake(due: Due) -> None:
    """Wakes the workers for what has become due, after the commit.

    One message serves the jobs of the single lane: its worker also takes those queued behind the first. In the bulk
    lane there is one for a chunk's worth of jobs.
    """
    by_lane = {lane: [entry for entry in due.jobs if entry.lane is lane] for lane in Chunk.Lane}
    for first in by_lane[Chunk.Lane.SINGLE][:1]:
        wake_for_single(trigger_id=first.trigger_id, job_id=first.job_id)
    if crowd := by_lane[Chunk.Lane.BULK][::CHUNK_SIZE]:
        wake_lane(lane=Chunk.Lane.BULK, first_jobs=[entry.job_id for entry in crowd])
    if due.walk:
        wake_walker()
    if due.webhooks:
        wake_sender()


def wake_walker() -> None:
    """Wakes a walker: an enrollment may be due."""
    wake_one(WALK)


def wake_sender() -> None:
    """Wakes a sender: a webhook may be due."""
    wake_one(SEND)


def wake_resender() -> None:
    """Wakes a worker that sends failed webhooks again."""
    wake_one(RESEND)


def wake_one(task: str) -> None:
    """Publishes the task to its queue, unless an earlier message still waits there: its worker will find this work too.

    So messages never pile up, even if no worker takes any for days. In a queue that tasks share, no other one's message
    stands for it.
    """
    queue = settings.CELERY_TASK_ROUTES[task]["queue"]
    if not _waits(task, queue):
        _publish(task, task_id=None, queue=queue)


def _waits(task: str, queue: str) -> bool:
    """Whether a message of the task is in the queue, among the latest where several tasks share it."""
    routed = [other for other, route in settings.CELERY_TASK_ROUTES.items() if route["queue"] == queue]
    if routed == [task]:
        return _messages_that_wait(queue) > 0
    latest = _ask_redis(lambda client: client.lrange(redis_key(queue), 0, _LOOKED_AT)) or ()
    return any(f'"task": "{task}"'.encode() in message for message in latest)


def _publish(
    task: str,
    *,
    task_id: str | None,
    queue: str,
    request_id: str | None = None,
    **arguments: str | int | None,
) -> bool:
    """Whether the message was handed to Redis. `request_id` defaults to the one that this work began with."""
    if not redis_availability.is_expected():
        return False
    try:
        current_app.send_task(
            task,
            task_id=task_id,
            queue=queue,
            kwargs=arguments,
            argsrepr="",  # for monitors, which do not run; building it takes a fifth of a publication
            kwargsrepr="",
            headers={"request_id": beginning_request_id() if request_id is None else request_id},
            ignore_result=True,
            retry=False,
        )
    except (*REDIS_FAILURES, OperationalError) as error:
        redis_availability.note_failure(purpose="wake-ups", error=error)
        return False
    return True
