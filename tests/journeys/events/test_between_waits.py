"""An event counts for a wait that directly follows another from the event that ended the other; for the first step,
from the moment the job was queued. So nothing is missed before a worker has come.
"""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from structlog.testing import capture_logs

from customers.models import Customer, Event
from engage.json.instants import iso_utc
from engage.models import Workspace
from journeys.engine.walking import walk_due
from journeys.models import Enrollment, StepRun
from tests.journeys.events.reporting import BIG, YEAR, event_journey, report, report_many
from tests.journeys.walking.stories import enter, history
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory, crowd
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

THANK = {"id": "thank", "type": "update_profile", "attributes": {"thanked": "{{ event.name }} {{ event.properties }}"}}
BOTH = [("a", "done"), ("b", "done"), ("thank", "done")]
ONE = [("a", "done"), ("b", "waiting")]


def wait(step_id: str, event: str, **fields: Any) -> dict[str, Any]:
    return {"id": step_id, "type": "wait_for_event", "event": event, "timeout": "P3D", "onTimeout": None, **fields}


A, B = wait("a", "opened"), wait("b", "clicked")


def waiting(server: ServerClient, customer: Customer, *steps: dict[str, Any], **fields: Any) -> Enrollment:
    """The customer at the first wait of a new journey."""
    journey = JourneyFactory.create(workspace=customer.workspace, steps=list(steps), **fields)
    enrollment = enter(server, journey, customer)
    let_workers_walk()
    assert history(enrollment) == [(steps[0]["id"], "waiting")]
    return enrollment


def report_all(server: ServerClient, workspace: Workspace, *names: str, **fields: Any) -> list[str]:
    """Events of these names, of ada, in one call; their ids."""
    return report_many(server, workspace, [{"external_id": "ada", "eventName": name, **fields} for name in names])


def test_of_many_who_do_both_at_once_nobody_is_left_waiting(acme: Workspace, server: ServerClient) -> None:
    customers = [CustomerFactory.create(workspace=acme) for _ in range(10)]
    enrollments = [waiting(server, customer, A, B, THANK) for customer in customers]
    for customer in customers:
        report(server, customer, "opened")
        report(server, customer, "clicked")  # before a worker has come
    let_workers_walk()
    assert [history(enrollment) for enrollment in enrollments] == [BOTH] * 10


@each(
    "reported, comes_to",
    [
        (["opened", "clicked"], BOTH),
        (["clicked", "opened", "clicked"], BOTH),
        (["opened", "looked", "opened", "clicked", "clicked"], BOTH),
        (["clicked", "opened"], ONE),
        (["clicked", "opened", "opened"], ONE),
    ],
)
def test_events_of_one_call_count_in_their_order(
    acme: Workspace, server: ServerClient, ada: Customer, reported: list[str], comes_to: list[tuple[str, str]]
) -> None:
    enrollment = waiting(server, ada, A, B, THANK)
    report_all(server, acme, *reported)
    let_workers_walk()
    assert history(enrollment) == comes_to


