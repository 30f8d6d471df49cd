"""While Redis is away, jobs are decided, enrollments walked and webhooks sent all the same."""

import signal
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

import pytest
import redis
from django.db import connection
from django.utils import timezone

from engage.models import Workspace
from journeys.engine.webhooks.failures import Wanted
from journeys.engine.webhooks.resending import ask_to_resend
from journeys.models import CountDelta, Enrollment, Journey, Resending, WebhookDelivery
from tests.admin.failures import failed_webhooks
from tests.chaos.servers import OwnServer
from tests.journeys.walking.stories import walked
from tests.support.calls import data, trigger
from tests.support.clients import ServerClient
from tests.support.factories import DAY, JourneyFactory, crowd
from tests.support.processes import SCHEDULER, WEBHOOK_WORKER, WORKER, celery
from tests.support.receiver import Receiver
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits, pytest.mark.without_pooler]

WITHOUT_REDIS = "looking_without_redis"


@pytest.fixture
def journey(acme: Workspace, receiver: Receiver) -> Journey:
    crowd(acme, 4)
    hook = {"id": "hook", "type": "webhook", "url": receiver.url()}
    return JourneyFactory.create(workspace=acme, steps=[hook])


@contextmanager
def killed(server: OwnServer) -> Iterator[None]:
    server.stop(signal.SIGKILL)
    yield
    server.start()


@contextmanager
def frozen(server: OwnServer) -> Iterator[None]:
    with server.frozen():
        yield


@contextmanager
def demoted(server: OwnServer) -> Iterator[None]:
    """It answers, and takes no writes."""
    with redis.Redis(port=server.port) as client:
        client.replicaof("127.0.0.1", "1")
        yield
        client.replicaof("NO", "ONE")


def let_go_through(server: ServerClient, journey: Journey, name: str, *, completed: int) -> None:
    """By a single call, and by one for many."""
    data(trigger(server, journey, {"external_id": name}))
    data(trigger(server, journey, {"external_ids": ["user-3"]}))
    wait_until(lambda: Enrollment.objects.filter(state="completed").count() == completed)


def sessions() -> int:
    """How many there are in this database."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT count(*) FROM pg_stat_activity WHERE datname = current_database()")
        return int(cursor.fetchone()[0])


@dataclass(frozen=True)
class Workers:
    processes: list["subprocess.Popen[bytes]"]
    logs: list[Path]

    def each_says_without_redis(self, times: int) -> bool:
        return all(log.read_text().count(WITHOUT_REDIS) == times for log in self.logs)


@contextmanager
def all_workers(folder: Path) -> Iterator[Workers]:
    """Beside them a scheduler."""
    logs = [folder / "worker.log", folder / "webhooks.log"]
    with ExitStack() as stack:
        pairs = zip((WORKER, WEBHOOK_WORKER), logs, strict=True)
        processes = [stack.enter_context(celery(*arguments, log=log)) for arguments, log in pairs]
        stack.enter_context(celery(*SCHEDULER, log=folder / "beat.log"))
        yield Workers(processes, logs)


@pytest.mark.slow
@pytest.mark.mostly_waits(long=True)
def test_all_goes_on_without_redis_and_by_messages_again_once_it_is_back(
    server: ServerClient, journey: Journey, server_of_queues: OwnServer, tmp_path: Path
) -> None:
    Journey.objects.update(allow_reenrollment=True, max_entries_per_customer=99)
    with all_workers(tmp_path) as workers:
        let_go_through(server, journey, "user-0", completed=2)
        assert workers.each_says_without_redis(0)
        for times, away in enumerate((killed, frozen, demoted), start=1):
            before = 6 * times - 4
            with away(server_of_queues):
                let_go_through(server, journey, "user-1", completed=before + 2)
                wait_until(lambda number=times: workers.each_says_without_redis(number))  # type: ignore[misc]
                let_go_through(server, journey, "user-2", completed=before + 4)
                without = sessions()
            wait_until(lambda most=without: sessions() < most)  # type: ignore[misc]
            let_go_through(server, journey, "user-0", completed=before + 6)


@pytest.mark.slow
def test_workers_that_start_without_redis_look_for_themselves_and_end_when_they_are_asked_to(
    server: ServerClient, journey: Journey, server_of_queues: OwnServer, tmp_path: Path
) -> None:
    with killed(server_of_queues), all_workers(tmp_path) as workers:
        let_go_through(server, journey, "user-0", completed=2)
        wait_until(lambda: workers.each_says_without_redis(1))
        for process in workers.processes:
            process.terminate()
        assert [process.wait(60) for process in workers.processes] == [0, 0]


@pytest.mark.slow
def test_aborts_requests_to_send_again_and_folding_go_on_without_redis(
    server: ServerClient, acme: Workspace, server_of_queues: OwnServer, tmp_path: Path
) -> None:
    inside = walked(server, acme, [DAY])
    now = timezone.now()
    Journey.objects.update(active=False, aborted_at=now, held_at=now, held_because="Enough.")
    failed_webhooks(acme, number=2)
    ask_to_resend(Wanted(), asked_by="root", now=timezone.now())
    assert CountDelta.objects.exists()
    with killed(server_of_queues), celery(*WORKER, log=tmp_path / "worker.log"):
        wait_until(lambda: Enrollment.objects.filter(id=inside.id, state="exited").exists())
        wait_until(lambda: Resending.objects.get().ended_at is not None)
        wait_until(lambda: not CountDelta.objects.exists())
    assert WebhookDelivery.objects.filter(state="waiting", again=True).count() == 2
