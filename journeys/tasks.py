"""The Celery tasks. Each does work that waits in PostgreSQL, may run twice, and may be lost."""

import time
from itertools import groupby
from operator import attrgetter

from celery import shared_task
from celery.worker import state
from django.conf import settings

from engage.database.alone import alone
from journeys.engine import wakeups
from journeys.engine.counts.counting import fold as fold_counts
from journeys.engine.due import Due
from journeys.engine.entering.claims import due_chunks
from journeys.engine.entering.lanes import Served, serve_lane
from journeys.engine.entering.scheduled import come_due
from journeys.engine.in_app.expiring import expire
from journeys.engine.steering.going_on import go_on
from journeys.engine.walking import walk_due
from journeys.engine.webhooks.client import Client
from journeys.engine.webhooks.due_hosts import keep_notes
from journeys.engine.webhooks.giving_up import give_up_late
from journeys.engine.webhooks.resending import being_resent, go_on_resending
from journeys.engine.webhooks.sending import send_due
from journeys.models import Chunk
from journeys.subscription.pushing.outbox import Outbox

# How long one task serves its lane before it frees the worker for others.
_LANE_SECONDS = 1.0
# How long the jobs of a burst of single calls gather before they are decided together: deciding forty costs little more
# than deciding one.
_GATHERING_SECONDS = 0.1
# A single job that has been due for this long did not arrive during the last batch: more wait than a turn can take.
_BACKLOG_SECONDS = 0.3
_WALK_SECONDS = 1.0
# How many wake-ups the sweeper sends per lane: as many as can usefully work at once, not one per chunk.
_WAKEUPS = 4
_LATE_SECONDS = 1.0
_STEER_SECONDS = 1.0  # how long a sweep goes on with resumptions and aborts
# How long one task sends before it makes way for the next; another task of its process goes on meanwhile.
_SEND_SECONDS = 30.0
_RESEND_SECONDS = 1.0
_EXPIRE_SECONDS = 1.0


@shared_task(name=wakeups.ENROLL)
def enroll(*, lane: str, trigger_id: str | None, start: int | None) -> None:
    """Decides the jobs of a chunk, then those queued behind it. The task's id is its first job's id."""
    named = None if trigger_id is None or start is None else (trigger_id, start)
    if Chunk.Lane(lane) is Chunk.Lane.SINGLE:
        _serve_single_lane(named)
    else:
        _serve_bulk_lane(named)


def _serve_bulk_lane(named: tuple[str, int] | None) -> None:
    if _serve(Chunk.Lane.BULK, named=named, seconds=_LANE_SECONDS).unfinished:
        for chunk in due_chunks(most=1, lanes=[Chunk.Lane.BULK]):
            wakeups.hand_on(lane=chunk.lane, first_job=chunk.first_job)


def _serve_single_lane(named: tuple[str, int] | None) -> None:
    """Decides the first job at once. If others have arrived meanwhile, it is a burst, and they are taken in batches.

    Jobs that are tried one by one, because a batch with them has failed, follow each other without a pause.

    While the worker stays at the lane, a call sends no message. So after leaving it, it looks once more: for jobs that
    came after its last look, and before the mark was gone.
    """
    until = time.monotonic() + _LANE_SECONDS
    wakeups.stay_at_single_lane()
    _serve(Chunk.Lane.SINGLE, named=named)
    while (served := _serve(Chunk.Lane.SINGLE)).anything and time.monotonic() < until:
        wakeups.stay_at_single_lane()
        if not served.isolating:
            time.sleep(_GATHERING_SECONDS)
    wakeups.leave_single_lane()
    if _serve(Chunk.Lane.SINGLE).unfinished:
        # Jobs that have only just arrived need no message: the next one to arrive sends one.
        for chunk in due_chunks(most=1, seconds=_BACKLOG_SECONDS, lanes=[Chunk.Lane.SINGLE]):
            wakeups.wake_lane(lane=chunk.lane, first_jobs=[chunk.first_job])


def _serve(lane: Chunk.Lane, *, named: tuple[str, int] | None = None, seconds: float = 0) -> Served:
    served = serve_lane(lane=lane, named=named, seconds=seconds)
    wakeups.wake(served.due)
    return served


@shared_task(name=wakeups.WALK)
def walk() -> None:
    """Walks the enrollments that are due."""
    walked = walk_due(seconds=_WALK_SECONDS)
    wakeups.wake(walked.due)
    if walked.unfinished:  # beside the one that the next tick wakes, until every process walks
        wakeups.wake_walker()


@shared_task(name=wakeups.SEND)
def send() -> None:
    """Sends the webhooks that are due, and what subscriptions are to be told. Wakes a walker for the enrollments that
    wait for webhooks.

    Nothing while SENDING is off.
    """
    if not settings.SENDING:
        return
    keep_notes()
    client = Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS, rules=settings.WEBHOOK_TARGETS)
    for sent in send_due(
        threads=settings.WEBHOOK_THREADS, client=client, seconds=_SEND_SECONDS, stopping=_worker_stops, pushes=Outbox()
    ):
        wakeups.wake(sent.due)


def _worker_stops() -> bool:
    """Whether the worker was asked to stop; it then waits for its tasks. Only known in its own process."""
    return any(asked is not None for asked in (state.should_stop, state.should_terminate))


@shared_task(name=wakeups.SWEEP)
def sweep() -> None:
    """Wakes workers for jobs that have come due, or waited too long: their message was lost, or nobody received it.

    Then it looks after the notes of due hosts, gives up webhooks that are too late, ends in-app messages that have
    expired, and goes on with resumptions and aborts that are not finished: each whatever becomes of the others.

    Walkers and senders are woken by a tick every second anyway.
    """
    late_after = _LATE_SECONDS
    with alone("scheduled"):
        late_after = 0 if come_due() else _LATE_SECONDS
    with alone("late_jobs"):
        late = due_chunks(most=_WAKEUPS, seconds=late_after)
        for lane, chunks in groupby(late, key=attrgetter("lane")):
            wakeups.wake_lane(lane=lane, first_jobs=[chunk.first_job for chunk in chunks])
    with alone("due_hosts"):
        keep_notes()
    with alone("late_webhooks"):
        wakeups.wake(give_up_late())
    with alone("in_app_expiry"):
        wakeups.wake(expire(seconds=_EXPIRE_SECONDS))
    with alone("steering"):
        if go_on(seconds=_STEER_SECONDS):
            wakeups.wake(Due(walk=True, webhooks=True))


@shared_task(name=wakeups.FOLD)
def fold() -> None:
    """Sums up what was counted since. The sums are right without it; they would take ever longer to read."""
    fold_counts()


@shared_task(name=wakeups.RESEND)
def resend() -> None:
    """Makes failed webhooks due that staff had sent again, part by part."""
    until = time.monotonic() + _RESEND_SECONDS
    for asked_id in being_resent():
        with alone("resending", resending_id=asked_id):
            while (due := go_on_resending(asked_id)) is not None:
                wakeups.wake(due)
                if time.monotonic() > until:
                    wakeups.wake_resender()
                    return
