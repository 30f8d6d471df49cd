"""Jobs whose messages are lost, or whose worker is killed: other workers decide them. And so with moves."""

from pathlib import Path

import pytest
import redis
from django.db import transaction

from customers.models import Customer
from journeys.models import Enrollment, EnrollmentJob, Journey, SteeringAct
from tests.support.calls import all_decided, data, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.processes import WORKER, celery, kill_group
from tests.support.simultaneous import made_to_wait
from tests.support.waiting import wait_until

DAY = {"id": "day", "type": "delay", "for": "P1D"}
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("queue"),
    pytest.mark.mostly_waits,
    pytest.mark.journey(crowd=1000),
]

NAMES = [f"user-{n}" for n in range(1000)]


@pytest.mark.slow
@pytest.mark.usefixtures("ticks")
def test_jobs_whose_messages_were_lost_are_decided(
    server: ServerClient, journey: Journey, queue: redis.Redis, tmp_path: Path
) -> None:
    for body in ({"external_id": "user-1"}, {"external_ids": NAMES}):
        data(trigger(server, journey, body))
    queue.flushdb()
    with celery(*WORKER, log=tmp_path / "worker.log"):
        wait_until(all_decided)
    assert Enrollment.objects.count() == 1000


@pytest.mark.slow
@pytest.mark.usefixtures("ticks")
def test_jobs_of_a_killed_worker_are_decided_by_another(server: ServerClient, journey: Journey, tmp_path: Path) -> None:
    with celery(*WORKER, log=tmp_path / "killed.log") as killed, transaction.atomic():
        # Holds the worker up in the middle of its work.
        Customer.objects.select_for_update().get(external_id="user-7")
        made_to_wait(lambda: data(trigger(server, journey, {"external_ids": NAMES})))
        kill_group(killed)
    assert not all_decided()
    with celery(*WORKER, log=tmp_path / "worker.log"):
        wait_until(all_decided)
    assert Enrollment.objects.count() == 1000
    assert EnrollmentJob.objects.filter(result="enrolled").count() == 1000


@pytest.mark.slow
@pytest.mark.usefixtures("ticks")
@pytest.mark.journey(crowd=1000, steps=[DAY])
def test_a_move_amid_which_a_walker_is_killed_is_made_by_another(
    server: ServerClient, journey: Journey, tmp_path: Path
) -> None:
    data(trigger(server, journey, {"external_ids": NAMES}))
    let_workers_walk()
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}?moveInside=true"
    told = data(server.put(path, {"steps": [{**DAY, "for": "P2D"}]}, headers={"If-Match": "*"}), status=200)
    assert told["moving"]["moves"] == 1000
    with transaction.atomic():
        SteeringAct.objects.select_for_update().get()  # which a piece writes last
        with celery(*WORKER, log=tmp_path / "killed.log") as killed:
            made_to_wait(lambda: None)
            kill_group(killed)
    assert Enrollment.objects.filter(revision__number=1).count() == 1000
    with celery(*WORKER, log=tmp_path / "worker.log"):
        wait_until(lambda: not Journey.objects.filter(moves_to__isnull=False).exists())
    assert Enrollment.objects.filter(revision__number=2, moves__0__to=2).count() == 1000
    assert SteeringAct.objects.get().numbers["moved"] == 1000
    assert counted(journey) == counted_by_history(journey.id)
