"""Enrollments go from step to step, in sets, and leave a history."""

import tracemalloc
from datetime import timedelta
from typing import Any

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from structlog.testing import capture_logs

from customers.models import Customer, Event
from engage.models import Workspace
from journeys.engine.walking import walk_due
from journeys.engine.walking.claims import claim_longest_due
from journeys.models import Enrollment, JourneyRevision, StepRun, WebhookDelivery
from journeys.rules.failures import MAX_ATTEMPTS
from journeys.steps.definition import STEP_TYPES
from tests.journeys.events.reporting import report
from tests.journeys.walking.stories import enter, history, walked
from tests.support.calls import data, let_workers_decide, let_workers_walk, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import DAY, CustomerFactory, JourneyFactory, crowd

PROFILE = {"id": "note", "type": "update_profile", "attributes": {"plan": "{{ api.payload.plan }}"}}
TRACK = {"id": "tell", "type": "track_event", "eventName": "noted", "eventProperties": {"plan": "{{ customer.plan }}"}}


def test_steps_without_a_wait_are_walked_at_once_to_the_end(server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [PROFILE, TRACK], plan="pro")
    assert (enrollment.state, enrollment.due_at) == ("completed", None)
    assert enrollment.ended_at is not None
    assert history(enrollment) == [("note", "done"), ("tell", "done")]


def test_what_a_step_writes_the_next_one_reads(server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [PROFILE, TRACK], plan="pro")
    assert Customer.objects.get(id=enrollment.customer_id).attributes == {"plan": "pro"}
    event = Event.objects.get(customer_id=enrollment.customer_id)
    assert (event.name, event.properties, event.source, event.chain) == ("noted", {"plan": "pro"}, "journey", 1)
    assert StepRun.objects.get(step_id="tell").event_id == event.id


def test_a_time_zone_that_is_known_no_more_makes_no_revision_unreadable(server: ServerClient, acme: Workspace) -> None:
    early = {"id": "early", "type": "delay", "until": "09:00", "timezone": "Europe/Atlantis"}
    journey = JourneyFactory.create(workspace=acme, steps=[early, PROFILE], steps__exit_on=[{"event": "left"}])
    stays, leaves = (enter(server, journey, CustomerFactory.create(workspace=acme)) for _ in range(2))
    let_workers_walk()
    report(server, leaves.customer, "left")
    time_passes(days=1)
    let_workers_walk()
    assert history(stays) == [("early", "done"), ("note", "done")]
    assert history(leaves) == [("early", "interrupted")]


def test_each_webhook_step_ends_with_its_own_result(server: ServerClient, acme: Workspace) -> None:
    hook = {"type": "webhook", "url": "https://shop.example/"}
    enrollment = walked(server, acme, [{**hook, "id": "one"}, {**hook, "id": "other"}])
    for ordinal, state in enumerate(("delivered", "failed")):
        WebhookDelivery.objects.filter(ordinal=ordinal).update(state=state)
        Enrollment.objects.update(due_at="2020-01-01T00:00Z")
        let_workers_walk()
    assert history(enrollment) == [("one", "done"), ("other", "failed")]


def test_who_has_waited_longest_is_walked_first(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    entered = [enter(server, journey, CustomerFactory.create(workspace=acme)) for _ in range(3)]
    order = [entered[n] for n in (1, 2, 0)]
    for year, enrollment in reversed(list(enumerate(order, start=2020))):
        Enrollment.objects.filter(id=enrollment.id).update(due_at=f"{year}-01-01T00:00Z")
    monkeypatch.setattr("journeys.engine.walking.claims.BATCH", 1)
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL enable_indexscan = off")  # whose order is this one, whatever is asked for
    assert [claim_longest_due().enrollments[0].id for _ in order] == [enrollment.id for enrollment in order]


def test_a_walker_whose_time_is_up_tells_that_others_are_due(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    for _ in range(2):
        enter(server, journey, CustomerFactory.create(workspace=acme))
    monkeypatch.setattr("journeys.engine.walking.claims.BATCH", 1)
    rounds = [walk_due(seconds=seconds) for seconds in (0, 60)]
    assert [(one.moved, one.unfinished) for one in rounds] == [(1, True), (1, False)]


def test_a_delay_waits_in_the_database_and_goes_on_when_it_is_due(server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [DAY, PROFILE], plan="pro")
    assert (enrollment.state, enrollment.step_id, history(enrollment)) == ("active", "day", [("day", "waiting")])
    assert enrollment.due_at is not None
    assert enrollment.step_began_at is not None
    assert enrollment.due_at - enrollment.step_began_at == timedelta(days=1)
    time_passes(hours=23)
    let_workers_walk()
    assert history(enrollment) == [("day", "waiting")]
    time_passes(hours=1)
    let_workers_walk()
    assert history(enrollment) == [("day", "done"), ("note", "done")]
    assert Enrollment.objects.get().state == "completed"


def test_a_wait_that_is_over_ends_no_other_ones(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY, {**DAY, "id": "second"}])
    ada, grace = [CustomerFactory.create(workspace=acme) for _ in range(2)]
    first = enter(server, journey, ada)
    let_workers_walk()
    time_passes(hours=13)
    second = enter(server, journey, grace)
    let_workers_walk()
    time_passes(hours=12)
    let_workers_walk()
    assert history(first) == [("day", "done"), ("second", "waiting")]
    assert history(second) == [("day", "waiting")]
    assert StepRun.objects.get(enrollment=second).ended_at is None


def test_who_is_inside_walks_on_with_the_revision_of_their_entry(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY, PROFILE])
    enrollment = enter(server, journey, CustomerFactory.create(workspace=acme), plan="pro")
    let_workers_walk()
    JourneyRevision.objects.create(workspace=acme, journey=journey, number=2, steps=[TRACK])
    journey.revision = 2
    journey.save()
    later = enter(server, journey, CustomerFactory.create(workspace=acme), plan="pro")
    time_passes(days=1)
    let_workers_walk()
    assert history(enrollment) == [("day", "done"), ("note", "done")]
    assert history(later) == [("tell", "done")]


