"""`goals` of a journey: the events by which it is told whether it does what it is for."""

from collections.abc import Callable
from datetime import timedelta
from typing import Any

import pytest
from django.core.management import call_command
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.erasure import erase_customer
from customers.identity.lookup import Reference
from customers.models import Customer
from engage.database.pruning import prune
from engage.models import Workspace
from journeys.engine.counts.counting import fold
from journeys.engine.steering.going_on import go_on
from journeys.engine.walking.recording import ReportedEvent, record_reported_events
from journeys.models import CountDelta, Enrollment, GoalWatch, Journey, StepRun
from tests.journeys.events.reporting import BIG, report, report_many
from tests.journeys.walking.stories import enter
from tests.support.bridge_calls import click
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import SdkClient, ServerClient
from tests.support.clock import time_passes
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.factories import PRO, CustomerFactory, JourneyFactory, crowd

BOUGHT: dict[str, Any] = {"key": "bought", "event": "ordered", "within": "P7D"}
STEPS: list[dict[str, Any]] = [
    {"id": "which", "type": "branch", "cases": [{"if": PRO, "next": "mail"}], "else": None},
    {"id": "mail", "type": "update_profile", "attributes": {"mailed": True}},
    {"id": "day", "type": "delay", "for": "P1D"},
]


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, key="spring", steps=STEPS, goals=[BOUGHT])


@pytest.fixture
def pro(ada: Customer) -> Customer:
    Customer.objects.filter(id=ada.id).update(attributes={"plan": "pro"})
    return ada


def goals(server: ServerClient, journey: Journey, query: str = "") -> list[dict[str, Any]]:
    told = data(server.get(f"/api/v1/journeys/{journey.workspace_id}/{journey.id}/stats{query}"), status=200)
    assert counted(journey) == counted_by_history(journey.id)
    return list(told["goals"])


def reached(
    key: str = "bought", *steps: str, number: int = 1, ways: tuple[tuple[str, str], ...] = ()
) -> dict[str, Any]:
    return {
        "key": key,
        "count": number,
        "byStep": dict.fromkeys(steps, number),
        "byPath": [{"source": source, "target": target, "count": number} for source, target in ways],
        "heldOut": 0,
    }


NONE = reached(number=0)


def test_an_enrollment_counts_once_with_the_steps_and_ways_that_it_had_taken(
    server: ServerClient, journey: Journey, pro: Customer, acme: Workspace
) -> None:
    enter(server, journey, pro)
    let_workers_walk()
    assert goals(server, journey) == [NONE]
    report(server, pro, "looked")
    for _ in range(2):
        report(server, pro)
        assert goals(server, journey) == [reached("bought", "day", "mail", "which", ways=(("which", "mail"),))]
    fold()
    assert (
        goals(server, journey)
        == goals(server, journey, "?revision=1&from=2020-01-01")
        != goals(server, journey, "?to=2020-01-01")
    )
    bob = CustomerFactory.create(workspace=acme)
    enter(server, journey, bob)
    report(server, bob)  # before a walker came
    told = goals(server, journey)[0]
    assert (told["count"], told["byStep"]["which"]) == (2, 1)


def test_it_counts_after_the_end_and_until_its_time_is_over(
    server: ServerClient, journey: Journey, ada: Customer, acme: Workspace
) -> None:
    late = CustomerFactory.create(workspace=acme)
    for customer in (ada, late):
        enter(server, journey, customer)
    let_workers_walk()
    assert set(Enrollment.objects.values_list("state", flat=True)) == {"completed"}
    time_passes(days=6, hours=23)
    report(server, ada)
    time_passes(hours=1, minutes=1)
    report(server, late)
    assert goals(server, journey) == [reached("bought", "which", ways=(("which", "@completed"),))]


def test_who_has_left_counts_too(server: ServerClient, journey: Journey, pro: Customer) -> None:
    enrollment = enter(server, journey, pro)
    let_workers_walk()
    server.post(f"/api/v1/journeys/{pro.workspace_id}/enrollments/{enrollment.id}/exit", {"reason": "Asked."})
    report(server, pro)
    assert goals(server, journey)[0]["byPath"] == [{"source": "which", "target": "mail", "count": 1}]


