"""Workers look for themselves while Redis is away: all work is in PostgreSQL, and only messages about it are missing.

1. A thread of the worker's first process asks Redis once a second whether it takes writes. The consumer says whether it
   listens: after a long absence it connects ever more rarely, and may miss that Redis is back for half a minute.
2. While one of both does not hold, the thread does once a second what a message would have made a child do. The
   children get no tasks: the consumer may be blocked for as long as it tries to connect.
3. As soon as both hold, the thread closes its database connection, and only asks.
"""

from collections.abc import Callable, Mapping
from functools import partial
from threading import Event, Thread
from typing import Any

import structlog
from celery import bootsteps
from django.db import close_old_connections, connections
from redis import Redis

from engage.database.outages import is_outage
from engage.redis.availability import redis_availability, redis_client, takes_writes

log = structlog.get_logger(__name__)
_SECONDS_BETWEEN = 1.0
_LAST_LOOK_SECONDS = 20.0  # webhooks that are in flight take ten at most
# The task that looks for the work of each queue.
_LOOKS: Mapping[str, tuple[str, Mapping[str, Any]]] = {
    "single": ("enroll", {"lane": "single", "trigger_id": None, "start": None}),
    "bulk": ("enroll", {"lane": "bulk", "trigger_id": None, "start": None}),
    "walk": ("walk", {}),
    "webhooks": ("send", {}),
}
_listening = Event()


class NoteListening(bootsteps.StartStopStep):
    """A step of the consumer: started once it listens, and stopped when it has lost its connection or ends."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, parent: Any) -> None:
        _listening.set()

    def stop(self, parent: Any) -> None:
        _listening.clear()


class Lookout(bootsteps.StartStopStep):
    """A step of the worker itself. It begins after the children were made, to whom a thread would mean nothing."""

    requires = ("celery.worker.components:Pool",)

    def __init__(self, parent: Any, **options: Any) -> None:
        super().__init__(parent, **options)
        self._ends = Event()
        self._thread: Thread | None = None

    def start(self, parent: Any) -> None:
        tasks, queues = parent.app.tasks, parent.app.amqp.queues.consume_from
        found = [_LOOKS[queue] for queue in queues if queue in _LOOKS]
        looks = [partial(tasks[name], **arguments) for name, arguments in found]
        self._thread = Thread(target=self._look_out, args=[looks], name="lookout", daemon=True)
        self._thread.start()

    def stop(self, parent: Any) -> None:
        self._ends.set()
        if self._thread is not None:
            self._thread.join(_LAST_LOOK_SECONDS)

    def _look_out(self, looks: list[Callable[[], object]]) -> None:
        redis, is_away = redis_client(), False
        while not self._ends.wait(_SECONDS_BETWEEN):
            was_away, is_away = is_away, _is_away(redis)
            if is_away and not was_away:
                log.warning("looking_without_redis")
            for look in looks if is_away else ():
                _look(look)
            if was_away and not is_away:
                connections.close_all()


def _is_away(redis: Redis) -> bool:
    if takes_writes(redis):
        return not _listening.is_set()
    redis_availability.avoid()  # a look that tried to wake others would wait for it
    return True


def _look(look: Callable[[], object]) -> None:
    close_old_connections()
    try:
        look()
    except Exception as error:
        if is_outage(error):
            log.warning("look_failed", error=type(error).__name__)
        else:
            log.exception("look_failed")
