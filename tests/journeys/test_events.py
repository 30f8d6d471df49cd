"""What recorded events lead to: they start journeys, move those who wait for them, and end enrollments."""

from collections.abc import Callable
from typing import Any

import pytest
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer, Event
from engage.models import Workspace
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, StepRun, Trigger
from tests.bridge_calls import click, submit
from tests.calls import customers_path, data, job_of, let_workers_decide, let_workers_walk, refused, trigger
from tests.clients import SdkClient, ServerClient
from tests.factories import CustomerFactory, JourneyFactory, crowd
from tests.journeys.walking.stories import enter, history

BIG = {"field": "event.properties.total", "op": "gte", "value": 100}
WAIT = {
    "id": "wait",
    "type": "wait_for_event",
    "event": "ordered",
    "timeout": "P3D",
    "onEvent": "thank",
    "onTimeout": None,
}
THANK = {"id": "thank", "type": "update_profile", "attributes": {"thanked": "{{ event.properties.total }}"}}
YEAR = {"id": "year", "type": "delay", "for": "P365D"}


@pytest.fixture
def ada(acme: Workspace) -> Customer:
    return CustomerFactory.create(workspace=acme, external_id="ada", user_id="u-1")


def report(server: ServerClient, customer: Customer, name: str = "ordered", **properties: Any) -> str:
    """The server reports an event of the customer; the event's id."""
    body = {"customerId": customer.id, "eventName": name, "eventProperties": properties}
    return str(data(server.post(customers_path(customer.workspace, "events"), body))["eventId"])


def report_many(server: ServerClient, workspace: Workspace, events: list[dict[str, Any]]) -> list[str]:
    answered = data(server.post(customers_path(workspace, "events"), {"events": events}))
    return [result["eventId"] for result in answered["results"]]


def event_journey(workspace: Workspace, **fields: Any) -> Journey:
    return JourneyFactory.create(workspace=workspace, trigger_type="event", **{"event_name": "ordered", **fields})


def results() -> list[str]:
    return list(EnrollmentJob.objects.order_by("id").values_list("result", flat=True))


# Starting journeys ---------------------------------------------------------------------------------------------------


