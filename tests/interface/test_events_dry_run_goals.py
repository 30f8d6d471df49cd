"""`POST /api/v1/customers/{workspaceId}/events?dryRun=true`: which goals events would count."""

from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer
from engage.models import Workspace
from journeys.models import GoalWatch, Journey
from tests.journeys.events.reporting import BIG, YEAR, report_many
from tests.journeys.walking.stories import enter
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import ApiKeyFactory, CustomerFactory, JourneyFactory, crowd
from tests.support.tables import everything

BOUGHT: dict[str, Any] = {"key": "bought", "event": "ordered", "within": "P7D"}
ORDERED: dict[str, Any] = {"external_id": "ada", "eventName": "ordered", "eventProperties": {"total": 59.9}}
HELD_OUT = {"share": 1 - 1e-9}


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme, key="spring", goals=[BOUGHT], max_entries_per_customer=9)


def would_count(server: ServerClient, *events: dict[str, Any], query: str = "") -> list[list[dict[str, Any]]]:
    """For each event, the goals that it would count."""
    path = customers_path(server.key.workspace, f"events?dryRun=true{query}")
    return [one["goals"] for one in data(server.post(path, {"events": events}), status=200)["events"]]


def counted(journey: Journey) -> int:
    return GoalWatch.objects.filter(journey_id=journey.id).exclude(reached_at=None).count()


def test_it_tells_what_is_then_counted_and_writes_nothing(
    server: ServerClient, journey: Journey, ada: Customer, acme: Workspace
) -> None:
    other = {**BOUGHT, "key": "big", "where": BIG}
    autumn = JourneyFactory.create(workspace=acme, key="autumn", goals=[other, {**BOUGHT, "event": "looked"}])
    enrollment, later = enter(server, journey, ada), enter(server, autumn, ada)
    let_workers_walk()  # both have completed
    events = [ORDERED, {**ORDERED, "eventProperties": {"total": 100}}, {**ORDERED, "eventName": "looked"}, ORDERED]
    would_count(server, *events)  # notes when the key was used, which every call does
    before = everything()
    with CaptureQueriesContext(connection) as queries:
        told = would_count(server, *events)
    assert everything() == before
    assert not [q["sql"] for q in queries.captured_queries if not q["sql"].lstrip().startswith(("SELECT", "WITH"))]
    spring = {"journeyId": journey.id, "key": "spring", "enrollmentId": enrollment.id, "goal": "bought"}
    falls = {"journeyId": autumn.id, "key": "autumn", "enrollmentId": later.id}
    assert told == [[spring], [{**falls, "goal": "big"}], [{**falls, "goal": "bought"}], []]
    report_many(server, acme, events[:1])
    assert (counted(journey), counted(autumn)) == (1, 0)
    assert would_count(server, *events) == [[], *told[1:]]
    report_many(server, acme, events)
    assert would_count(server, *events) == [[]] * 4
    assert (counted(journey), counted(autumn)) == (1, 2)


def test_each_enrollment_counts_for_itself(server: ServerClient, journey: Journey, ada: Customer) -> None:
    first, second = enter(server, journey, ada), enter(server, journey, ada)
    ((one, other),) = would_count(server, ORDERED)
    assert {one["enrollmentId"], other["enrollmentId"]} == {first.id, second.id}


@each("hours, told", [(167, 1), (169, 0)])
def test_a_time_that_is_over_counts_no_more(
    server: ServerClient, journey: Journey, ada: Customer, hours: int, told: int
) -> None:
    enter(server, journey, ada)
    time_passes(hours=hours)
    assert len(would_count(server, ORDERED)[0]) == told
    report_many(server, journey.workspace, [ORDERED])
    assert counted(journey) == told


def test_an_event_of_a_message_counts_where_such_events_do(
    server: ServerClient, journey: Journey, ada: Customer, acme: Workspace
) -> None:
    firm = JourneyFactory.create(workspace=acme, key="firm", goals=[{**BOUGHT, "fromBridge": False}])
    enter(server, journey, ada)
    enter(server, firm, ada)
    for query, keys in (("", {"spring", "firm"}), ("&fromBridge=true", {"spring"})):
        assert {one["key"] for one in would_count(server, ORDERED, query=query)[0]} == keys


def test_who_is_held_out_counts_without_an_enrollment(
    server: ServerClient, journey: Journey, ada: Customer, acme: Workspace
) -> None:
    Journey.objects.filter(id=journey.id).update(hold_out=HELD_OUT)
    for _ in range(2):  # each decision counts
        data(trigger(server, journey, {"external_id": "ada"}))
        let_workers_decide()
    goal = {"journeyId": journey.id, "key": "spring", "enrollmentId": None, "goal": "bought"}
    assert would_count(server, ORDERED) == [[goal, goal]]
    report_many(server, acme, [ORDERED])
    assert counted(journey) == 2


def test_a_goal_counts_as_the_journey_defines_it_now(server: ServerClient, journey: Journey, ada: Customer) -> None:
    enter(server, journey, ada)
    for goals, told in (([{**BOUGHT, "where": BIG}], 0), ([{**BOUGHT, "key": "other"}], 0), (None, 0), ([BOUGHT], 1)):
        Journey.objects.filter(id=journey.id).update(goals=goals)
        assert len(would_count(server, ORDERED)[0]) == told


def test_an_event_that_ends_an_enrollment_counts_for_it_first(
    server: ServerClient, ada: Customer, acme: Workspace
) -> None:
    ends = JourneyFactory.create(
        workspace=acme, key="ends", goals=[BOUGHT], steps=[YEAR], steps__exit_on=[{"event": "ordered"}]
    )
    enrollment = enter(server, ends, ada)
    let_workers_walk()
    path = customers_path(acme, "events?dryRun=true")
    (one,) = data(server.post(path, ORDERED), status=200)["events"]
    assert [[told["enrollmentId"] for told in one[what]] for what in ("goals", "ends")] == [[enrollment.id]] * 2


def test_another_tenant_s_goals_and_those_of_other_journeys_than_the_key_s_are_not_told(
    server: ServerClient, rival_server: ServerClient, rival: Workspace, journey: Journey, ada: Customer, acme: Workspace
) -> None:
    theirs = JourneyFactory.create(workspace=rival, key="spring", goals=[BOUGHT])
    enter(rival_server, theirs, CustomerFactory.create(workspace=rival, external_id="ada"))
    assert would_count(server, ORDERED) == [[]]
    other = JourneyFactory.create(workspace=acme, key="other", goals=[BOUGHT])
    for one in (journey, other):
        enter(server, one, ada)
    assert [one["journeyId"] for one in would_count(rival_server, ORDERED)[0]] == [theirs.id]
    scopes = ["events", "customers:read"]
    for journeys, told in ((None, {journey.id, other.id}), ([other.id], {other.id})):
        narrow = ServerClient(ApiKeyFactory.create(workspace=acme, scopes=scopes, journeys=journeys))
        assert {one["journeyId"] for one in would_count(narrow, ORDERED)[0]} == told


def test_a_hundred_events_cost_as_many_statements_as_one(
    acme: Workspace, server: ServerClient, journey: Journey, django_assert_num_queries: Any
) -> None:
    names = crowd(acme, 100)
    data(trigger(server, journey, {"external_ids": names}))
    let_workers_decide()
    events = [{**ORDERED, "external_id": name} for name in names]
    would_count(server, *events)
    for some in (events[:1], events):
        # key, customers, whom they concern, the journeys' goals, their keys, and what they start
        with django_assert_num_queries(6):
            assert {len(goals) for goals in would_count(server, *some)} == {1}
