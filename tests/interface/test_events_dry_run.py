"""`POST /api/v1/customers/{workspaceId}/events?dryRun=true`: what events would do, and why they start nothing."""

from typing import Any

from django.db import connection
from django.test.utils import CaptureQueriesContext

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment, EnrollmentJob
from tests.journeys.events.reporting import BIG, THANK, WAIT, YEAR, event_journey, inside, report_many, results
from tests.journeys.walking.stories import enter, history
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, refused
from tests.support.cases import each
from tests.support.clients import Answer, ServerClient
from tests.support.factories import PRO, ApiKeyFactory, CustomerFactory, JourneyFactory, crowd
from tests.support.tables import everything

ORDERED = {"external_id": "ada", "eventName": "ordered", "eventProperties": {"total": 59.9}}


def dry_run(server: ServerClient, body: Any, query: str = "?dryRun=true") -> Answer:
    return server.post(customers_path(server.key.workspace, f"events{query}"), body)


def tried(server: ServerClient, *events: dict[str, Any], query: str = "?dryRun=true") -> list[dict[str, Any]]:
    """What each would do; one alone is sent as one."""
    body = events[0] if len(events) == 1 else {"events": events}
    answered = data(dry_run(server, body, query), status=200)
    assert answered["status"] == "dry_run"
    assert [one["index"] for one in answered["events"]] == list(range(len(events)))
    return list(answered["events"])


def why_not(server: ServerClient, *, query: str = "?dryRun=true") -> dict[str, tuple[str, list[str]]]:
    """Reason and details by the journey's key, of those that would not start."""
    (one,) = tried(server, ORDERED, query=query)
    assert (one["starts"], one["moves"], one["ends"], one["goals"], one["status"]) == ([], [], [], [], "tried")
    return {missed["key"]: (missed["reason"], missed["details"]) for missed in one["not"]}


def test_each_reason_is_told_with_the_values(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, key="big", event_where=BIG)
    event_journey(acme, key="closed", active=False)
    event_journey(acme, key="pro", entry_conditions=PRO)
    event_journey(acme, key="in", steps=[YEAR])
    event_journey(acme, key="other", event_name="looked")
    JourneyFactory.create(workspace=acme)
    (first,) = tried(server, ORDERED)
    assert [one["key"] for one in first["starts"]] == ["in"]
    report_many(server, acme, [ORDERED])
    let_workers_walk()
    missed = why_not(server)
    assert missed == {
        "big": ("where_not_met", ["event.properties.total is 59.9, wanted at least 100"]),
        "closed": ("closed", []),
        "pro": ("conditions_not_met", ['customer.plan has no value, wanted "pro"']),
        "in": ("already_enrolled", missed["in"][1]),
    }
    assert missed["in"][1][0].startswith("The customer was in the journey already: enrollment ")


def test_a_message_s_event_is_tried_as_such(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, key="firm", event_from_bridge=False)
    assert why_not(server, query="?dryRun=true&fromBridge=true") == {"firm": ("from_bridge", [])}
    assert tried(server, ORDERED)[0]["not"] == []
    message = refused(dry_run(server, ORDERED, "?fromBridge=true"), status=400, error="Invalid request")
    assert message == "fromBridge is for dry runs only: send dryRun=true as well."
    assert not EnrollmentJob.objects.exists()


def test_what_it_moves_and_ends_is_told_in_the_order_of_the_events(
    acme: Workspace, server: ServerClient, ada: Customer
) -> None:
    """An enrollment that the first event ends is not in the way of the second, nor is it moved by that."""
    again = event_journey(acme, key="again", steps=[WAIT, THANK], steps__exit_on=[{"event": "left"}])
    report_many(server, acme, [ORDERED])
    let_workers_walk()
    stays = Enrollment.objects.get().id
    waits = enter(server, JourneyFactory.create(workspace=acme, key="waits", steps=[WAIT, THANK]), ada)
    ends = inside(server, ada, [{"event": "left"}])
    left, ordered = tried(server, {**ORDERED, "eventName": "left"}, ORDERED)
    assert {one["enrollmentId"] for one in left["ends"]} == {ends.id, stays}
    assert {one["reason"] for one in left["ends"]} == {"The event 'left' ends the journey."}
    assert ordered["moves"] == [
        {"journeyId": waits.journey_id, "key": "waits", "enrollmentId": waits.id, "stepId": "wait"}
    ]
    assert ordered["starts"] == [{"journeyId": again.id, "key": "again"}]
    (alone,) = tried(server, ORDERED)
    assert [one["reason"] for one in alone["not"]] == ["already_enrolled"]
    assert {one["enrollmentId"] for one in alone["moves"]} == {waits.id, stays}


