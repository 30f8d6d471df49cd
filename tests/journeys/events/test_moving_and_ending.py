"""A recorded event moves those who wait for it, and ends the enrollments that it is to end."""

from typing import Any

import pytest
from django.db import transaction
from structlog.testing import capture_logs

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.walking import walk_due
from journeys.models import Enrollment
from tests.journeys.events.reporting import BIG, THANK, WAIT, YEAR, event_journey, inside, report, report_many
from tests.journeys.walking.stories import enter, history
from tests.support.calls import data, let_workers_walk
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait


def test_who_waits_for_the_event_goes_on_at_once(server: ServerClient, ada: Customer, waiting: Enrollment) -> None:
    event_id = report(server, ada, total=7)
    let_workers_walk()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.event_id) == ("completed", event_id)
    assert history(waiting) == [("wait", "done"), ("thank", "done")]
    ada.refresh_from_db()
    assert ada.attributes == {"thanked": "7"}


def events_of_steps(server: ServerClient, enrollment: Enrollment) -> list[tuple[str, str | None]]:
    """The step ids of the history with the event that each recorded, or that ended its wait."""
    path = f"/api/v1/journeys/{enrollment.workspace_id}/enrollments/{enrollment.id}"
    return [(step["stepId"], step["eventId"]) for step in data(server.get(path), status=200)["steps"]]


def test_the_history_names_the_event_that_ended_each_wait(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    steps = [
        WAIT | {"onEvent": "pause"},
        {"id": "pause", "type": "delay", "for": "PT1H"},
        WAIT | {"id": "again"},
        THANK,
    ]
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=steps), ada)
    let_workers_walk()
    assert events_of_steps(server, enrollment) == [("wait", None)]
    first = report(server, ada, total=7)
    report(server, ada, total=8)
    let_workers_walk()
    assert events_of_steps(server, enrollment) == [("wait", first), ("pause", None)]
    time_passes(hours=1)
    let_workers_walk()
    second = report(server, ada, total=9)
    let_workers_walk()
    named = [("wait", first), ("pause", None), ("again", second), ("thank", None)]
    assert events_of_steps(server, enrollment) == named


def test_a_wait_whose_time_was_up_names_no_event(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    """Nor that which started the journey."""
    event_journey(acme, steps=[WAIT, THANK])
    report(server, ada, total=7)
    let_workers_walk()
    enrollment = Enrollment.objects.get()
    time_passes(days=3)
    let_workers_walk()
    assert history(enrollment) == [("wait", "done")]
    assert events_of_steps(server, enrollment) == [("wait", None)]


def test_who_goes_on_has_not_failed(server: ServerClient, ada: Customer, waiting: Enrollment) -> None:
    Enrollment.objects.update(error="Boom", attempts=2)
    report(server, ada, total=7)
    waiting.refresh_from_db()
    assert (waiting.attempts, waiting.error) == (0, "")


def test_another_event_and_another_customer_s_event_move_nobody(
    acme: Workspace, server: ServerClient, ada: Customer, waiting: Enrollment
) -> None:
    report(server, ada, "looked")
    report(server, CustomerFactory.create(workspace=acme))
    let_workers_walk()
    waiting.refresh_from_db()
    assert (waiting.step_id, waiting.awaits_event) == ("wait", "ordered")


def test_of_many_events_the_first_that_matches_is_the_one(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{**WAIT, "where": BIG}, THANK])
    enrollment = enter(server, journey, ada)
    let_workers_walk()
    totals: list[Any] = [99, None, 150, 200]
    event_ids = report_many(
        server,
        acme,
        [{"external_id": "ada", "eventName": "ordered", "eventProperties": {"total": total}} for total in totals],
    )
    report(server, ada, total=300)
    let_workers_walk()
    enrollment.refresh_from_db()
    assert enrollment.event_id == event_ids[2]
    ada.refresh_from_db()
    assert ada.attributes == {"thanked": "150"}


def test_who_has_heard_the_event_hears_no_later_exit_rule(server: ServerClient, ada: Customer) -> None:
    enrollment = inside(server, ada, [{"event": "ordered", "where": BIG}], [WAIT, THANK])
    event_id = report(server, ada, total=7)
    report(server, ada, total=8)  # before anybody walks
    let_workers_walk()
    enrollment.refresh_from_db()
    assert enrollment.event_id == event_id
    ada.refresh_from_db()
    assert ada.attributes == {"thanked": "7"}


def test_an_event_that_does_not_meet_where_leaves_the_wait_as_it_is(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[{**WAIT, "where": BIG}, THANK]), ada)
    let_workers_walk()
    before = Enrollment.objects.filter(id=enrollment.id).values().get()
    report(server, ada, total=99)
    let_workers_walk()
    assert Enrollment.objects.filter(id=enrollment.id).values().get() == before


def test_two_enrollments_of_one_customer_are_both_moved(
    acme: Workspace, server: ServerClient, ada: Customer, waiting: Enrollment
) -> None:
    other = enter(server, JourneyFactory.create(workspace=acme, steps=[WAIT, THANK]), ada)
    let_workers_walk()
    report(server, ada, total=7)
    let_workers_walk()
    assert [history(one) for one in (waiting, other)] == [[("wait", "done"), ("thank", "done")]] * 2


