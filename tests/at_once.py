"""Calls that truly happen at the same time, each on a database connection of its own."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from threading import Barrier
from typing import TypeVar

from django.db import connection, connections

T = TypeVar("T")
_PATIENCE_SECONDS = 30


def at_once(works: Sequence[Callable[[], T]]) -> list[T]:
    """Starts all of them together, each in its own thread; their results, in order. The first error is raised."""
    start = Barrier(len(works))

    def when_all_are_ready(work: Callable[[], T]) -> T:
        start.wait()
        return work()

    with ThreadPoolExecutor(len(works)) as threads:
        running = [begin(threads, partial(when_all_are_ready, work)) for work in works]
        return [future.result() for future in running]


def begin(threads: ThreadPoolExecutor, work: Callable[[], T]) -> Future[T]:
    """Starts it in another thread, which closes its database connection when it is done."""

    def run() -> T:
        try:
            return work()
        finally:
            connections.close_all()

    return threads.submit(run)


def until_waiting(count: int) -> None:
    """Returns when so many other connections wait for a lock. Raises AssertionError if that does not come to be."""
    give_up = time.monotonic() + _PATIENCE_SECONDS
    while time.monotonic() < give_up:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_clear_snapshot()")
            cursor.execute(
                "SELECT count(*) FROM pg_stat_activity "
                "WHERE datname = current_database() AND pid <> pg_backend_pid() AND wait_event_type = 'Lock'"
            )
            if cursor.fetchone()[0] == count:
                return
        time.sleep(0.01)
    raise AssertionError(f"There were never {count} connections waiting for a lock.")
