"""Garbage in the queues: what anybody may have put into Redis."""

from typing import Any

from celery import Celery

from tests.chaos.faults import fault
from tests.chaos.fleet import LANES
from tests.chaos.probing import metric
from tests.chaos.scenario import Scenario
from tests.chaos.service import Service
from tests.support.garbage import garbage_like
from tests.support.waiting import wait_until

_QUEUES = ("single", "bulk", "walk", "sweep", "webhooks")
_BESIDE = "beside"  # a queue that nobody listens to
_SKIPPED = "engage_messages_skipped_total"
_SKIPPED_WITHIN = 20.0  # seconds


def fill_queues_with_garbage(service: Service) -> None:
    """Into each queue, all kinds at once, so that several lie there for each process."""
    garbage = garbage_like(_message(service))
    before, expected = metric(service, _SKIPPED), len(garbage) * len(_QUEUES)
    with service.client() as client:
        for queue in _QUEUES:
            client.lpush(queue, *garbage)
    try:
        wait_until(lambda: metric(service, _SKIPPED) == before + expected, seconds=_SKIPPED_WITHIN)
    except TimeoutError:
        skipped = metric(service, _SKIPPED) - before
        service.complaints.append(f"{skipped:.0f} of {expected} unreadable messages were skipped and counted")
    for lane in LANES:
        for member in service.fleet.of_kind(lane):
            if not member.lives:
                service.complaints.append(f"{member.name} has ended")


def _message(service: Service) -> bytes:
    """As it lies in Redis."""
    with Celery(broker=service.redis_url, set_as_current=False) as app, service.client() as client:
        app.send_task("walk", queue=_BESIDE)
        messages: Any = client.lrange(_BESIDE, 0, -1)
        client.delete(_BESIDE)
    return bytes(messages[0])


GARBAGE = Scenario(
    name="garbage", load=6, rest_seconds=30,
    faults=lambda chance: [fault(chance.uniform(0.5, 1), "garbage in every queue", fill_queues_with_garbage)],
)  # fmt: skip
