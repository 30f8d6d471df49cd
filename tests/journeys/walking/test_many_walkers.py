"""Any number of walkers, one of which may die at any moment: every step is taken once."""

from datetime import timedelta
from pathlib import Path

import pytest
from django.db import connection
from django.db.models import Count
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.walking import walk_due
from journeys.engine.walking.claims import claim_longest_due
from journeys.models import Enrollment, Journey, StepRun
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory, crowd
from tests.support.processes import WORKER, celery, kill_group
from tests.support.simultaneous import all_at_once
from tests.support.waiting import wait_until

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.mostly_waits]

CASES = [{"if": {"field": "customer.plan", "op": "eq", "value": "pro"}, "next": "day"}]
STEPS = [
    {"id": "which", "type": "branch", "cases": CASES, "else": "day"},
    {"id": "day", "type": "delay", "for": "P1D"},
    {"id": "again", "type": "branch", "cases": [{**CASES[0], "next": "blink"}]},
    {"id": "blink", "type": "delay", "for": "PT0S"},
]
NUMBER = 1000


@pytest.fixture
def journey(server: ServerClient, acme: Workspace) -> Journey:
    """A thousand customers have entered it, and walk on as soon as somebody walks."""
    return entered_by(crowd(acme, NUMBER), server, acme)


def entered_by(names: list[str], server: ServerClient, acme: Workspace) -> Journey:
    journey = JourneyFactory.create(workspace=acme, steps=STEPS)
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_decide()
    return journey


def wake_all() -> None:
    """The day is over for everybody at the same moment."""
    Enrollment.objects.filter(state="active").update(due_at=timezone.now() - timedelta(seconds=1))


def assert_everybody_took_every_step_once() -> None:
    assert set(Enrollment.objects.values_list("state", flat=True)) == {"completed"}
    runs = StepRun.objects.values("enrollment").annotate(number=Count("id"))
    assert set(runs.values_list("number", flat=True)) == {len(STEPS)}
    assert set(StepRun.objects.values_list("state", flat=True)) == {"done"}


@pytest.mark.slow
@pytest.mark.usefixtures("journey")
def test_walkers_at_the_same_time_share_the_work() -> None:
    walked()
    wake_all()
    while Enrollment.objects.filter(state="active").exists():
        walked()
    assert_everybody_took_every_step_once()


def walked() -> list[int]:
    return all_at_once([lambda: walk_due(seconds=20).moved] * 4)


def test_the_longest_due_come_first(server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("journeys.engine.walking.claims.BATCH", 2)
    entered_by(crowd(acme, 6), server, acme)
    order = list(Enrollment.objects.order_by("-id").values_list("id", flat=True))
    for seconds, enrollment_id in enumerate(reversed(order), start=100):
        Enrollment.objects.filter(id=enrollment_id).update(due_at=timezone.now() - timedelta(seconds=seconds))
    claimed = [{one.id for one in claim_longest_due().enrollments} for _ in range(3)]
    assert claimed == [set(order[:2]), set(order[2:4]), set(order[4:])]


def test_whom_a_batch_had_no_time_for_are_claimed_together_as_if_they_were_never_tried(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.engine.walking.loop._BATCH_SECONDS", 0.0)
    entered_by(crowd(acme, 5), server, acme)
    assert walk_due(seconds=0).moved == 1
    assert [one.attempts for one in claim_longest_due().enrollments] == [1] * 4


@pytest.mark.slow
@pytest.mark.usefixtures("journey")
def test_a_customer_who_is_busy_is_passed_over_and_walked_later() -> None:
    walk_due(seconds=20)
    wake_all()
    busy = Customer.objects.order_by("id").first()
    assert busy is not None

    with connection.cursor() as cursor:
        cursor.execute("BEGIN")
        cursor.execute("SELECT 1 FROM customers_customer WHERE id = %s FOR NO KEY UPDATE", [busy.id])
        all_at_once([lambda: walk_due(seconds=20).moved])
        cursor.execute("COMMIT")
    assert list(Enrollment.objects.filter(state="active").values_list("customer_id", flat=True)) == [busy.id]
    while walk_due(seconds=20).moved:
        pass
    assert_everybody_took_every_step_once()


@pytest.mark.slow
@pytest.mark.usefixtures("journey", "ticks")
@pytest.mark.mostly_waits(long=True)
def test_a_worker_that_is_killed_in_the_middle_repeats_and_loses_no_step(tmp_path: Path) -> None:
    walk_due(seconds=20)
    wake_all()
    with celery(*WORKER, log=tmp_path / "first.log") as first:
        wait_until(lambda: StepRun.objects.filter(step_id="again").exists())
        kill_group(first)
        with celery(*WORKER, log=tmp_path / "second.log"):
            wait_until(lambda: not Enrollment.objects.filter(state="active").exists())
    assert_everybody_took_every_step_once()
