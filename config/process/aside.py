"""Work that waits for others, aside from a lane: in a thread of its own of the processes that have a way out.

To tell people of alerts waits for mail servers. In the threads of `webhooks` a server that hangs would stop everybody's
webhooks, and webhooks that flow would keep alerts from being told. So `tell` has a queue of its own, whose messages are
taken by this thread. The processes are those that there were: nobody who upgrades changes how they are started.
"""

import time
from collections.abc import Callable, Mapping
from threading import Event, Thread
from typing import Any

from celery import bootsteps
from django.conf import settings
from django.db import connections
from redis import Redis

from config.process.lookout import run_look
from engage.redis.availability import REDIS_FAILURES, redis_client, redis_key

QUEUES = {"tell": "webhooks"}  # the queue, which is called as its task, and that beside which it is taken
_SECONDS_BETWEEN = 1.0
_LAST_SECONDS = 15.0  # what is sent when the worker ends takes ten at most


class Aside(bootsteps.StartStopStep):
    """A step of the worker itself, which begins after its children were made: see Lookout."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._ends = Event()
        self._threads: list[Thread] = []

    def start(self, parent: Any) -> None:
        taken = parent.app.amqp.queues.consume_from
        for queue, beside in QUEUES.items():
            if beside in taken and queue not in taken:
                thread = Thread(target=self._take, args=[queue, parent.app.tasks[queue]], name=queue, daemon=True)
                thread.start()
                self._threads.append(thread)

    def stop(self, parent: Any) -> None:
        self._ends.set()
        for thread in self._threads:
            thread.join(_LAST_SECONDS)

    def _take(self, queue: str, task: Callable[[], object]) -> None:
        ticks: Mapping[str, Any] = settings.CELERY_BEAT_SCHEDULE
        redis, seconds = redis_client(), ticks[queue]["schedule"]
        ran_at = time.monotonic()
        while not self._ends.wait(_SECONDS_BETWEEN):
            if _is_asked(redis, queue, or_else=time.monotonic() - ran_at >= seconds):
                ran_at = time.monotonic()
                run_look(task)
                connections.close_all()


def _is_asked(redis: Redis, queue: str, *, or_else: bool) -> bool:
    """Whether a message was there, whatever it says; while Redis is away, whether one would have been."""
    try:
        return redis.lpop(redis_key(queue)) is not None
    except REDIS_FAILURES:
        return or_else