def test_the_event_that_ends_an_enrollment_reaches_its_goal(
    server: ServerClient, acme: Workspace, ada: Customer
) -> None:
    exits = [{"event": "ordered"}]
    journey = JourneyFactory.create(workspace=acme, steps=STEPS[2:], steps__exit_on=exits, goals=[BOUGHT])
    enter(server, journey, ada)
    let_workers_walk()
    report(server, ada)
    assert Enrollment.objects.get().state == "exited"
    assert goals(server, journey) == [reached("bought", "day")]


def before_it_began(server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer) -> None:
    data(trigger(server, journey, {"customerId": ada.id}))
    report(server, ada, total=100)
    let_workers_decide()


def of_the_past(server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer) -> None:
    enter(server, journey, ada)
    event = ReportedEvent(customer=Reference("id", ada.id), name="ordered", properties={"total": 100}, occurred_at=None)
    record_reported_events(workspace_id=ada.workspace_id, events=[event], lead_to_nothing=True)


def of_less(server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer) -> None:
    enter(server, journey, ada)
    report(server, ada, total=99)


def of_a_page(server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer) -> None:
    enter(server, journey, ada)
    tracked = {"eventName": "ordered", "eventProperties": {"total": 100}}
    data(click(sdk, userId="u-1", actionType="track_event", actionData=tracked), status=200)


def of_its_own_step(server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer) -> None:
    step = {"id": "tell", "type": "track_event", "eventName": "ordered", "eventProperties": {"total": 100}}
    journey.revisions.update(steps=[step])
    enter(server, journey, ada)
    let_workers_walk()


def of_somebody_else(server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer) -> None:
    enter(server, journey, ada)
    report(server, CustomerFactory.create(workspace=ada.workspace), total=100)


def after_the_goal_was_taken_away(server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer) -> None:
    enter(server, journey, ada)
    Journey.objects.filter(id=journey.id).update(goals=[{**BOUGHT, "key": "other"}])
    report(server, ada, total=100)


@pytest.mark.ada(user_id="u-1")
@each(
    "happens",
    [
        before_it_began, of_the_past, of_less, of_a_page, of_its_own_step, of_somebody_else,
        after_the_goal_was_taken_away,
    ],
)  # fmt: skip
def test_other_events_do_not_count(
    server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer, happens: Callable[..., None]
) -> None:
    Journey.objects.filter(id=journey.id).update(goals=[{**BOUGHT, "where": BIG, "fromBridge": False}])
    happens(server, sdk, journey, ada)
    assert [one["count"] for one in goals(server, journey)] == [0]
    assert not GoalWatch.objects.exclude(reached_at=None).exists()


@pytest.mark.ada(user_id="u-1")
def test_what_a_page_reports_counts_unless_the_goal_says_no(
    server: ServerClient, sdk: SdkClient, journey: Journey, ada: Customer
) -> None:
    Journey.objects.filter(id=journey.id).update(goals=[BOUGHT, {**BOUGHT, "key": "surely", "fromBridge": False}])
    enter(server, journey, ada)
    data(click(sdk, userId="u-1", actionType="track_event", actionData={"eventName": "ordered"}), status=200)
    assert [one["count"] for one in goals(server, journey)] == [1, 0]
    report(server, ada)
    assert [one["count"] for one in goals(server, journey)] == [1, 1]


def test_a_step_of_another_journey_may_reach_it(server: ServerClient, journey: Journey, ada: Customer) -> None:
    enter(server, journey, ada)
    step = {"id": "tell", "type": "track_event", "eventName": "ordered"}
    enter(server, JourneyFactory.create(workspace=journey.workspace, steps=[step]), ada)
    let_workers_walk()
    assert goals(server, journey)[0]["count"] == 1


def test_what_was_reached_goes_along_to_a_later_revision(server: ServerClient, journey: Journey, pro: Customer) -> None:
    enter(server, journey, pro)
    let_workers_walk()
    report(server, pro)
    before = goals(server, journey)
    body = {"steps": [*STEPS, {**STEPS[1], "id": "more"}], "goals": [BOUGHT, {**BOUGHT, "key": "later"}]}
    path = f"/api/v1/journeys/{journey.workspace_id}/{journey.id}?moveInside=true"
    data(server.put(path, body, headers={"If-Match": "*"}), status=200)
    go_on(seconds=5)
    assert goals(server, journey, "?revision=2") == [*before, reached("later", number=0)]
    assert [one["count"] for one in goals(server, journey, "?revision=1")] == [0, 0]