def test_two_enrollments_due_at_once_hear_each_other(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    """The wait and the delay are over at the same moment; the delay began first."""
    delay = {"id": "delay", "type": "delay", "for": WAIT["timeout"]}
    tell = {"id": "tell", "type": "track_event", "eventName": "ordered", "eventProperties": {"total": 7}}
    steps: list[list[dict[str, Any]]] = [[delay, tell], [WAIT, THANK]]
    telling, hearing = [enter(server, JourneyFactory.create(workspace=acme, steps=each), ada) for each in steps]
    let_workers_walk()
    time_passes(days=3)
    let_workers_walk()
    assert history(telling) == [("delay", "done"), ("tell", "done")]
    assert history(hearing) == [("wait", "done"), ("thank", "done")]
    ada.refresh_from_db()
    assert ada.attributes == {"thanked": "7"}


@pytest.mark.django_db(transaction=True)
def test_an_event_amid_the_begin_of_its_wait_is_heard(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[WAIT, THANK]), ada)
    with transaction.atomic():
        assert walk_due(seconds=0).moved == 1  # it waits, and that is not committed yet
        reporting = made_to_wait(lambda: report(server, ada, total=7))
    reporting.result(PATIENCE_SECONDS)
    let_workers_walk()
    assert history(enrollment) == [("wait", "done"), ("thank", "done")]


def test_an_event_before_the_wait_is_not_the_one_that_is_awaited(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[{**YEAR, "for": "P1D"}, WAIT, THANK])
    enrollment = enter(server, journey, ada)
    let_workers_walk()
    report(server, ada, total=7)
    time_passes(days=1)
    let_workers_walk()
    assert history(enrollment) == [("year", "done"), ("wait", "waiting")]


def test_an_exit_event_ends_the_enrollment_in_the_middle_of_a_year_s_delay(server: ServerClient, ada: Customer) -> None:
    enrollment = inside(server, ada, [{"event": "ordered"}])
    report(server, ada)
    enrollment.refresh_from_db()  # no worker has done anything
    assert (enrollment.state, enrollment.exit_reason) == ("exited", "The event 'ordered' ends the journey.")
    assert (enrollment.due_at, enrollment.step_id) == (None, "year")
    assert history(enrollment) == [("year", "interrupted")]


def test_an_exit_event_must_meet_where(server: ServerClient, ada: Customer) -> None:
    enrollment = inside(server, ada, [{"event": "ordered", "where": BIG}, {"event": "cancelled"}])
    report(server, ada, total=99)
    enrollment.refresh_from_db()
    assert enrollment.state == "active"
    report(server, ada, total=100)
    enrollment.refresh_from_db()
    assert enrollment.state == "exited"


def test_of_many_events_the_first_that_ends_the_journey_is_the_reason(server: ServerClient, ada: Customer) -> None:
    enrollment = inside(server, ada, [{"event": "ordered", "where": BIG}, {"event": "cancelled"}, {"event": "left"}])
    names = ("ordered", "left", "cancelled")
    report_many(server, ada.workspace, [{"external_id": "ada", "eventName": name} for name in names])
    enrollment.refresh_from_db()
    assert enrollment.exit_reason == "The event 'left' ends the journey."


def test_an_event_that_is_awaited_and_ends_the_journey_ends_it(server: ServerClient, ada: Customer) -> None:
    enrollment = inside(server, ada, [{"event": "ordered", "where": BIG}], [WAIT, THANK])
    report_many(
        server,
        ada.workspace,
        [{"external_id": "ada", "eventName": "ordered", "eventProperties": {"total": n}} for n in (7, 100)],
    )
    let_workers_walk()
    enrollment.refresh_from_db()
    assert (enrollment.state, history(enrollment)) == ("exited", [("wait", "interrupted")])


def test_an_event_is_recorded_and_heard_though_its_customer_is_also_at_steps_of_the_next_version(
    acme: Workspace, server: ServerClient, ada: Customer, waiting: Enrollment
) -> None:
    """While an upgrade replaces one process after the other."""
    of_the_next = [{"id": "fly", "type": "fly"}]
    journey = JourneyFactory.create(workspace=acme, steps=of_the_next, steps__exit_on=[{"event": "ordered"}])
    unread = enter(server, journey, ada)
    with capture_logs() as lines:
        report(server, ada, total=7)
    assert [line["event"] for line in lines if line["log_level"] == "error"] == ["revision_unreadable"]
    let_workers_walk()
    assert history(waiting) == [("wait", "done"), ("thank", "done")]
    unread.refresh_from_db()
    assert unread.state == "active"


def test_who_was_ended_by_an_event_may_be_entered_by_the_same_one(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    journey = event_journey(acme, steps=[YEAR], steps__exit_on=[{"event": "ordered"}])
    report(server, ada)
    let_workers_walk()
    report(server, ada)
    let_workers_walk()
    states = Enrollment.objects.filter(journey=journey).values_list("state", flat=True)
    assert sorted(states) == ["active", "exited"]