def test_a_missing_value_is_empty_and_the_history_notes_it(server: ServerClient, acme: Workspace) -> None:
    enrollment = walked(server, acme, [PROFILE])
    assert StepRun.objects.get(enrollment=enrollment).missing == ["api.payload.plan"]
    assert Customer.objects.get().attributes == {"plan": ""}


def test_a_batch_gives_its_customers_free_after_a_while_and_the_rest_is_walked_next(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("journeys.engine.walking.loop._BATCH_SECONDS", 0.0)
    elsewhere = walked(server, acme, [DAY])
    Enrollment.objects.update(attempts=1)  # as if it were claimed, too
    before = Enrollment.objects.values().get()
    journey = JourneyFactory.create(workspace=acme, steps=[PROFILE])
    data(trigger(server, journey, {"external_ids": crowd(acme, 5)}))
    let_workers_decide()
    with CaptureQueriesContext(connection) as captured:
        let_workers_walk()
    claims = [query for query in captured if "interval '5 seconds'" in query["sql"]]
    assert len(claims) > 5
    assert StepRun.objects.filter(state="done").count() == 5
    walked_on = Enrollment.objects.filter(journey=journey)
    assert list(walked_on.values_list("state", "attempts").distinct()) == [("completed", 0)]
    assert Enrollment.objects.values().get(id=elsewhere.id) == before


@pytest.mark.parametrize(
    ("step", "statement"),
    [
        (
            {"type": "webhook", "url": "https://shop.example/", "body": {"text": "x" * 600}},
            "INSERT INTO journeys_webhookdelivery",
        ),
        (
            {"type": "track_event", "eventName": "told", "eventProperties": {"text": "x" * 600}},
            "INSERT INTO customers_event",
        ),
        ({"type": "update_profile", "attributes": {"text": "x" * 600}}, "UPDATE customers_customer"),
    ],
)
def test_a_batch_also_ends_where_much_is_to_be_written(
    server: ServerClient, acme: Workspace, monkeypatch: pytest.MonkeyPatch, step: dict[str, Any], statement: str
) -> None:
    monkeypatch.setattr("journeys.engine.walking.loop._BATCH_LENGTH", 1_000)
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "tell", **step}])
    data(trigger(server, journey, {"external_ids": crowd(acme, 6)}))
    let_workers_decide()
    with CaptureQueriesContext(connection) as captured:
        let_workers_walk()
    assert sum(statement in query["sql"] for query in captured) == 3
    assert StepRun.objects.exclude(state="failed").count() == 6


def test_one_that_was_tried_before_is_claimed_when_its_turn_has_come(server: ServerClient, acme: Workspace) -> None:
    """A claim lasts for some seconds, and a batch that is walked before may take longer."""
    journey = JourneyFactory.create(workspace=acme, steps=[PROFILE])
    tried, _ = [enter(server, journey, CustomerFactory.create(workspace=acme), plan="pro") for _ in range(2)]
    Enrollment.objects.filter(id=tried.id).update(attempts=1)
    with CaptureQueriesContext(connection) as captured:
        walk_due(seconds=0)
    marks = {"AND attempts = 0 AND": "fresh", "AND attempts > 0 AND": "tried", "state = stop.state": "walked"}
    order = [what for query in captured for mark, what in marks.items() if mark in query["sql"].replace("\n", " ")]
    assert order == ["fresh", "walked", "tried", "walked", "tried"]


