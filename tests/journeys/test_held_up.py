"""Work that waits for a lock which others hold: it is given back, is no attempt, and holds up nobody else."""

import os
import signal
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from django.db import connection

from customers.models import Customer
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.walking import walk_due
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey
from journeys.rules.failures import MAX_ATTEMPTS
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import DAY, crowd
from tests.support.processes import WORKER, celery
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.journey(steps=[DAY]),
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("queue"),
    pytest.mark.mostly_waits,
    pytest.mark.without_pooler,
]

LOCKED = "SELECT FROM customers_customer WHERE id = %s FOR UPDATE"


@pytest.fixture
def _impatient() -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute("SET lock_timeout = '50ms'")
        yield
        cursor.execute("RESET lock_timeout")


@contextmanager
def held(statement: str, *parameters: str) -> Iterator[None]:
    other = connection.copy()
    try:
        other.set_autocommit(False)
        with other.cursor() as cursor:
            cursor.execute(statement, parameters)
        yield
    finally:
        other.close()


def decided() -> set[str | None]:
    return set(EnrollmentJob.objects.filter(status="decided").values_list("customer__external_id", flat=True))


@pytest.mark.slow
@pytest.mark.usefixtures("_impatient")
@pytest.mark.parametrize("together", [True, False])
def test_a_locked_customer_keeps_nobody_else_waiting(server: ServerClient, journey: Journey, *, together: bool) -> None:
    """As long as it takes: it is no fault of the job."""
    names = crowd(journey.workspace, 5)
    locked = Customer.objects.get(external_id=names[2])
    for body in [{"external_ids": names}] if together else [{"external_id": name} for name in names]:
        data(trigger(server, journey, body))
    with held(LOCKED, locked.id):
        for _ in range(MAX_ATTEMPTS + 4):
            let_workers_decide()
            time_passes(minutes=1)
        assert decided() == set(names) - {locked.external_id}
        assert Chunk.objects.count() == 1
    let_workers_decide()
    assert decided() == set(names)
    assert set(EnrollmentJob.objects.values_list("result", flat=True)) == {"enrolled"}


@pytest.mark.usefixtures("_impatient")
def test_a_job_that_was_held_up_is_tried_again_after_a_second(server: ServerClient, journey: Journey) -> None:
    (name,) = crowd(journey.workspace, 1)
    data(trigger(server, journey, {"external_id": name}))
    with held(LOCKED, Customer.objects.get().id):
        serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=0)
    let_workers_decide()
    assert not decided()
    time_passes(seconds=1)
    let_workers_decide()
    assert decided() == {name}


def test_a_locked_customer_is_parted_from_others(server: ServerClient, journey: Journey) -> None:
    names = crowd(journey.workspace, 9)
    locked = Customer.objects.get(external_id=names[4])
    data(trigger(server, journey, {"external_ids": names}))
    with held(LOCKED, locked.id):
        began = time.monotonic()
        for _ in range(3):  # held up, before the locked one, after it
            serve_lane(lane=Chunk.Lane.BULK, named=None, seconds=0)
        assert time.monotonic() - began < 1.5
        assert decided() == set(names) - {locked.external_id}
    left = Chunk.objects.get()
    assert (left.stop - left.start, left.attempts) == (1, 1)


@pytest.mark.usefixtures("_impatient")
def test_enrollments_that_are_held_up_are_walked_later(server: ServerClient, journey: Journey) -> None:
    names = crowd(journey.workspace, 3)
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_decide()
    with held("LOCK TABLE journeys_steprun IN SHARE MODE"):
        for _ in range(MAX_ATTEMPTS + 2):
            walk_due(seconds=0)
            time_passes(minutes=1)
    assert list(Enrollment.objects.values_list("attempts", "error").distinct()) == [(0, "")]
    let_workers_walk()
    assert list(Enrollment.objects.values_list("state", "step_id").distinct()) == [("active", "day")]


def sessions(*, that: str) -> int:
    with connection.cursor() as cursor:
        cursor.execute(f"SELECT count(*) FROM pg_stat_activity WHERE datname = current_database() AND {that}")
        return int(cursor.fetchone()[0])


@pytest.mark.slow
@pytest.mark.usefixtures("ticks")
@pytest.mark.parametrize("frozen_in", ["deciding", "walking"])
def test_a_worker_that_freezes_amid_a_transaction_does_not_keep_its_locks(
    server: ServerClient, journey: Journey, tmp_path: Path, frozen_in: str
) -> None:
    """As on a machine that lost its power: nobody closes its connections."""
    names = crowd(journey.workspace, 20)
    for name in names:
        data(trigger(server, journey, {"external_id": name}))
    lock = "SELECT FROM customers_customer FOR UPDATE"
    if frozen_in == "walking":
        let_workers_decide()
        lock = "LOCK TABLE journeys_steprun IN SHARE MODE"
    with celery(*WORKER, log=tmp_path / "frozen.log") as frozen:
        with held(lock):
            wait_until(lambda: sessions(that="wait_event_type = 'Lock'") > 0)
            os.killpg(frozen.pid, signal.SIGSTOP)
        wait_until(lambda: sessions(that="state = 'idle in transaction'") > 0)
        with celery(*WORKER, log=tmp_path / "worker.log"):
            waiting = Enrollment.objects.filter(step_began_at__isnull=False)
            wait_until(lambda: waiting.count() == len(names), what="everybody to wait", seconds=30)
    assert set(EnrollmentJob.objects.values_list("result", flat=True)) == {"enrolled"}
    assert list(Enrollment.objects.values_list("state", "step_id").distinct()) == [("active", "day")]
