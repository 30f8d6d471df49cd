"""The entry rules of the interface, from the call to the worker's result."""

from typing import Any

import pytest
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.entering.lanes import serve_lane
from journeys.journey.authoring import save_journey
from journeys.models import Chunk, Enrollment, Journey
from tests.journeys.walking.stories import enter, history
from tests.support.calls import data, job_of, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory

pytestmark = pytest.mark.usefixtures("ada")

WAITING = [{"id": "wait", "type": "delay", "for": "P1D"}]


def entered(server: ServerClient, journey: Journey) -> dict[str, Any]:
    """Triggers the journey for Ada and lets the workers decide; the job's look-up."""
    answered = data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    return job_of(server, journey.workspace_id, answered["jobId"])


def states(journey: Journey) -> list[str]:
    return list(Enrollment.objects.filter(journey=journey).order_by("job_id").values_list("state", flat=True))


def test_the_worker_creates_the_enrollment(server: ServerClient, acme: Workspace, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=WAITING)
    assert entered(server, journey)["result"] == "enrolled"
    enrollment = Enrollment.objects.get()
    assert (enrollment.customer_id, enrollment.journey_id, enrollment.state) == (ada.id, journey.id, "active")


def test_nothing_is_enrolled_before_a_worker_decides(server: ServerClient, acme: Workspace) -> None:
    data(trigger(server, JourneyFactory.create(workspace=acme), {"external_id": "ada"}))
    assert not Enrollment.objects.exists()


def test_a_journey_without_steps_completes_at_once(server: ServerClient, journey: Journey) -> None:
    entered(server, journey)
    enrollment = Enrollment.objects.get()
    assert (enrollment.state, enrollment.ended_at, enrollment.due_at) == ("completed", enrollment.entered_at, None)


@each("maximum", [None, 1])
@each("reenroll", [False, True])
def test_rule_2_an_active_enrollment_is_already_enrolled(
    server: ServerClient, acme: Workspace, maximum: int | None, reenroll: bool
) -> None:
    journey = JourneyFactory.create(
        workspace=acme, steps=WAITING, max_entries_per_customer=maximum, allow_reenrollment=reenroll
    )
    assert [entered(server, journey)["result"] for _ in range(2)] == ["enrolled", "already_enrolled"]
    assert states(journey) == ["active"]


@each("maximum", [None, 1])
def test_rule_3_a_completed_enrollment_is_already_enrolled(
    server: ServerClient, acme: Workspace, maximum: int | None
) -> None:
    journey = JourneyFactory.create(workspace=acme, max_entries_per_customer=maximum)
    assert [entered(server, journey)["result"] for _ in range(2)] == ["enrolled", "already_enrolled"]
    assert states(journey) == ["completed"]


@each("maximum", [None, 1])
def test_rule_3_unless_reenrollment_is_enabled(server: ServerClient, acme: Workspace, maximum: int | None) -> None:
    journey = JourneyFactory.create(workspace=acme, max_entries_per_customer=maximum, allow_reenrollment=True)
    assert [entered(server, journey)["result"] for _ in range(4)] == ["enrolled"] * 4


def test_rule_1_exits_the_active_enrollment_and_makes_a_new_one(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=WAITING, max_entries_per_customer=3)
    jobs = [entered(server, journey) for _ in range(5)]
    assert [job["result"] for job in jobs] == ["enrolled"] * 5  # exited entries do not count
    assert {job["reason"] for job in jobs[1:]} == {"Entry 1 of 3; the active enrollment was exited for it."}
    assert states(journey) == ["exited"] * 4 + ["active"]
    replaced = Enrollment.objects.filter(state="exited").first()
    assert replaced is not None
    assert (replaced.exit_reason, replaced.due_at) == ("Replaced by a new entry.", None)


def test_rule_1_ends_the_one_before_the_other_begins(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, max_entries_per_customer=3, steps=WAITING)
    for _ in range(2):
        entered(server, journey)
    replaced, current = Enrollment.objects.order_by("job_id")
    assert replaced.ended_at is not None
    assert replaced.ended_at <= current.entered_at