@each("hold_out", [None, {"share": 1 - 1e-9}])
def test_a_goal_whose_event_is_changed_counts_the_former_one_for_who_was_there_before(
    server: ServerClient, journey: Journey, ada: Customer, hold_out: Any
) -> None:
    Journey.objects.filter(id=journey.id).update(hold_out=hold_out)
    data(trigger(server, journey, {"customerId": ada.id}))
    let_workers_decide()
    path, body = f"/api/v1/journeys/acme/{journey.key}", {"steps": STEPS, "goals": [{**BOUGHT, "event": "paid"}]}
    data(server.put(path, {**body, "holdOut": hold_out}, headers={"If-Match": "*"}), status=200)
    for event, number in (("paid", 0), ("ordered", 1)):
        one_event = {"customerId": ada.id, "eventName": event}
        told = data(server.post(customers_path(ada.workspace, "events?dryRun=true"), one_event), status=200)
        assert [len(one["goals"]) for one in told["events"]] == [number]
        report(server, ada, event)
        (goal,) = goals(server, journey)
        assert goal["heldOut" if hold_out else "count"] == number


def test_another_tenant_counts_its_own(
    server: ServerClient, rival_server: ServerClient, rival: Workspace, journey: Journey, ada: Customer
) -> None:
    theirs = JourneyFactory.create(workspace=rival, steps=STEPS, goals=[BOUGHT])
    their_ada = CustomerFactory.create(workspace=rival, external_id="ada")
    enter(server, journey, ada)
    enter(rival_server, theirs, their_ada)
    report(rival_server, their_ada)
    assert (goals(server, journey), goals(rival_server, theirs)) == ([NONE], [reached()])


def test_after_a_merge_the_survivor_s_events_count(server: ServerClient, journey: Journey, ada: Customer) -> None:
    anonymous = CustomerFactory.create(workspace=journey.workspace, external_id=None, user_id="anon-1")
    for customer in (anonymous, ada):
        enter(server, journey, customer)
    body = {"anonymous": {"userId": "anon-1"}, "into": {"external_id": "ada"}}
    data(server.post(customers_path(journey.workspace, "merge"), body), status=200)
    report(server, ada)
    assert goals(server, journey) == [reached(number=2)]


def test_counts_outlive_who_is_erased(server: ServerClient, journey: Journey, ada: Customer) -> None:
    enter(server, journey, ada)
    report(server, ada)
    erase_customer(workspace_id=ada.workspace_id, customer_id=ada.id)
    assert not GoalWatch.objects.exists()
    assert goals_of_counts(journey) == [1]
    call_command("count_history")
    assert goals_of_counts(journey) == [1]


def goals_of_counts(journey: Journey) -> list[int]:
    return [one.number for one in CountDelta.objects.filter(journey=journey, kind="goal", outcome="")]


def test_what_was_never_counted_is_counted_from_the_history(
    server: ServerClient, journey: Journey, pro: Customer
) -> None:
    enter(server, journey, pro)
    let_workers_walk()
    report(server, pro)
    before = goals(server, journey)
    CountDelta.objects.filter(kind="goal").delete()
    for _ in range(2):
        call_command("count_history")
        assert goals(server, journey) == before


def test_history_stays_while_a_goal_may_be_reached_and_goes_then(
    server: ServerClient, journey: Journey, pro: Customer
) -> None:
    enrollment = enter(server, journey, pro)
    let_workers_walk()
    server.post(f"/api/v1/journeys/{pro.workspace_id}/enrollments/{enrollment.id}/exit", {"reason": "Asked."})
    later = timezone.now() + timedelta(days=1)
    kinds = (StepRun, Enrollment, GoalWatch)
    assert [prune(kind, before=later).rows for kind in kinds] == [0, 0, 0]
    time_passes(days=7, minutes=1)
    assert [prune(kind, before=later).rows for kind in kinds] == [3, 1, 1]
    assert not StepRun.objects.exists()