def test_they_count_in_the_order_of_recording_whatever_their_times(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    enrollment = waiting(server, ada, A, B, THANK)
    report_all(server, acme, "opened", occurredAt=iso_utc(timezone.now() + timedelta(minutes=4)))
    report_all(server, acme, "clicked", occurredAt="2020-01-01T00:00:00Z")
    let_workers_walk()
    assert history(enrollment) == BOTH


def test_the_history_names_the_event_of_each_wait(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    enrollment = waiting(server, ada, A, B, THANK)
    first = report(server, ada, "opened")
    report(server, ada, "clicked", total=1)
    report(server, ada, "clicked", total=2)
    let_workers_walk()
    path = f"/api/v1/journeys/{acme.id}/enrollments/{enrollment.id}"
    steps = data(server.get(path), status=200)["steps"]
    second = Event.objects.get(properties={"total": 1})
    assert [(step["stepId"], step["eventId"]) for step in steps] == [("a", first), ("b", second.id), ("thank", None)]
    assert [step["detail"] for step in steps[:2]] == [
        "The event came: goes on to 'b'.",
        "The event had come already: goes on to 'thank'.",
    ]
    enrollment.refresh_from_db()
    assert (enrollment.state, enrollment.event_id) == ("completed", second.id)
    ada.refresh_from_db()
    assert ada.attributes == {"thanked": 'clicked {"total":1}'}


def test_one_event_ends_one_wait(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    enrollment = waiting(server, ada, wait("a", "clicked"), B, THANK)
    report(server, ada, "clicked")
    let_workers_walk()
    assert history(enrollment) == ONE
    report(server, ada, "clicked")
    let_workers_walk()
    assert history(enrollment) == BOTH


def test_any_number_of_waits_are_over_by_as_many_events(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    steps = [wait(f"w{n}", "clicked" if n % 2 else "opened") for n in range(7)]
    enrollment = waiting(server, ada, *steps)
    ids = report_all(server, acme, *["opened", "clicked"] * 3)
    let_workers_walk()
    assert history(enrollment) == [(f"w{n}", "done") for n in range(6)] + [("w6", "waiting")]
    runs = StepRun.objects.filter(enrollment=enrollment).order_by("ordinal")
    assert list(runs.values_list("event_id", flat=True)) == [*ids, None]
    enrollment.refresh_from_db()
    assert enrollment.event_id == ids[-1]


def test_a_wait_that_leads_to_itself_hears_each_event_once(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    enrollment = waiting(server, ada, wait("a", "clicked", onEvent="a"))
    report_all(server, acme, *["clicked"] * 5)
    let_workers_walk()
    assert history(enrollment) == [("a", "done")] * 5 + [("a", "waiting")]


def test_the_condition_of_the_second_wait_must_hold(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    enrollment = waiting(server, ada, A, {**B, "where": BIG}, THANK)
    report(server, ada, "opened")
    report_all(server, acme, *["clicked"] * 60, eventProperties={"total": 99})
    report(server, ada, "clicked", total=100)
    report(server, ada, "clicked", total=101)
    let_workers_walk()
    assert history(enrollment) == BOTH
    ada.refresh_from_db()
    assert ada.attributes == {"thanked": 'clicked {"total":100}'}


def test_the_way_to_the_second_wait_may_be_any_that_an_event_opens(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    elsewhere = {"id": "else", "type": "exit", "reason": "No way."}
    enrollment = waiting(server, ada, {**A, "onEvent": "b", "next": "else"}, elsewhere, B, THANK)
    report_all(server, acme, "opened", "clicked")
    let_workers_walk()
    assert history(enrollment) == BOTH


def test_after_a_timeout_events_count_from_the_next_wait(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    enrollment = waiting(server, ada, {**A, "onTimeout": "b"}, B, THANK)
    time_passes(days=3)
    report(server, ada, "clicked")
    let_workers_walk()
    assert history(enrollment) == ONE
    report(server, ada, "clicked")
    let_workers_walk()
    assert history(enrollment) == BOTH


@each(
    "between",
    [
        {"type": "delay", "for": "PT0S"},
        {"type": "branch", "cases": [{"if": BIG, "next": None}]},
        {"type": "track_event", "eventName": "clicked"},
    ],
)
def test_where_another_step_is_between_an_event_counts_from_the_beginning_of_the_wait(
    acme: Workspace, server: ServerClient, ada: Customer, between: dict[str, Any]
) -> None:
    enrollment = waiting(server, ada, A, {"id": "between", **between}, B)
    report_all(server, acme, "opened", "clicked")
    let_workers_walk()
    assert history(enrollment) == [("a", "done"), ("between", "done"), ("b", "waiting")]


def test_a_pause_makes_no_wait_hear_what_came_before(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    steps = [{"id": f"s{n}", "type": "branch", "cases": [{"if": BIG, "next": None}]} for n in range(99)]
    enrollment = waiting(server, ada, A, *steps, B)
    report_all(server, acme, "opened", "clicked")
    let_workers_walk()
    assert history(enrollment)[-2:] == [("s98", "done"), ("b", "waiting")]


def test_a_step_s_event_counts_the_events_that_led_to_the_wait_s(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    tell = {"id": "tell", "type": "track_event", "eventName": "told"}
    enrollment = waiting(server, ada, A, B, tell)
    report(server, ada, "opened")
    Event.objects.filter(id=report(server, ada, "clicked")).update(chain=7)
    let_workers_walk()
    assert Event.objects.get(name="told").chain == 8
    enrollment.refresh_from_db()
    assert enrollment.chain == 7


def test_an_event_at_the_end_of_a_chain_is_not_heard(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    enrollment = waiting(server, ada, A, B, THANK)
    report(server, ada, "opened")
    Event.objects.filter(id=report(server, ada, "clicked")).update(chain=21)
    let_workers_walk()
    assert history(enrollment) == ONE


def test_an_exit_event_between_two_waits_ends_the_enrollment(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    enrollment = waiting(server, ada, A, B, THANK, steps__exit_on=[{"event": "left"}])
    report_all(server, acme, "opened", "clicked", "left")
    let_workers_walk()
    enrollment.refresh_from_db()
    assert (enrollment.state, history(enrollment)) == ("exited", [("a", "interrupted")])


def test_an_exit_condition_is_asked_before_each_wait(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    rules = [{"if": {"field": "event.name", "op": "eq", "value": "clicked"}}]
    enrollment = waiting(server, ada, A, B, wait("c", "bought"), steps__exit_on=rules)
    report_all(server, acme, "opened", "clicked", "bought")
    let_workers_walk()
    enrollment.refresh_from_db()
    assert enrollment.exit_reason == "Exit condition 1 of 1 holds."
    assert history(enrollment) == [("a", "done"), ("b", "done")]


def test_a_first_step_hears_events_since_the_queueing(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[A, B, THANK])
    report_all(server, acme, "opened", "clicked")
    data(trigger(server, journey, {"external_id": "ada"}))
    report(server, ada, "clicked")
    let_workers_walk()
    enrollment = Enrollment.objects.get()
    assert history(enrollment) == [("a", "waiting")]
    again = JourneyFactory.create(workspace=acme, steps=[A, B, THANK])
    data(trigger(server, again, {"external_id": "ada"}))
    report(server, ada, "opened")
    let_workers_decide()
    report(server, ada, "clicked")  # decided, and not yet walked
    let_workers_walk()
    assert history(Enrollment.objects.get(journey=again)) == BOTH
    assert history(enrollment) == BOTH


def test_a_first_step_does_not_hear_the_starting_event(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, event_name="opened", steps=[A, B, THANK], max_entries_per_customer=5)
    report_all(server, acme, "opened", "clicked")
    let_workers_walk()
    enrollment = Enrollment.objects.get()
    assert history(enrollment) == [("a", "waiting")]
    Enrollment.objects.all().delete()
    report_all(server, acme, "clicked", "opened", "looked", "opened", "clicked")
    let_workers_walk()
    first, second = Enrollment.objects.order_by("job_id")
    assert (first.state, second.state) == ("exited", "active")  # each `opened` starts it, and the second replaces
    assert history(second) == [("a", "waiting")]


def test_a_first_step_hears_what_came_with_the_start(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, event_name="added", steps=[A, B, THANK])
    report_all(server, acme, "opened", "added", "opened", "clicked")
    let_workers_walk()
    assert history(Enrollment.objects.get()) == BOTH


def test_after_another_step_the_first_one_is_a_wait_like_any_other(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    """It begins again after a delay: what came meanwhile does not count."""
    hour = {"id": "hour", "type": "delay", "for": "PT1H", "next": "a"}
    enrollment = waiting(server, ada, A, hour)
    report(server, ada, "opened")
    let_workers_walk()
    report(server, ada, "opened")
    time_passes(hours=1)
    let_workers_walk()
    assert history(enrollment) == [("a", "done"), ("hour", "done"), ("a", "waiting")]


def test_one_whose_steps_cannot_be_read_keeps_nobody_from_hearing(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    enrollment = waiting(server, ada, A, B, THANK)
    of_the_next = JourneyFactory.create(workspace=acme, steps=[{"id": "fly", "type": "fly"}])
    unread = enter(server, of_the_next, CustomerFactory.create(workspace=acme))
    report_all(server, acme, "opened", "clicked")
    with capture_logs() as lines:
        let_workers_walk()
    assert [line["event"] for line in lines if line["log_level"] == "warning"] == ["steps_unknown"]
    assert history(enrollment) == BOTH
    unread.refresh_from_db()
    assert (unread.state, unread.attempts) == ("active", 0)


@pytest.mark.django_db(transaction=True)
def test_an_event_amid_the_begin_of_a_second_wait_is_heard(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    enrollment = waiting(server, ada, A, B, THANK)
    report(server, ada, "opened")
    with transaction.atomic():
        assert walk_due(seconds=0).moved == 1  # it has begun, and that is not committed yet
        reporting = made_to_wait(lambda: report(server, ada, "clicked"))
    reporting.result(PATIENCE_SECONDS)
    let_workers_walk()
    assert history(enrollment) == BOTH


def lookups(queries: CaptureQueriesContext) -> int:
    return sum("FROM customers_event recorded" in query["sql"] for query in queries)


@pytest.mark.slow
def test_a_batch_asks_once_for_what_came_meanwhile(acme: Workspace, server: ServerClient) -> None:
    counts = []
    names = crowd(acme, 200)
    for chosen in (names[:1], names[1:]):
        journeys = [JourneyFactory.create(workspace=acme, steps=[A, B, THANK]) for _ in chosen[:20]]
        for number, journey in enumerate(journeys):
            data(trigger(server, journey, {"external_ids": chosen[number :: len(journeys)]}))
        let_workers_walk()
        for event in ("opened", "clicked"):
            report_many(server, acme, [{"external_id": name, "eventName": event} for name in chosen])
        with CaptureQueriesContext(connection) as queries:
            assert walk_due(seconds=0).moved == len(chosen)
        counts.append((len(queries), lookups(queries)))
        assert not Enrollment.objects.filter(state="active").exists()
    assert counts[0] == counts[1]
    assert counts[0][1] == 1


def test_walks_that_begin_no_such_wait_ask_for_nothing(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    steps = [{**YEAR, "for": "P1D"}, {**A, "onTimeout": "b"}, B, {**YEAR, "id": "rest"}, wait("c", "bought")]
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=steps), ada)
    with CaptureQueriesContext(connection) as queries:
        for days in (0, 1, 3):
            time_passes(days=days)
            let_workers_walk()
        assert history(enrollment)[-1] == ("b", "waiting")
        report(server, ada, "clicked")
        let_workers_walk()
        time_passes(days=365)
        let_workers_walk()
    assert history(enrollment)[-1] == ("c", "waiting")
    assert lookups(queries) == 0
