"""The scheduler's ticks: each makes a worker look for due work, and none is sent while an earlier one still waits."""

from typing import Any

from celery.beat import ScheduleEntry, Scheduler

from journeys.engine.wakeups import wake_one


class TickScheduler(Scheduler):
    """Celery's scheduler, but for how a tick is sent. Any number of them may run."""

    producer = None  # type: ignore[assignment] # Celery's would wait for Redis, ever longer

    def apply_async(self, entry: ScheduleEntry, *_: Any, **__: Any) -> None:
        wake_one(str(entry.task))
