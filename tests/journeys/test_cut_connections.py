"""A connection that is lost in the middle of work is no attempt at it: nothing is given up, however often that happens.

A process that dies in the middle of it is one.
"""

import os
import signal
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.db import InternalError, OperationalError, connection
from django.db.models.functions import Now
from django.utils import timezone

from customers.models import Customer
from journeys.engine.entering import settling
from journeys.engine.entering.entry_decisions import decide_jobs
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.walking import loop, walk_due
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey
from journeys.rules.failures import MAX_ATTEMPTS
from journeys.steps.course import walk_on
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import DAY, CustomerFactory, crowd
from tests.support.processes import WORKER, celery, pool_children
from tests.support.simultaneous import PATIENCE_SECONDS
from tests.support.waiting import wait_until

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("queue"),
    pytest.mark.mostly_waits,
    pytest.mark.journey(steps=[DAY]),
]

CUTS = MAX_ATTEMPTS + 2


@dataclass(frozen=True)
class Work:
    """What waits to be done by `do`, and the SQL of a lock that holds it up in the middle."""

    do: Callable[[], object]
    lock: str


DECIDING = Work(
    lambda: serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=0), "SELECT FROM customers_customer FOR UPDATE"
)
WALKING = Work(lambda: walk_due(seconds=0), "LOCK TABLE journeys_steprun IN SHARE MODE")


@pytest.fixture(params=["deciding", "walking"])
def work(request: pytest.FixtureRequest, server: ServerClient, journey: Journey) -> Work:
    """A job that waits to be decided, or an enrollment that waits to be walked."""
    (name,) = crowd(journey.workspace, 1)
    data(trigger(server, journey, {"external_id": name}))
    if request.param == "deciding":
        return DECIDING
    let_workers_decide()
    return WALKING


@contextmanager
def held_up(work: Work) -> Iterator[None]:
    other = connection.copy()
    try:
        with other.cursor() as cursor:
            other.set_autocommit(False)
            cursor.execute(work.lock)
            yield
    finally:
        other.close()


def who_wait(what: str) -> int:
    """How many there are, of whom this is asked."""
    with connection.cursor() as cursor:
        cursor.execute(
            f"SELECT {what} FROM pg_stat_activity WHERE datname = current_database() AND wait_event_type = 'Lock'"
        )
        return len(cursor.fetchall())


def somebody_waits() -> bool:
    return who_wait("pid") > 0


def nobody_waits() -> bool:
    return not somebody_waits()


def cut_in_the_middle(work: Work, *, while_it_is: AbstractContextManager[None] | None = None) -> None:
    with held_up(work), ThreadPoolExecutor(1) as pool:
        working = pool.submit(work.do)
        wait_until(somebody_waits)
        with while_it_is or nullcontext():
            assert who_wait("pg_terminate_backend(pid)") == 1
            with pytest.raises(OperationalError):
                working.result(PATIENCE_SECONDS)
            pool.submit(connection.close)


@contextmanager
def no_new_connections() -> Iterator[None]:
    """As while PostgreSQL starts: whoever has a connection keeps it."""
    with connection._nodb_cursor() as cursor:
        name = connection.ops.quote_name(connection.settings_dict["NAME"])
        cursor.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS false")
        try:
            yield
        finally:
            cursor.execute(f"ALTER DATABASE {name} WITH ALLOW_CONNECTIONS true")


def some_attempts_failed(number: int) -> None:
    """So that one of the next would be the last."""
    Chunk.objects.update(attempts=number)
    Enrollment.objects.update(attempts=number)


def let_all_go_on() -> None:
    time_passes(minutes=1)
    let_workers_walk()


def assert_all_went_well() -> None:
    assert set(EnrollmentJob.objects.values_list("result", flat=True)) == {"enrolled"}
    assert not Chunk.objects.exists()
    assert list(Enrollment.objects.values_list("state", "step_id", "attempts", "error").distinct()) == [
        ("active", "day", 0, "")
    ]


def test_work_is_done_however_often_its_connection_was_cut(work: Work) -> None:
    for _ in range(CUTS):
        cut_in_the_middle(work)
        time_passes(minutes=1)
    let_all_go_on()
    assert_all_went_well()


def test_who_cannot_connect_gives_the_attempt_back_later(work: Work) -> None:
    for _ in range(CUTS):
        cut_in_the_middle(work, while_it_is=no_new_connections())
        work.do()
        time_passes(minutes=1)
    let_all_go_on()
    assert_all_went_well()


