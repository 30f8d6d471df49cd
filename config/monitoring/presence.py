"""Which kinds of processes run: each main process says so every few seconds, in a thread of its own.

What it writes is a key that expires after a day. What is left of that day tells how long ago it was, by one clock:
Redis's. While Redis is away, nothing is known.
"""

import time
from collections.abc import Collection, Iterable, Mapping
from contextlib import suppress
from threading import Thread

from engage.redis.availability import REDIS_FAILURES, redis_client, redis_key

PROCESSES = ("web", "worker", "bulk", "walk", "webhooks", "scheduler")  # of the Procfile
_OF_QUEUES = {"single": "worker", "bulk": "bulk", "walk": "walk", "webhooks": "webhooks"}
_SECONDS_BETWEEN = 5.0
_KEPT_MS = 86_400_000


def kinds_of(queues: Collection[str]) -> list[str]:
    """The processes that a worker of these queues is."""
    return [kind for queue, kind in _OF_QUEUES.items() if queue in queues]


def announce(kinds: Iterable[str]) -> None:
    """From now on this process is seen, as one of these kinds. Never waits, never raises."""
    Thread(target=_announce, args=[tuple(kinds)], name="presence", daemon=True).start()


def _announce(kinds: Iterable[str]) -> None:
    while True:
        say(kinds)
        time.sleep(_SECONDS_BETWEEN)


def say(kinds: Iterable[str]) -> None:
    """Once."""
    with suppress(*REDIS_FAILURES), redis_client() as client:
        for kind in kinds:
            client.set(_key(kind), "", px=_KEPT_MS)


def seconds_unseen() -> Mapping[str, float]:
    """For each kind the seconds since one was seen, or those of a day if none was. Raises REDIS_FAILURES."""
    with redis_client() as client:
        pipeline = client.pipeline(transaction=False)
        for kind in PROCESSES:
            pipeline.pttl(_key(kind))
        left: list[int] = pipeline.execute()
    return {kind: (_KEPT_MS - max(0, ms)) / 1000 for kind, ms in zip(PROCESSES, left, strict=True)}


def _key(kind: str) -> str:
    return redis_key(f"engage:seen:{kind}")
