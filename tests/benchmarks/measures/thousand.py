"""A call of 1,000 external ids, and how fast the workers get through twenty of them."""

import time
from uuid import uuid4

from tests.benchmarks.figures import Figure, middle
from tests.benchmarks.service import CUSTOMERS, Effort, Service

_CALLS = 20

# A table of the same columns and indexes as the jobs', which no trigger and no foreign key watches.
_PREPARE = """
CREATE TABLE IF NOT EXISTS bare_job (LIKE journeys_enrollmentjob INCLUDING ALL);
CREATE TABLE IF NOT EXISTS bare_enrollment (LIKE journeys_enrollment INCLUDING ALL);
TRUNCATE bare_job, bare_enrollment
"""
_LOOK_UP = "SELECT id FROM customers_customer WHERE workspace_id = %s AND external_id = ANY(%s)"
_COPY = """
COPY bare_job (workspace_id, journey_id, customer_id, trigger_id, ordinal, queued_ms, status, result, reason)
FROM STDIN
"""
# What a worker must do at least with a chunk: enter who is not inside, and write down what became of the jobs.
_DECIDE = """
WITH entered AS (
    INSERT INTO bare_enrollment
        (id, workspace_id, journey_id, customer_id, revision_id, job_id, state, exit_reason, step_id, attempts,
         entered_at, ended_at)
    SELECT left(md5(job.id::text), 24), job.workspace_id, job.journey_id, job.customer_id, 1, job.id, 'completed', '',
           '', 0, now(), now()
    FROM bare_job job
    WHERE job.trigger_id = %(trigger)s AND job.ordinal >= %(start)s AND job.ordinal < %(start)s + %(size)s
      AND NOT EXISTS (
          SELECT FROM bare_enrollment inside
          WHERE inside.customer_id = job.customer_id AND inside.journey_id = job.journey_id AND inside.state = 'active'
      )
    RETURNING job_id
)
UPDATE bare_job job SET status = 'decided', result = 'enrolled', reason = 'Entered.', decided_at = now()
FROM entered WHERE job.id = entered.job_id
"""
_CHUNK = 500


def measure(service: Service, effort: Effort) -> list[Figure]:
    """In turn: a call, then the bare SQL, while the workers are busy with the calls before; medians of all.

    Before: how fast twenty calls are decided, and then the same customers by bare SQL over one connection.
    """
    service.connection.execute(_PREPARE)
    calls, bares, drains, bare_drains = [], [], [], []
    for _ in range(effort.rounds):
        service.settle()
        started = time.perf_counter()
        calls += [_timed_call(service, ids_of_call(number)) for number in range(_CALLS)]
        service.settle()
        drains.append(_CALLS * 1000 / (time.perf_counter() - started))
        bare_drains.append(_CALLS * 1000 / bare_drain(service))
        for number in range(_CALLS):
            ids = ids_of_call(number)
            _timed_call(service, ids)
            bares.append(_timed_sql(service, ids))
    call, bare, drain, floor = middle(calls), middle(bares), middle(drains), middle(bare_drains)
    return [
        Figure(
            measure="a call of 1,000 external ids", value=call, unit="ms",
            beside="bare SQL", beside_value=bare, ratio=call / bare, at_most=3.0,
        ),
        Figure(
            measure="drain: customers from 20 such calls", value=drain, unit="/s",
            beside="bare SQL, one connection", beside_value=floor, ratio=drain / floor, at_least=0.4,
        ),
    ]  # fmt: skip


def ids_of_call(number: int) -> list[str]:
    """The external ids of the thousand customers whom a call names; each call names others, in turn."""
    return [f"user-{(number * 1000 + n) % CUSTOMERS}" for n in range(1000)]


def _timed_call(service: Service, ids: list[str]) -> float:
    started = time.perf_counter()
    service.trigger({"external_ids": ids, "payload": {"a": 1}})
    return (time.perf_counter() - started) * 1000


def _timed_sql(service: Service, ids: list[str]) -> float:
    started = time.perf_counter()
    _queue_bare(service, ids)
    return (time.perf_counter() - started) * 1000


def _queue_bare(service: Service, ids: list[str]) -> str:
    """The id of the trigger that the jobs were copied for."""
    trigger, queued_ms = uuid4().hex[:24], int(time.time() * 1000)
    with service.connection.transaction(), service.connection.cursor() as cursor:
        found = cursor.execute(_LOOK_UP, [service.workspace, ids]).fetchall()
        with cursor.copy(_COPY) as copy:
            for ordinal, (customer,) in enumerate(found):
                copy.write_row(
                    (service.workspace, service.journey, customer, trigger, ordinal, queued_ms, "queued", "", "")
                )
    return trigger


def bare_drain(service: Service) -> float:
    """Seconds for the customers of twenty calls, into empty tables: queued, and entered in sets of 500."""
    service.connection.execute(_PREPARE)
    started = time.perf_counter()
    for number in range(_CALLS):
        trigger = _queue_bare(service, ids_of_call(number))
        for start in range(0, 1000, _CHUNK):
            service.connection.execute(_DECIDE, {"trigger": trigger, "start": start, "size": _CHUNK})
    return time.perf_counter() - started