def test_a_step_that_cannot_be_rendered_fails_alone(server: ServerClient, acme: Workspace) -> None:
    bomb = {"id": "bomb", "type": "update_profile", "attributes": {
        "x": "{% for a in (1..100000) %}{% for b in (1..100000) %}x{% endfor %}{% endfor %}"}}  # fmt: skip
    enrollment = walked(server, acme, [bomb, PROFILE], plan="pro")
    assert history(enrollment) == [("bomb", "failed"), ("note", "done")]
    assert StepRun.objects.get(step_id="bomb").detail
    assert Customer.objects.get().attributes == {"plan": "pro"}


@pytest.mark.slow
def test_a_batch_of_five_hundred_costs_as_many_statements_as_one(server: ServerClient, acme: Workspace) -> None:
    crowd(acme, 502)
    journey = JourneyFactory.create(workspace=acme, steps=[PROFILE, TRACK, DAY])
    counts = []
    for names in (["user-501"], ["user-0"], [f"user-{n}" for n in range(1, 501)]):
        data(trigger(server, journey, {"external_ids": names, "payload": {"plan": "pro"}}))
        let_workers_decide()
        with CaptureQueriesContext(connection) as queries:
            assert walk_due(seconds=60).moved == len(names)
        counts.append(len(queries))
    assert counts == [18, 17, 17]  # the first reads the revision, which a process keeps


@pytest.mark.slow
def test_a_batch_of_twenty_journeys_costs_as_many_statements_as_of_one(server: ServerClient, acme: Workspace) -> None:
    counts = []
    for number in (1, 20):
        for _ in range(number):
            journey = JourneyFactory.create(workspace=acme, steps=[PROFILE, DAY])
            enter(server, journey, CustomerFactory.create(workspace=acme), plan="pro")
        with CaptureQueriesContext(connection) as queries:
            assert walk_due(seconds=60).moved == number
        counts.append(len(queries))
    assert counts[0] == counts[1]


def test_two_enrollments_of_one_customer_are_both_walked(server: ServerClient, acme: Workspace) -> None:
    ada = CustomerFactory.create(workspace=acme)
    journeys = [JourneyFactory.create(workspace=acme, steps=[PROFILE, DAY]) for _ in range(2)]
    for journey in journeys:
        enter(server, journey, ada, plan="pro")
    let_workers_walk()
    assert [one.step_id for one in Enrollment.objects.all()] == ["day", "day"]


@each("number", [1, 3])
def test_a_step_that_raises_is_given_up_after_five_attempts(server: ServerClient, acme: Workspace, number: int) -> None:
    """A revision that no code could have saved stands for a step that raises."""
    good = JourneyFactory.create(workspace=acme, steps=[PROFILE])
    bad = JourneyFactory.create(workspace=acme, steps=[DAY])
    neighbours = [enter(server, good, CustomerFactory.create(workspace=acme), plan="pro") for _ in range(number)]
    poisoned = enter(server, bad, CustomerFactory.create(workspace=acme))
    Enrollment.objects.filter(id=poisoned.id).update(step_id="gone")
    for _ in range(6):
        let_workers_walk()
        time_passes(seconds=20)
    poisoned.refresh_from_db()
    assert poisoned.state == "exited"
    assert poisoned.exit_reason.startswith("Given up after 5 attempts: KeyError")
    assert [run.detail for run in StepRun.objects.filter(enrollment=poisoned)] == [poisoned.exit_reason]
    assert {history(neighbour)[0] for neighbour in neighbours} == {("note", "done")}


def test_who_is_at_steps_of_the_next_version_waits_for_its_processes(server: ServerClient, acme: Workspace) -> None:
    """While an upgrade replaces one process after the other, and after it was taken back."""
    known, of_the_next = JourneyFactory.create(workspace=acme, steps=[PROFILE]), [{"id": "fly", "type": "fly"}]
    journey = JourneyFactory.create(workspace=acme, steps=[PROFILE, *of_the_next])
    other = enter(server, known, CustomerFactory.create(workspace=acme), plan="pro")
    waiting = [enter(server, journey, CustomerFactory.create(workspace=acme), plan="pro") for _ in range(2)]
    for _ in range(MAX_ATTEMPTS + 1):
        with capture_logs() as lines:
            let_workers_walk()
        (line,) = [line for line in lines if line["event"] == "steps_unknown"]  # for all of them
        assert line["error"] == f"steps[1].type must be one of {', '.join(STEP_TYPES)}, not 'fly'."
        time_passes(seconds=20)
    assert history(other) == [("note", "done")]
    assert [history(one) for one in waiting] == [[], []]
    assert {one.attempts for one in Enrollment.objects.filter(journey=journey)} == {0}
    JourneyRevision.objects.filter(journey=journey).update(steps=[PROFILE])  # stands for a version that knows the type
    let_workers_walk()
    assert [history(one) for one in waiting] == [[("note", "done")], [("note", "done")]]