def test_rule_1_walks_the_new_enrollment_and_not_the_exited(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    note = {"id": "note", "type": "update_profile", "attributes": {"noted": True}}
    journey = JourneyFactory.create(workspace=acme, steps=[*WAITING, note], max_entries_per_customer=3)
    replaced = enter(server, journey, ada)
    let_workers_walk()
    data(trigger(server, journey, {"external_id": "ada"}))
    assert serve_lane(lane=Chunk.Lane.SINGLE, named=None, seconds=60).due.walk
    let_workers_walk()
    current = Enrollment.objects.get(state="active")
    assert (history(replaced), history(current)) == ([("wait", "interrupted")], [("wait", "waiting")])
    time_passes(days=1)
    let_workers_walk()
    assert (history(replaced), history(current)) == ([("wait", "interrupted")], [("wait", "done"), ("note", "done")])


def test_rule_1_ends_once_the_completed_entries_reach_the_number(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, max_entries_per_customer=3)
    jobs = [entered(server, journey) for _ in range(4)]
    assert [job["result"] for job in jobs] == ["enrolled"] * 3 + ["max_entries_reached"]
    assert jobs[-1]["reason"] == "The customer had completed the journey as often as was allowed: 3 times."


def test_rule_1_tells_the_number_that_is_allowed_now(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, max_entries_per_customer=4)
    for _ in range(3):
        entered(server, journey)
    Journey.objects.update(max_entries_per_customer=2)
    reason = entered(server, journey)["reason"]
    assert reason == "The customer had completed the journey as often as was allowed: 2 times."


def test_a_journey_switched_off_in_between_enrolls_nobody(
    server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    answered = data(trigger(server, journey, {"external_id": "ada"}))
    Journey.objects.update(active=False)
    let_workers_decide()
    assert job_of(server, acme.id, answered["jobId"])["result"] == "journey_inactive"
    assert not Enrollment.objects.exists()


def test_each_customer_has_a_history_of_their_own(
    server: ServerClient, acme: Workspace, journey: Journey, ada: Customer
) -> None:
    entered(server, journey)
    CustomerFactory.create(workspace=acme, external_id="grace")
    answered = data(trigger(server, journey, {"external_ids": ["ada", "grace"]}))
    let_workers_decide()
    results = {job_id: job_of(server, acme.id, job_id)["result"] for job_id in answered["jobIds"]}
    assert sorted(results.values()) == ["already_enrolled", "enrolled"]
    assert results[next(j for j in answered["jobIds"] if ada.id in j)] == "already_enrolled"


@each("steps", [[], WAITING])
def test_each_journey_has_a_history_of_its_own(
    server: ServerClient, acme: Workspace, steps: list[dict[str, str]]
) -> None:
    one, other = (JourneyFactory.create(workspace=acme, steps=steps) for _ in range(2))
    assert [entered(server, journey)["result"] for journey in (one, other)] == ["enrolled", "enrolled"]


def test_two_jobs_of_one_customer_in_one_piece_of_work_see_each_other(server: ServerClient, acme: Workspace) -> None:
    once = JourneyFactory.create(workspace=acme)
    thrice = JourneyFactory.create(workspace=acme, steps=WAITING, max_entries_per_customer=3)
    jobs = [data(trigger(server, journey, {"external_id": "ada"}))["jobId"] for journey in (once, thrice, once, thrice)]
    let_workers_decide()
    results = [job_of(server, acme.id, job_id)["result"] for job_id in jobs]
    assert results == ["enrolled", "enrolled", "already_enrolled", "enrolled"]
    assert (states(once), states(thrice)) == (["completed"], ["exited", "active"])
    replaced = Enrollment.objects.get(state="exited")
    assert (replaced.exit_reason, replaced.due_at) == ("Replaced by a new entry.", None)
    assert replaced.ended_at is not None


def test_an_enrollment_is_replaced_once_where_steps_are_gone(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=WAITING, max_entries_per_customer=3)
    entered(server, journey)
    save_journey(workspace=acme, key=journey.key, now=timezone.now(), steps=[])
    jobs = [data(trigger(server, journey, {"external_id": "ada"}))["jobId"] for _ in range(2)]
    let_workers_decide()
    assert [job_of(server, acme.id, job_id)["reason"] for job_id in jobs] == [
        "Entry 1 of 3; the active enrollment was exited for it.",
        "The customer met the entry rules.",
    ]
    assert states(journey) == ["exited", "completed", "completed"]


def test_each_completed_entry_counts_once_in_a_piece_of_work(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, max_entries_per_customer=3)
    jobs = [data(trigger(server, journey, {"external_id": "ada"}))["jobId"] for _ in range(4)]
    let_workers_decide()
    results = [job_of(server, acme.id, job_id)["result"] for job_id in jobs]
    assert results == ["enrolled"] * 3 + ["max_entries_reached"]