@each("names", ["go go go", "go stop", "go later go go now go", "later go now now go", "go left go"])
def test_each_wait_that_directly_follows_another_is_told_with_its_own_event(
    acme: Workspace, server: ServerClient, ada: Customer, names: str
) -> None:
    """A wait behind another step begins after all of them. What is told is what then happens."""
    own = {"field": "event.properties.plan", "op": "eq", "to": "customer.plan"}
    Customer.objects.filter(id=ada.id).update(attributes={"plan": "pro"})
    waits = [
        {"id": "a", "type": "wait_for_event", "event": "go", "timeout": "P3D", "onTimeout": None},
        {"id": "b", "type": "wait_for_event", "event": "go", "where": own, "timeout": "P3D", "onTimeout": None},
        {"id": "c", "type": "wait_for_event", "event": "now", "timeout": "P3D", "onTimeout": None},
        {**THANK, "id": "note"},
        {"id": "d", "type": "wait_for_event", "event": "go", "timeout": "P3D", "onTimeout": None},
    ]
    enrollment = inside(server, ada, [{"event": "left"}], waits)
    events = [{**ORDERED, "eventName": name, "eventProperties": {"plan": "pro"}} for name in names.split()]
    told = [move["stepId"] for one in tried(server, *events) for move in one["moves"]]
    report_many(server, acme, events)
    let_workers_walk()
    went_on = [step for step, state in history(enrollment) if state == "done" and step != "note"]
    assert told == ([] if "left" in names else went_on)


def test_it_says_what_then_happens_and_writes_nothing(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme, max_entries_per_customer=2)
    event_journey(acme, event_where=BIG)
    events = [{**ORDERED, "eventProperties": {"total": total}} for total in (1, 100, 200)]
    tried(server, *events)  # notes when the key was used, which every call does
    before = everything()
    with CaptureQueriesContext(connection) as queries:
        said = tried(server, *events)
    assert everything() == before
    assert not [q["sql"] for q in queries.captured_queries if not q["sql"].lstrip().startswith(("SELECT", "WITH"))]
    assert [[len(one["starts"]), len(one["not"])] for one in said] == [[1, 1], [2, 0], [0, 2]]
    assert {one["reason"] for one in said[2]["not"]} == {"max_entries_reached", "already_enrolled"}
    report_many(server, acme, events)
    let_workers_decide()
    assert sorted(results()) == ["already_enrolled", *["enrolled"] * 3, "max_entries_reached"]


def test_one_that_is_refused_leaves_the_others(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    event_journey(acme)
    fine, unknown, bad = tried(server, ORDERED, {**ORDERED, "external_id": "nobody"}, {"external_id": "ada", "x": 1})
    assert (fine["status"], len(fine["starts"]), fine["external_id"]) == ("tried", 1, "ada")
    assert [one["code"] for one in (unknown, bad)] == ["customer_not_found", "missing_required_parameter"]
    assert bad["unknownFields"] == ["x"]
    refused(dry_run(server, {**ORDERED, "external_id": "nobody"}), status=404, error="Customer not found")
    assert data(dry_run(server, {"events": []}), status=200)["events"] == []


def test_a_hundred_events_cost_as_many_statements_as_one(
    acme: Workspace, server: ServerClient, django_assert_num_queries: Any
) -> None:
    event_journey(acme, entry_conditions=PRO)
    names = crowd(acme, 100)
    JourneyFactory.create(workspace=acme, steps=[WAIT, THANK])
    events = [{**ORDERED, "external_id": name} for name in names]
    tried(server, *events)
    for some in (events[:2], events):
        # key, customers, whom they end or move, what they start, their jobs, journeys, conditions, and why these fail
        with django_assert_num_queries(8):
            assert {one["not"][0]["reason"] for one in tried(server, *some)} == {"conditions_not_met"}


def test_a_key_needs_to_read_customers_and_is_told_of_its_journeys(
    acme: Workspace, rival: Workspace, ada: Customer
) -> None:
    own, other = event_journey(acme), event_journey(acme)
    event_journey(rival)
    CustomerFactory.create(workspace=rival, external_id="ada")
    blind = ServerClient(ApiKeyFactory.create(workspace=acme, scopes=["events"]))
    refused(dry_run(blind, ORDERED), status=403, error="Scope missing")
    scopes = ["events", "customers:read"]
    for journeys, told in ((None, {own.id, other.id}), ([own.id], {own.id})):
        server = ServerClient(ApiKeyFactory.create(workspace=acme, scopes=scopes, journeys=journeys))
        assert {one["journeyId"] for one in tried(server, ORDERED)[0]["starts"]} == told


@each("path", ["events?dryRun=yes", "events?dryrun=true"])
def test_another_spelling_records_nothing(acme: Workspace, server: ServerClient, ada: Customer, path: str) -> None:
    event_journey(acme)
    refused(server.post(customers_path(acme, path), ORDERED), status=400, error="Invalid request")
    assert not EnrollmentJob.objects.exists()
