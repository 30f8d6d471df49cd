"""Events do the same wherever they come from: at once, in sets, and not for ever."""

from collections.abc import Callable
from typing import Any

import pytest
import redis
from django.db import OperationalError, connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer, Event
from engage.models import Workspace
from engage.process.bounded_cache import BoundedCache
from journeys.engine import wakeups
from journeys.engine.enrollments import revisions
from journeys.models import Chunk, Enrollment, EnrollmentJob, StepRun
from journeys.tasks import walk
from tests.journeys.events.reporting import BIG, THANK, WAIT, YEAR, event_journey, inside, report, report_many
from tests.journeys.walking.stories import enter, history
from tests.support.bridge_calls import click, submit
from tests.support.calls import customers_path, data, let_workers_walk, refused, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.clock import time_passes
from tests.support.factories import CustomerFactory, JourneyFactory, crowd

pytestmark = pytest.mark.ada(user_id="u-1")


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


@each(
    "happens, source, chain",
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
    waiting.refresh_from_db()
    assert {(one.event_id, one.chain) for one in (started, waiting)} == {(event.id, chain)}
    ending.refresh_from_db()
    assert ending.state == "exited"
    assert history(waiting)[0] == ("wait", "done")


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("happens", [from_a_click, from_a_form, from_a_server])
def test_workers_are_woken_for_what_an_event_starts_and_for_whom_it_moves(
    acme: Workspace,
    server: ServerClient,
    sdk: SdkClient,
    ada: Customer,
    waiting: Enrollment,
    queue: redis.Redis,
    happens: Callable[[ServerClient, SdkClient, Customer], None],
) -> None:
    event_journey(acme)
    wakeups.wake_now()
    queue.flushdb()  # of what woke them for the enrollment that waits
    happens(server, sdk, ada)
    wakeups.wake_now()
    assert (queue.llen("single"), queue.llen("walk")) == (1, 1)


def test_workers_are_woken_for_what_a_step_s_event_starts_whatever_is_walked_before_and_after(
    acme: Workspace, server: ServerClient, ada: Customer, queue: redis.Redis
) -> None:
    """A customer's enrollments are walked in batches of their own; the second of the three tells."""
    event_journey(acme)
    tell = {"id": "tell", "type": "track_event", "eventName": "ordered"}
    for steps in ([YEAR], [tell], [YEAR]):
        enter(server, JourneyFactory.create(workspace=acme, steps=steps), ada)
    wakeups.wake_now()
    queue.flushdb()
    walk()
    wakeups.wake_now()
    assert list(Enrollment.objects.order_by("job").values_list("state", flat=True)) == ["active", "completed", "active"]
    assert queue.llen("single") == 1


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


@pytest.mark.slow
def test_a_chain_of_events_is_cut_after_twenty_links(acme: Workspace, server: ServerClient, ada: Customer) -> None:
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


def test_an_event_at_the_end_of_a_chain_has_no_effect_beside_others_that_have(
    acme: Workspace, server: ServerClient, ada: Customer, waiting: Enrollment
) -> None:
    starts = event_journey(acme, steps=[YEAR])
    bob = CustomerFactory.create(workspace=acme)
    tell = {"id": "tell", "type": "track_event", "eventName": "ordered"}
    teller = JourneyFactory.create(workspace=acme, steps=[tell])
    for customer, chain in ((ada, 20), (bob, 0)):
        Enrollment.objects.filter(id=enter(server, teller, customer).id).update(chain=chain)
    let_workers_walk()  # both tell in one batch
    assert list(Event.objects.order_by("chain").values_list("customer", "chain")) == [(bob.id, 1), (ada.id, 21)]
    assert [enrollment.customer for enrollment in Enrollment.objects.filter(journey=starts)] == [bob]
    assert history(waiting) == [("wait", "waiting")]


def test_a_step_s_own_event_moves_no_own_enrollment(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    tell = {"id": "tell", "type": "track_event", "eventName": "ordered"}
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[tell, WAIT, THANK]), ada)
    let_workers_walk()
    assert history(enrollment) == [("tell", "done"), ("wait", "waiting")]


def test_a_step_s_own_event_is_not_the_one_awaited_before(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    tell = {"id": "tell", "type": "track_event", "eventName": "ordered", "eventProperties": {"total": 7}}
    steps = [{**WAIT, "onTimeout": "tell"}, tell, {**YEAR, "for": "P1D"}, THANK]
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=steps), ada)
    for days in (0, 3, 1):
        time_passes(days=days)
        let_workers_walk()
    enrollment.refresh_from_db()
    assert [step_id for step_id, _ in history(enrollment)] == ["wait", "tell", "year", "thank"]
    assert enrollment.event_id is None
    assert enrollment.chain == 0
    ada.refresh_from_db()
    assert ada.attributes == {"thanked": ""}


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


@pytest.mark.slow
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


@pytest.mark.slow
def test_reactions_in_twenty_journeys_cost_as_many_statements_as_in_one(
    acme: Workspace, server: ServerClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    counts = []
    for number in (1, 20):
        ada = CustomerFactory.create(workspace=acme)
        for _ in range(number):
            enter(server, JourneyFactory.create(workspace=acme, steps=[WAIT, THANK]), ada)
        let_workers_walk()
        monkeypatch.setattr(revisions, "_known", BoundedCache(most=1))
        with CaptureQueriesContext(connection) as queries:
            report(server, ada)
        counts.append(len(queries))
        let_workers_walk()
        assert set(Enrollment.objects.filter(customer=ada).values_list("state", flat=True)) == {"completed"}
    assert counts[0] == counts[1]


def test_who_waits_is_looked_up_after_the_customer_is_locked_though_in_the_same_statement(db: None) -> None:
    """Only what a volatile function asks sees a step that began to wait since the statement began."""
    with connection.cursor() as cursor:
        cursor.execute("SELECT provolatile::text FROM pg_proc WHERE proname = 'journeys_takes_notice'")
        assert cursor.fetchall() == [("v",)]
