"""Jobs whose messages are lost, or whose worker is killed: other workers decide them."""

from pathlib import Path

import pytest
import redis
from django.db import transaction

from customers.models import Customer
from journeys.models import Enrollment, EnrollmentJob, Journey
from tests.support.calls import all_decided, data, trigger
from tests.support.clients import ServerClient
from tests.support.processes import WORKER, celery, kill_group
from tests.support.simultaneous import made_to_wait
from tests.support.waiting import wait_until

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