def test_an_event_enters_its_customer_through_a_job_under_the_entry_rules(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    journey = event_journey(acme, steps=[YEAR])
    event_id = report(server, ada, total=7)
    assert not Enrollment.objects.exists()
    report(server, ada)
    let_workers_decide()
    assert results() == ["enrolled", "already_enrolled"]
    enrollment = Enrollment.objects.get()
    assert (enrollment.journey, enrollment.customer, enrollment.event_id) == (journey, ada, event_id)
    queued = Trigger.objects.earliest("id")
    assert (queued.event_id, queued.form, queued.payload) == (event_id, "single", {"total": 7})
    job = job_of(server, acme.id, EnrollmentJob.objects.earliest("id").job_id)
    assert (job["triggerId"], job["enrollmentId"]) == (queued.id, enrollment.id)


def test_an_event_starts_every_active_journey_of_its_name_and_no_other(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    started = {event_journey(acme).id, event_journey(acme).id}
    event_journey(acme, active=False)
    event_journey(acme, event_name="Ordered")
    JourneyFactory.create(workspace=acme)
    report(server, ada)
    let_workers_decide()
    assert set(Enrollment.objects.values_list("journey_id", flat=True)) == started
    assert EnrollmentJob.objects.count() == 2


def test_an_event_that_does_not_meet_where_queues_nothing(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, event_where=BIG)
    report(server, ada, total=99)
    report(server, ada, total="100")
    assert not EnrollmentJob.objects.exists()
    report(server, ada, total=100)
    let_workers_decide()
    assert results() == ["enrolled"]


def test_entry_conditions_may_ask_for_the_event(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    conditions = {"all": [BIG, {"field": "event.name", "op": "eq", "value": "ordered"}]}
    event_journey(acme, entry_conditions=conditions)
    report(server, ada, total=99)
    report(server, ada, total=100)
    let_workers_decide()
    assert results() == ["conditions_not_met", "enrolled"]


def test_templates_read_the_event_and_find_its_properties_under_api_too(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    note = {
        "name": "{{ event.name }}",
        "event": "{{ event.properties.total }}",
        "properties": "{{ api.properties.total }}",
        "payload": "{{ api.payload.total }}",
    }
    event_journey(acme, steps=[{"id": "note", "type": "update_profile", "attributes": note}])
    report(server, ada, total=7)
    let_workers_walk()
    ada.refresh_from_db()
    assert ada.attributes == {"name": "ordered", "event": "7", "properties": "7", "payload": "7"}


def test_events_of_one_call_enter_in_their_order(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, max_entries_per_customer=2)
    report_many(
        server, acme, [{"external_id": "ada", "eventName": "ordered", "eventProperties": {"n": n}} for n in range(3)]
    )
    let_workers_decide()
    assert results() == ["enrolled", "enrolled", "max_entries_reached"]
    assert [one.payload["n"] for one in Trigger.objects.order_by("jobs__queued_ms")] == [0, 1, 2]


# Moving those who wait -----------------------------------------------------------------------------------------------


@pytest.fixture
def waiting(acme: Workspace, server: ServerClient, ada: Customer) -> Enrollment:
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[WAIT, THANK]), ada)
    let_workers_walk()
    enrollment.refresh_from_db()
    assert (enrollment.step_id, enrollment.awaits_event) == ("wait", "ordered")
    return enrollment


def test_who_waits_for_the_event_goes_on_at_once(server: ServerClient, ada: Customer, waiting: Enrollment) -> None:
    event_id = report(server, ada, total=7)
    let_workers_walk()
    waiting.refresh_from_db()
    assert (waiting.state, waiting.event_id) == ("completed", event_id)
    assert history(waiting) == [("wait", "done"), ("thank", "done")]
    ada.refresh_from_db()
    assert ada.attributes == {"thanked": "7"}


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


def test_an_event_before_the_wait_is_not_the_one_that_is_awaited(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[WAIT, THANK]), ada)
    report(server, ada, total=7)
    let_workers_walk()
    assert history(enrollment) == [("wait", "waiting")]


# Ending early --------------------------------------------------------------------------------------------------------


def inside(server: ServerClient, customer: Customer, exit_on: list[Any], steps: list[Any] | None = None) -> Enrollment:
    journey = JourneyFactory.create(workspace=customer.workspace, steps=steps or [YEAR], steps__exit_on=exit_on)
    enrollment = enter(server, journey, customer)
    let_workers_walk()
    return enrollment


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


def test_who_was_ended_by_an_event_may_be_entered_by_the_same_one(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    journey = event_journey(acme, steps=[YEAR], steps__exit_on=[{"event": "ordered"}])
    report(server, ada)
    let_workers_walk()
    report(server, ada)
    let_workers_walk()
    states = Enrollment.objects.filter(journey=journey).order_by("id").values_list("state", flat=True)
    assert sorted(states) == ["active", "exited"]


# From everywhere -----------------------------------------------------------------------------------------------------


def from_a_click(server: ServerClient, sdk: SdkClient, ada: Customer) -> None:
    tracked = {"eventName": "ordered", "eventProperties": {"total": 150}}
    data(click(sdk, userId="u-1", actionType="track_event", actionData=tracked), status=200)


def from_a_form(server: ServerClient, sdk: SdkClient, ada: Customer) -> None:
    action = {"type": "both", "eventName": "ordered", "eventProperties": {"total": "sum"}, "profileAttributes": {}}
    data(submit(sdk, userId="u-1", formData={"sum": 150}, submitAction=action), status=200)


def from_a_server(server: ServerClient, sdk: SdkClient, ada: Customer) -> None:
    report(server, ada, total=150)


def from_a_step(server: ServerClient, sdk: SdkClient, ada: Customer) -> None:
    step = {"id": "tell", "type": "track_event", "eventName": "ordered", "eventProperties": {"total": 150}}
    journey = JourneyFactory.create(workspace=ada.workspace, key="teller", steps=[step])
    data(trigger(server, journey, {"customerId": ada.id}))
    let_workers_walk()


@pytest.mark.parametrize(
    ("happens", "source", "chain"),
    [
        (from_a_click, "bridge_action", 0),
        (from_a_form, "bridge_capture", 0),
        (from_a_server, "api", 0),
        (from_a_step, "journey", 1),
    ],
)
def test_an_event_starts_moves_and_ends_wherever_it_comes_from(
    acme: Workspace,
    server: ServerClient,
    sdk: SdkClient,
    ada: Customer,
    waiting: Enrollment,
    happens: Callable[[ServerClient, SdkClient, Customer], None],
    source: str,
    chain: int,
) -> None:
    begins = event_journey(acme, event_where=BIG, steps=[YEAR])
    ending = inside(server, ada, [{"event": "ordered", "where": BIG}])
    happens(server, sdk, ada)
    event = Event.objects.get()
    assert (event.source, event.chain) == (source, chain)
    let_workers_walk()
    started = Enrollment.objects.get(journey=begins)
    assert (started.event_id, started.chain) == (event.id, chain)
    ending.refresh_from_db()
    assert ending.state == "exited"
    assert history(waiting)[0] == ("wait", "done")


def test_another_tenant_s_journeys_and_customers_do_not_notice(
    acme: Workspace, server: ServerClient, rival: Workspace, rival_server: ServerClient, ada: Customer
) -> None:
    event_journey(acme)
    theirs = CustomerFactory.create(workspace=rival, external_id="ada", user_id="u-1")
    waits = enter(rival_server, JourneyFactory.create(workspace=rival, steps=[WAIT, THANK]), theirs)
    ends = inside(rival_server, theirs, [{"event": "ordered"}])
    event_journey(rival, steps=[YEAR])
    report(server, ada)
    let_workers_walk()
    assert EnrollmentJob.objects.filter(workspace=rival).count() == 2
    assert {history(waits)[0], history(ends)[0]} == {("wait", "waiting"), ("year", "waiting")}
    assert EnrollmentJob.objects.filter(workspace=acme).count() == 1


# Chains --------------------------------------------------------------------------------------------------------------


def test_a_chain_of_events_is_cut_after_twenty_links_and_the_history_says_so(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    """A journey that an event starts records the same event again."""
    again = {"id": "again", "type": "track_event", "eventName": "ordered"}
    event_journey(acme, steps=[again], max_entries_per_customer=1000)
    report(server, ada)
    let_workers_walk()
    assert list(Event.objects.order_by("chain").values_list("chain", flat=True)) == list(range(22))
    assert Enrollment.objects.count() == 21
    assert set(Enrollment.objects.values_list("state", flat=True)) == {"completed"}
    details = list(StepRun.objects.order_by("enrollment__chain").values_list("detail", flat=True))
    assert set(details[:20]) == {"Recorded the event 'ordered'."}
    assert details[20] == "Recorded the event 'ordered', without effect: 20 events led to it one by another."


def test_a_step_s_own_event_does_not_move_the_enrollment_that_recorded_it(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    tell = {"id": "tell", "type": "track_event", "eventName": "ordered"}
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[tell, WAIT, THANK]), ada)
    let_workers_walk()
    assert history(enrollment) == [("tell", "done"), ("wait", "waiting")]


# All or nothing, and in sets -----------------------------------------------------------------------------------------


def test_an_event_and_what_it_leads_to_are_committed_together_or_not_at_all(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer, waiting: Enrollment
) -> None:
    event_journey(acme)
    ending = inside(server, ada, [{"event": "ordered"}])
    before = Enrollment.objects.order_by("id").values()
    untouched = list(before)
    jobs = EnrollmentJob.objects.count()

    def fail(execute: Callable[..., Any], sql: str, *rest: Any) -> Any:
        """The server goes away at the last thing that the event leads to."""
        if "INSERT INTO journeys_trigger" in sql:
            raise OperationalError("server closed the connection")
        return execute(sql, *rest)

    with connection.execute_wrapper(fail):
        event = {"customerId": ada.id, "eventName": "ordered"}
        refused(server.post(customers_path(acme, "events"), event), status=503, error="Service unavailable")
        clicked = click(sdk, userId="u-1", actionType="track_event", actionData={"eventName": "ordered"})
        refused(clicked, status=503, error="Service unavailable")
    assert list(before.all()) == untouched
    assert not Event.objects.exists()
    assert EnrollmentJob.objects.count() == jobs
    assert not Chunk.objects.exists()
    report(server, ada)
    ending.refresh_from_db()
    assert ending.state == "exited"


def test_a_thousand_customers_reactions_cost_as_many_statements_as_one_s(acme: Workspace, server: ServerClient) -> None:
    names = crowd(acme, 400)
    waits = JourneyFactory.create(workspace=acme, steps=[WAIT, THANK])
    leaves = JourneyFactory.create(workspace=acme, steps=[YEAR], steps__exit_on=[{"event": "ordered"}])
    event_journey(acme)
    for journey in (waits, leaves):
        data(trigger(server, journey, {"external_ids": names}))
    let_workers_walk()
    counts = []
    for chosen in (names[:1], names[1:]):
        with CaptureQueriesContext(connection) as queries:
            report_many(server, acme, [{"external_id": name, "eventName": "ordered"} for name in chosen])
        counts.append(len(queries))
    assert counts[0] == counts[1]
    let_workers_walk()
    assert set(Enrollment.objects.filter(journey=waits).values_list("state", flat=True)) == {"completed"}
    assert set(Enrollment.objects.filter(journey=leaves).values_list("state", flat=True)) == {"exited"}
    assert Enrollment.objects.exclude(journey__in=[waits, leaves]).count() == len(names)