def test_a_step_that_raises_is_tried_ever_later(server: ServerClient, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[DAY])
    poisoned, other = [enter(server, journey, CustomerFactory.create(workspace=acme)) for _ in range(2)]
    let_workers_walk()
    Enrollment.objects.filter(id=poisoned.id).update(step_id="gone")
    waits = []
    for number in range(1, MAX_ATTEMPTS):
        Enrollment.objects.filter(id=poisoned.id).update(due_at="2020-01-01T00:00Z")
        Enrollment.objects.filter(id=other.id).update(attempts=number)  # like the failing one's
        before = Enrollment.objects.values().get(id=other.id)
        walk_due(seconds=0)
        with connection.cursor() as cursor:
            cursor.execute(
                "SELECT attempts, extract(epoch FROM due_at - now())::int FROM journeys_enrollment WHERE id = %s",
                [poisoned.id],
            )
            waits.append(cursor.fetchone())
        assert Enrollment.objects.values().get(id=other.id) == before
    assert waits == [(1, 1), (2, 2), (3, 4), (4, 8)]
    Enrollment.objects.filter(id=poisoned.id).update(due_at="2020-01-01T00:00Z")
    with capture_logs() as lines:
        walk_due(seconds=0)
    assert [line["event"] for line in lines] == ["enrollment_failed", "enrollment_given_up", "enrollments_walked"]
    assert Enrollment.objects.get(id=poisoned.id).state == "exited"  # at once, after the fifth
    assert history(poisoned) == [("day", "failed")]


@pytest.mark.slow
@each("condition", ["disk_full", "insufficient_privilege"])
def test_nobody_is_given_up_for_what_may_befall_any(server: ServerClient, acme: Workspace, condition: str) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=[PROFILE])
    spoiled, *others = [enter(server, journey, CustomerFactory.create(workspace=acme), plan="pro") for _ in range(4)]
    with connection.cursor() as cursor:
        cursor.execute(
            "CREATE FUNCTION refuse() RETURNS trigger LANGUAGE plpgsql AS "
            f"$$ BEGIN RAISE EXCEPTION 'no room' USING ERRCODE = '{condition}'; END $$"
        )
        cursor.execute(
            "CREATE TRIGGER refuse BEFORE INSERT ON journeys_steprun FOR EACH ROW "
            f"WHEN (NEW.enrollment_id = '{spoiled.id}') EXECUTE FUNCTION refuse()"
        )
    with capture_logs() as lines:
        for _ in range(2 * MAX_ATTEMPTS):
            walk_due(seconds=0)
            Enrollment.objects.filter(state="active").update(due_at="2020-01-01T00:00Z")
    put_off = [line for line in lines if line.get("enrollment_id") == spoiled.id]
    assert [line["event"] for line in lines if line.get("exc_info")] == ["walk_failed"]  # the batch, and no trace more
    assert {line["event"] for line in put_off} == {"enrollment_snoozed"}
    assert len(put_off) > MAX_ATTEMPTS
    assert [history(other) for other in others] == [[("note", "done")]] * 3
    spoiled.refresh_from_db()
    assert (spoiled.state, spoiled.attempts, "no room" in spoiled.error) == ("active", 1, True)
    walk_due(seconds=0)
    spoiled.refresh_from_db()
    assert spoiled.due_at is not None
    assert spoiled.due_at > timezone.now()  # nobody runs against it without a pause
    with connection.cursor() as cursor:
        cursor.execute("DROP TRIGGER refuse ON journeys_steprun")
    Enrollment.objects.filter(state="active").update(due_at="2020-01-01T00:00Z")
    let_workers_walk()
    assert history(spoiled) == [("note", "done")]


@pytest.mark.slow
def test_large_profiles_are_in_memory_one_after_the_other(server: ServerClient, acme: Workspace) -> None:
    """As objects, those of a whole batch of 500 could be gigabytes."""
    journey = JourneyFactory.create(workspace=acme, steps=[DAY, PROFILE])
    names = [f"large-{number}" for number in range(20)]
    for name in names:
        CustomerFactory.create(workspace=acme, external_id=name, attributes={"all": [{}] * 15_000})
    data(trigger(server, journey, {"external_ids": names, "payload": {"plan": "pro"}}))
    let_workers_walk()
    time_passes(days=1)
    tracemalloc.start()
    try:
        assert walk_due(seconds=60).moved == len(names)
        _, most = tracemalloc.get_traced_memory()
    finally:
        tracemalloc.stop()
    assert most < 10_000_000  # bytes: all as texts take a quarter of it, all as objects more than twice as many
