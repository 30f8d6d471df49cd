"""Workers look for themselves while Redis is away: all work is in PostgreSQL, and only messages about it are missing.

1. A thread of the worker's first process asks Redis once a second whether it takes writes. The consumer says whether it
   listens: after a long absence it connects ever more rarely, and may miss that Redis is back for half a minute.
2. While one of both does not hold, the thread does what a message would have made a child do: for a lane once a second,
   and else as often as the scheduler ticks. The children get no tasks: the consumer may be blocked for as long as it
   tries to connect.
3. As soon as both hold, the thread closes its database connection, and only asks.
"""

import time
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from threading import Event, Thread
from typing import Any

import structlog
from celery import bootsteps
from django.conf import settings
from django.db import close_old_connections, connections
from redis import Redis

from config.monitoring.doctor import say_what_is_amiss
from config.monitoring.presence import announce, kinds_of
from engage.database.outages import is_outage
from engage.redis.availability import redis_availability, redis_client, takes_writes

log = structlog.get_logger(__name__)
_SECONDS_BETWEEN = 1.0
_LAST_LOOK_SECONDS = 20.0  # webhooks that are in flight take ten at most
_LANES = ("single", "bulk")
_listening = Event()


@dataclass(kw_only=True)
class _Look:
    """A task that looks for work by itself, and how many seconds lie between two looks, at least."""

    task: Callable[[], object]
    seconds: float
    next_at: float = 0.0  # of the monotonic clock

    def run_if_due(self) -> None:
        if time.monotonic() >= self.next_at:
            self.next_at = time.monotonic() + self.seconds
            run_look(self.task)


class NoteListening(bootsteps.StartStopStep):
    """A step of the consumer: started once it listens, and stopped when it has lost its connection or ends."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, parent: Any) -> None:
        _listening.set()

    def stop(self, parent: Any) -> None:
        _listening.clear()


class Lookout(bootsteps.StartStopStep):
    """A step of the worker itself. It begins after the children were made.

    A thread would mean nothing to them, and may hold a lock when they are made, such as one of OpenSSL while it
    connects to PostgreSQL: then they would wait for it for ever.
    """

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._ends = Event()
        self._thread: Thread | None = None

    def start(self, parent: Any) -> None:
        say_what_is_amiss()
        announce(kinds_of(parent.app.amqp.queues.consume_from))
        looks = list(_looks(parent.app.tasks, parent.app.amqp.queues.consume_from))
        self._thread = Thread(target=self._look_out, args=[looks], name="lookout", daemon=True)
        self._thread.start()

    def stop(self, parent: Any) -> None:
        self._ends.set()
        if self._thread is not None:
            self._thread.join(_LAST_LOOK_SECONDS)

    def _look_out(self, looks: list[_Look]) -> None:
        redis, is_away = redis_client(), False
        while not self._ends.wait(_SECONDS_BETWEEN):
            was_away, is_away = is_away, _is_away(redis)
            if is_away and not was_away:
                log.warning("looking_without_redis")
            for look in looks if is_away else ():
                look.run_if_due()
            if was_away and not is_away:
                connections.close_all()


def _looks(tasks: Mapping[str, Callable[..., object]], queues: Collection[str]) -> Iterator[_Look]:
    """Those for the work of these queues: the lanes', and the tasks of all ticks."""
    for lane in _LANES:
        if lane in queues:
            task = partial(tasks["enroll"], lane=lane, trigger_id=None, start=None)
            yield _Look(task=task, seconds=_SECONDS_BETWEEN)
    ticks: Mapping[str, Any] = settings.CELERY_BEAT_SCHEDULE
    for tick in ticks.values():
        if settings.CELERY_TASK_ROUTES[tick["task"]]["queue"] in queues:
            yield _Look(task=tasks[tick["task"]], seconds=tick["schedule"])


def _is_away(redis: Redis) -> bool:
    if takes_writes(redis):
        return not _listening.is_set()
    redis_availability.avoid()  # a look that tried to wake others would wait for it
    return True


def run_look(task: Callable[[], object]) -> None:
    """Does what a message would have made a child do; what goes wrong is said."""
    close_old_connections()
    try:
        task()
    except Exception as error:
        if is_outage(error):
            log.warning("look_failed", error=type(error).__name__)
        else:
            log.exception("look_failed")
