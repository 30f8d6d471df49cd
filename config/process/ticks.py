"""The scheduler's ticks: each makes a worker look for due work, and none is sent while an earlier one still waits."""

from collections.abc import Callable, Mapping
from typing import Any

from celery.beat import ScheduleEntry, Scheduler

from journeys import wakeups

_TICKS: Mapping[str | None, Callable[[], None]] = {
    wakeups.WALK: wakeups.wake_walker,
    wakeups.SEND: wakeups.wake_sender,
    wakeups.SWEEP: wakeups.wake_sweeper,
    wakeups.FOLD: wakeups.wake_folder,
    wakeups.RESEND: wakeups.wake_resender,
}


class TickScheduler(Scheduler):
    """Celery's scheduler, but for how a tick is sent. Any number of them may run."""

    producer = None  # type: ignore[assignment] # Celery's would wait for Redis, ever longer

    def apply_async(self, entry: ScheduleEntry, *_: Any, **__: Any) -> None:
        _TICKS[entry.task]()
