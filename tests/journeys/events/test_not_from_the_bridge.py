"""`fromBridge: false`: where a journey says so, what anybody can report through the bridge is no event."""

from collections.abc import Callable

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer, Event
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob
from tests.journeys.events.reporting import BIG, THANK, WAIT, YEAR, event_journey, inside, report
from tests.journeys.walking.stories import enter, history
from tests.support.bridge_calls import click, submit
from tests.support.calls import data, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.factories import JourneyFactory

pytestmark = pytest.mark.ada(user_id="u-1")
HEEDLESS = {**WAIT, "fromBridge": False}
EXIT = {"event": "ordered", "fromBridge": False}


def by_click(sdk: SdkClient) -> None:
    tracked = {"eventName": "ordered", "eventProperties": {"total": 150}}
    data(click(sdk, userId="u-1", actionType="track_event", actionData=tracked), status=200)


def by_form(sdk: SdkClient) -> None:
    action = {"type": "track_event", "eventName": "ordered", "eventProperties": {"total": "sum"}}
    data(submit(sdk, userId="u-1", formData={"sum": 150}, submitAction=action), status=200)


def by_step(server: ServerClient, ada: Customer) -> None:
    step = {"id": "tell", "type": "track_event", "eventName": "ordered", "eventProperties": {"total": 150}}
    data(trigger(server, JourneyFactory.create(workspace=ada.workspace, steps=[step]), {"customerId": ada.id}))
    let_workers_walk()


def by_server(server: ServerClient, ada: Customer) -> None:
    report(server, ada, total=150)


anybody = each("anybody", [by_click, by_form])


@anybody
@each("somebody", [by_server, by_step])
def test_it_starts_moves_and_ends_nothing_and_what_a_server_or_a_step_says_does(
    acme: Workspace,
    server: ServerClient,
    sdk: SdkClient,
    ada: Customer,
    anybody: Callable[[SdkClient], None],
    somebody: Callable[[ServerClient, Customer], None],
) -> None:
    started = event_journey(acme, event_from_bridge=False, event_where=BIG, steps=[YEAR])
    waits = enter(server, JourneyFactory.create(workspace=acme, steps=[HEEDLESS, THANK]), ada)
    ends = inside(server, ada, [{**EXIT, "where": BIG}])
    anybody(sdk)
    let_workers_walk()
    ends.refresh_from_db()
    assert Event.objects.count() == 1
    assert (history(waits), ends.state) == ([("wait", "waiting")], "active")
    assert not EnrollmentJob.objects.filter(journey=started).exists()
    somebody(server, ada)
    let_workers_walk()
    ends.refresh_from_db()
    assert (history(waits), ends.state) == ([("wait", "done"), ("thank", "done")], "exited")
    assert Enrollment.objects.filter(journey=started).count() == 1


@anybody
def test_it_does_not_count_either_where_it_came_before_a_worker(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer, anybody: Callable[[SdkClient], None]
) -> None:
    for fields in ({"steps": [HEEDLESS, THANK]}, {"steps": [YEAR], "steps__exit_on": [EXIT]}):
        data(trigger(server, JourneyFactory.create(workspace=acme, **fields), {"customerId": ada.id}))
    anybody(sdk)
    let_workers_walk()
    assert [one.state for one in Enrollment.objects.all()] == ["active", "active"]


def test_a_server_s_event_is_found_in_one_statement_among_many_that_do_not_count(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer
) -> None:
    data(trigger(server, JourneyFactory.create(workspace=acme, steps=[HEEDLESS, THANK]), {"customerId": ada.id}))
    for _ in range(25):
        by_click(sdk)
    by_server(server, ada)
    for _ in range(25):
        by_click(sdk)
    with CaptureQueriesContext(connection) as queries:
        let_workers_walk()
    assert history(Enrollment.objects.get()) == [("wait", "done"), ("thank", "done")]
    assert sum("customers_event recorded" in query["sql"] for query in queries) == 1


def test_one_exit_rule_may_take_it_and_another_not(
    acme: Workspace, server: ServerClient, sdk: SdkClient, ada: Customer
) -> None:
    rules = [{"event": "left", "fromBridge": True}, EXIT]
    now = inside(server, ada, rules)
    journey = JourneyFactory.create(workspace=acme, steps=[YEAR], steps__exit_on=rules)
    data(trigger(server, journey, {"customerId": ada.id}))
    by_click(sdk)
    let_workers_walk()
    assert {one.state for one in Enrollment.objects.all()} == {"active"}
    data(click(sdk, userId="u-1", actionType="track_event", actionData={"eventName": "left"}), status=200)
    now.refresh_from_db()
    assert now.state == "exited"


def test_a_step_s_own_event_ends_its_enrollment(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    step = {"id": "tell", "type": "track_event", "eventName": "ordered"}
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[step], steps__exit_on=[EXIT]), ada)
    let_workers_walk()
    enrollment.refresh_from_db()
    assert enrollment.state == "exited"


def test_a_wait_says_whose_events_do_not_count(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[HEEDLESS, THANK]), ada)
    let_workers_walk()
    assert enrollment.step_runs.get().detail.startswith("Waits for the event 'ordered' (not from the bridge) until ")