def test_four_hundred_cost_as_many_statements_as_one(server: ServerClient, acme: Workspace, journey: Journey) -> None:
    names, costs = crowd(acme, 401), []
    for chosen in (names[:1], names[1:]):
        data(trigger(server, journey, {"external_ids": chosen}))
        with CaptureQueriesContext(connection) as deciding:
            let_workers_decide()
        let_workers_walk()
        with CaptureQueriesContext(connection) as reporting:
            report_many(server, acme, [{"external_id": name, "eventName": "ordered"} for name in chosen])
        costs.append((len(deciding), len(reporting)))
    assert costs[0] == costs[1]
    assert goals(server, journey)[0]["count"] == 401


def test_a_definition_keeps_them_as_they_are_written(server: ServerClient, acme: Workspace) -> None:
    path, written = "/api/v1/journeys/acme/new", [{**BOUGHT, "where": BIG, "fromBridge": False}, {**BOUGHT, "key": "b"}]
    answer = data(server.put(path, {"steps": STEPS, "goals": written}), status=201)
    assert answer["definition"]["goals"] == written
    assert data(server.get(path), status=200)["definition"]["goals"] == written
    headers = {"If-Match": "*"}
    changed = data(server.put(path, {"steps": STEPS, "goals": written[:1]}, headers=headers), status=200)
    assert changed["changed"] == ["goals"]
    assert Journey.objects.get(key="new").revision == 1


@each(
    "goals, place, says",
    [
        ({}, "goals", "must be an array"),
        ([BOUGHT] * 11, "goals", "holds 11 items; its maximum is 10."),
        ([{"key": "a", "event": "b"}], "goals[0].within", "is required."),
        ([{**BOUGHT, "within": "P91D"}], "goals[0].within", "must be at most 90 days (P90D)."),
        ([{**BOUGHT, "within": "PT0S"}], "goals[0].within", "must be at least a second (PT1S)."),
        ([{**BOUGHT, "key": "a b"}], "goals[0].key", "may hold letters, digits, - and _ only."),
        ([{**BOUGHT, "event": "x" * 256}], "goals[0].event", "must be at most 255 characters long, not 256."),
        ([{**BOUGHT, "when": 1}], "goals[0].when", "is not known; what may stand here is key, within, event,"),
        ([BOUGHT, BOUGHT], "goals[1].key", "is 'bought', which is the key of goals[0] already."),
        ([{**BOUGHT, "where": PRO}], "goals[0].where.field", ""),
        ([{**BOUGHT, "where": {"field": "api.payload.a", "op": "exists"}}], "goals[0].where.field", ""),
    ],
)
def test_mistakes_are_told_with_their_places(
    server: ServerClient, acme: Workspace, goals: Any, place: str, says: str
) -> None:
    told = server.put("/api/v1/journeys/acme/new", {"goals": goals}).json()
    assert [one["place"] for one in told["details"]] == [place]
    assert says in told["message"]
    assert not Journey.objects.exists()


def test_all_mistakes_are_told_at_once(server: ServerClient, acme: Workspace) -> None:
    wrong = [{"event": "", "within": "P1Y"}, {**BOUGHT, "fromBridge": 1}]
    told = server.put("/api/v1/journeys/acme/new", {"goals": wrong, "steps": [{}]}).json()
    places = [one["place"] for one in told["details"] if one["field"] == "goals"]
    assert places == ["goals[0].key", "goals[0].within", "goals[0].event", "goals[1].fromBridge"]


def test_a_path_too_long_to_be_counted_is_a_mistake_where_there_are_goals(
    server: ServerClient, acme: Workspace
) -> None:
    paths = [{"weight": 1, "next": "b" * 50}, {"weight": 1, "next": None}]
    steps = [{"id": "a" * 50, "type": "split", "paths": paths}, {**STEPS[2], "id": "b" * 50}]
    told = server.put("/api/v1/journeys/acme/new", {"steps": steps, "goals": [BOUGHT]}).json()
    assert told["message"].startswith("goals are counted by path: the id")
    data(server.put("/api/v1/journeys/acme/new", {"steps": steps}), status=201)
