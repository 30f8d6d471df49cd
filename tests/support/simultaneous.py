"""Calls that run at the same time, each with a database connection of its own."""

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from threading import Barrier
from typing import TypeVar

import pytest
from django.db import OperationalError, connection, connections, transaction

from customers.models import Customer

T = TypeVar("T")
PATIENCE_SECONDS = 20


def all_at_once(calls: Sequence[Callable[[], T]]) -> list[T]:
    """The results of the calls, in order; none begins before every thread has its connection."""
    ready = Barrier(len(calls))

    def run(call: Callable[[], T]) -> T:
        try:
            connection.ensure_connection()
            ready.wait(PATIENCE_SECONDS)
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(len(calls)) as pool:
        return list(pool.map(run, calls))


def impatient(call: Callable[[], T]) -> Callable[[], T]:
    """The call as its thread makes it if it waits for no lock for long."""

    def run() -> T:
        with connection.cursor() as cursor:
            cursor.execute("SET lock_timeout = '50ms'")
        return call()

    return run


def elsewhere(call: Callable[[], T]) -> T:
    """The result of the call in a thread, which does not have to wait for the caller's transaction."""
    return _started(call).result(PATIENCE_SECONDS)


def made_to_wait(call: Callable[[], T], *, waiting: int = 1) -> "Future[T]":
    """Starts the call in a thread, and comes back once it waits for a lock that the caller's transaction holds.

    `waiting` is how many then wait, with it.
    """
    started = _started(call)
    _until_somebody_waits(waiting)
    return started


def done_with_customers_locked_in_order(call: Callable[[], T]) -> T:
    """The result of the call, which has to lock all customers, and to do so in the order of their ids.

    Else two calls that lock the same customers could wait for each other. While the last but one is held, the call
    waits for them; it then holds those before, and not yet the last.
    """
    *before, held, last = Customer.objects.order_by("id").values_list("id", flat=True)
    with transaction.atomic():
        free = Customer.objects.select_for_update(no_key=True, nowait=True)
        free.get(id=held)
        calling = made_to_wait(call)
        free.get(id=last)
        for customer_id in before:
            with pytest.raises(OperationalError, match="could not obtain lock"), transaction.atomic():
                free.get(id=customer_id)
    return calling.result(PATIENCE_SECONDS)


def _started(call: Callable[[], T]) -> "Future[T]":
    """In a thread with a database connection of its own."""

    def run() -> T:
        try:
            return call()
        finally:
            connections.close_all()

    pool = ThreadPoolExecutor(1)
    started = pool.submit(run)
    pool.shutdown(wait=False)
    return started


def _until_somebody_waits(number: int) -> None:
    patience = time.monotonic() + PATIENCE_SECONDS
    with connection.cursor() as cursor:
        while time.monotonic() < patience:
            cursor.execute("SELECT pg_stat_clear_snapshot()")  # else a transaction sees the same activity for ever
            cursor.execute(
                "SELECT 1 FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
            )
            if len(cursor.fetchall()) >= number:
                return
            time.sleep(0.005)
    raise AssertionError("The call did not wait for any lock.")
