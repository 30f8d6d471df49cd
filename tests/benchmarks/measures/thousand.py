"""A call of 1,000 external ids, and how fast the workers get through twenty of them."""

import time
from uuid import uuid4

from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.service import CUSTOMERS, Effort, Service

_CALLS = 20

# A table of the same columns and indexes as the jobs', which no trigger and no foreign key watches.
_PREPARE = """
CREATE TABLE IF NOT EXISTS bare_job (LIKE journeys_enrollmentjob INCLUDING ALL);
TRUNCATE bare_job
"""
_LOOK_UP = "SELECT id FROM customers_customer WHERE workspace_id = %s AND external_id = ANY(%s)"
_COPY = """
COPY bare_job (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
FROM STDIN
"""


def measure(service: Service, effort: Effort) -> list[Figure]:
    """In turn: a call, then the bare SQL, while the workers are busy with the calls before; medians of all."""
    service.connection.execute(_PREPARE)
    calls, bares, drains = [], [], []
    for _ in range(effort.rounds):
        service.settle()
        started = time.perf_counter()
        for number in range(_CALLS):
            ids = [f"user-{(number * 1000 + n) % CUSTOMERS}" for n in range(1000)]
            calls.append(_timed_call(service, ids))
        service.settle()
        drains.append(_CALLS * 1000 / (time.perf_counter() - started))
        for number in range(_CALLS):
            ids = [f"user-{(number * 1000 + n) % CUSTOMERS}" for n in range(1000)]
            _timed_call(service, ids)
            bares.append(_timed_sql(service, ids))
    call, bare = middle(calls), middle(bares)
    return [
        Figure(
            measure="a call of 1,000 external ids", value=call, unit="ms",
            beside="bare SQL", beside_value=bare, ratio=call / bare, at_most=3.0,
        ),
        Figure(measure="drain: customers from 20 such calls", value=middle(drains), unit="/s"),
    ]  # fmt: skip


def _timed_call(service: Service, ids: list[str]) -> float:
    started = time.perf_counter()
    service.trigger({"external_ids": ids, "payload": {"a": 1}})
    return (time.perf_counter() - started) * 1000


def _timed_sql(service: Service, ids: list[str]) -> float:
    trigger, queued_ms, started = uuid4().hex[:24], int(time.time() * 1000), time.perf_counter()
    with service.connection.transaction(), service.connection.cursor() as cursor:
        found = cursor.execute(_LOOK_UP, [service.workspace, ids]).fetchall()
        with cursor.copy(_COPY) as copy:
            for ordinal, (customer,) in enumerate(found):
                copy.write_row(
                    (service.workspace, service.journey, customer, trigger, ordinal, queued_ms, "queued", "", "")
                )
    return (time.perf_counter() - started) * 1000