@contextmanager
def deciding_cuts_the_connection(customer: Customer) -> Iterator[None]:
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION cut() RETURNS trigger LANGUAGE plpgsql AS "
            "$$ BEGIN PERFORM pg_terminate_backend(pg_backend_pid()); PERFORM pg_sleep(60); RETURN NEW; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER cut BEFORE INSERT ON journeys_enrollment FOR EACH ROW "
            f"WHEN (NEW.customer_id = '{customer.id}') EXECUTE FUNCTION cut()"
        )
    try:
        yield
    finally:
        with connection.cursor() as cursor:
            cursor.execute("DROP TRIGGER cut ON journeys_enrollment; DROP FUNCTION cut()")


def test_a_job_that_cuts_its_connection_spares_its_neighbours(server: ServerClient, journey: Journey) -> None:
    """For as long as it takes: nobody can tell whether it is the job."""
    names = crowd(journey.workspace, 3)
    cutter = Customer.objects.get(external_id=names[1])
    for name in names:
        data(trigger(server, journey, {"external_id": name}))
    with deciding_cuts_the_connection(cutter):
        with pytest.raises(OperationalError):
            let_workers_decide()  # all of them together
        for _ in range(CUTS):
            time_passes(minutes=1)
            with pytest.raises(OperationalError):
                let_workers_decide()
            assert Chunk.objects.get(trigger__jobs__customer=cutter).due_at > timezone.now() + timedelta(seconds=2)
            let_workers_decide()
    assert list(EnrollmentJob.objects.filter(status="queued").values_list("customer_id", flat=True)) == [cutter.id]
    let_all_go_on()
    assert_all_went_well()


def idling(work: Callable[..., Any], customer: Customer) -> Callable[..., Any]:
    """The work; where it is about this customer, nothing is asked for after it for longer than PostgreSQL waits."""

    def idle(*args: Any, **kwargs: Any) -> Any:
        done = work(*args, **kwargs)
        if customer.id in repr((args, kwargs, done)):
            with connection.cursor() as cursor:
                cursor.execute("SET LOCAL idle_in_transaction_session_timeout = '20ms'")
            time.sleep(0.1)
        return done

    return idle


@pytest.mark.without_pooler
def test_what_takes_so_long_that_its_connection_ends_is_given_up_alone(
    work: Work, server: ServerClient, journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = Customer.objects.get()
    monkeypatch.setattr(loop, "walk_on", idling(walk_on, slow))
    if work is DECIDING:
        monkeypatch.setattr(settling, "decide_jobs", idling(decide_jobs, slow))
    for _ in range(2):
        other = CustomerFactory.create(workspace=journey.workspace)
        data(trigger(server, journey, {"customerId": other.id}))
    cuts = 0
    for _ in range(3 * MAX_ATTEMPTS):
        try:
            let_workers_walk()
        except InternalError:
            cuts += 1
            connection.close()
        time_passes(minutes=1)
    assert cuts == MAX_ATTEMPTS
    ended = EnrollmentJob.objects.filter(status="failed"), Enrollment.objects.filter(state="exited")
    (given_up,) = [one for some in ended for one in some]
    assert given_up.customer == slow
    reason = given_up.reason if isinstance(given_up, EnrollmentJob) else given_up.exit_reason
    assert reason.startswith(f"Given up after {MAX_ATTEMPTS} attempts: InternalError: terminating connection due to")
    assert Enrollment.objects.filter(state="active", step_id="day", attempts=0, error="").count() == 2


@pytest.mark.slow
@pytest.mark.mostly_waits(long=True)
@pytest.mark.usefixtures("ticks")
def test_workers_whose_connections_are_cut_give_nothing_up(work: Work, tmp_path: Path) -> None:
    some_attempts_failed(MAX_ATTEMPTS - 1)
    with celery(*WORKER, log=tmp_path / "worker.log"):
        with held_up(work):
            for _ in range(2):
                time_passes(minutes=1)
                wait_until(somebody_waits)
                who_wait("pg_terminate_backend(pid)")
                wait_until(nobody_waits)
                wait_until(lambda: not Enrollment.objects.filter(claimed_until__gt=Now()).exists())
        time_passes(minutes=1)
        wait_until(lambda: Enrollment.objects.filter(step_began_at__isnull=False).exists())
    assert_all_went_well()


@pytest.mark.slow
@pytest.mark.usefixtures("ticks")
def test_work_with_which_five_processes_died_is_given_up(work: Work, tmp_path: Path) -> None:
    some_attempts_failed(MAX_ATTEMPTS - 2)
    with celery(*WORKER, log=tmp_path / "worker.log") as worker:
        for _ in range(2):
            with held_up(work):
                time_passes(minutes=1)
                wait_until(somebody_waits)
                for child in pool_children(worker):
                    os.kill(child, signal.SIGKILL)
            wait_until(nobody_waits)  # the server notices only when the lock is free
        time_passes(minutes=1)
        ended = EnrollmentJob.objects.filter(status="failed"), Enrollment.objects.filter(state="exited")
        wait_until(lambda: any(one.exists() for one in ended))
