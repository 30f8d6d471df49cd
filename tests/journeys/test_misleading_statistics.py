"""The planner's statistics are of a moment when nobody waited, was due or was there. Work goes on in sets all the same.

What is bounded here are the rows that a statement goes through. A batch that compared each of its own with each that
waits would go through 80,000, and one that read all who are inside far more than the bound, too.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import pytest
from django.db import connection
from django.utils import timezone

from engage.models import Workspace
from journeys.models import Enrollment, Journey, WebhookDelivery
from journeys.webhooks.claims import claim_due
from journeys.webhooks.outcomes import Outcome
from journeys.webhooks.results import Result, write_results
from journeys.webhooks.room import Room
from journeys.webhooks.schedule import DeliveryVerdict, NextState
from tests.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.clients import ServerClient
from tests.clock import time_passes
from tests.factories import JourneyFactory, crowd
from tests.plans import rows_gone_through

STEPS = [
    {"id": "day", "type": "delay", "for": "P1D"},
    {"id": "note", "type": "update_profile", "attributes": {"plan": "{{ api.payload.plan }}"}},
    {"id": "tell", "type": "track_event", "eventName": "noted"},
    {"id": "wait", "type": "wait_for_event", "event": "bought", "timeout": "P9D"},
    {"id": "hook", "type": "webhook", "url": "https://receiver.example/"},
]
FORMER, NUMBER, CALL = 200, 400, 200
MOST_ROWS = 100 * CALL  # a plan that compares each with each goes through four times as many


@pytest.fixture
def names(acme: Workspace) -> list[str]:
    return crowd(acme, FORMER + NUMBER)


@pytest.fixture
def journey(server: ServerClient, acme: Workspace, names: list[str]) -> Journey:
    """A journey that some have left, after all its steps; another that the event which moves them starts."""
    journey = JourneyFactory.create(workspace=acme, steps=STEPS, steps__exit_on=[{"event": "left"}])
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="bought", steps=[])
    former = names[NUMBER:]
    call(server, journey, former)
    a_day_passes()
    report(server, acme, "bought", former)
    let_workers_walk()
    report(server, acme, "left", former)
    let_workers_decide()
    assert not Enrollment.objects.filter(state="active").exists()
    assert not WebhookDelivery.objects.filter(state="waiting").exists()
    return journey


def call(server: ServerClient, journey: Journey, names: list[str]) -> None:
    """In calls of some hundred, decided and walked to the first wait."""
    for start in range(0, len(names), CALL):
        data(trigger(server, journey, {"external_ids": names[start : start + CALL], "payload": {"plan": "pro"}}))
    let_workers_decide()
    let_workers_walk()


def report(server: ServerClient, workspace: Workspace, event: str, names: list[str]) -> None:
    events = [{"external_id": name, "eventName": event} for name in names]
    assert data(server.post(customers_path(workspace, "events"), {"events": events}))["recorded"] == len(names)


def a_day_passes() -> None:
    time_passes(days=1, minutes=1)
    let_workers_walk()


def webhooks_are_answered() -> None:
    claimed = claim_due(Room(2 * CALL))
    assert len(claimed) == CALL
    outcome, verdict = (
        Outcome(at=timezone.now(), milliseconds=1, status=200),
        DeliveryVerdict(next_state=NextState.DELIVERED),
    )
    results = [Result(claimed=one, outcome=outcome, verdict=verdict) for one in claimed]
    assert write_results(results, wait=False).next_states == {NextState.DELIVERED: CALL}


def note_statistics() -> None:
    with connection.cursor() as cursor:
        cursor.execute("ANALYZE")


def erase_everybody() -> None:
    """The tables keep their pages and have no row: each index seems to lead to one, whoever comes."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM customers_customer")


@contextmanager
def bounded(what: str) -> Iterator[None]:
    """No statement of the block goes through more rows than a set of some hundred needs."""
    with rows_gone_through() as seen:
        yield
    assert len(seen) > 1, what
    sql, rows = max(seen.items(), key=lambda item: item[1])
    assert rows <= MOST_ROWS, f"{what}: {rows:,} rows (a new index? see CONTRIBUTING.md, Migrations) by {sql}"


@pytest.mark.parametrize("noted", ["before anybody entered", "before anybody was due", "when everybody was erased"])
def test_a_crowd_is_decided_walked_moved_and_ended_in_sets(
    server: ServerClient, acme: Workspace, journey: Journey, names: list[str], noted: str
) -> None:
    inside = names[:NUMBER]
    if noted == "when everybody was erased":
        call(server, journey, inside)
        erase_everybody()
        note_statistics()
        crowd(acme, len(names))
    else:
        note_statistics()
    with bounded("entering"):
        call(server, journey, inside)
    if noted == "before anybody was due":
        note_statistics()
    with bounded("being inside already"):
        call(server, journey, inside)
    steps: list[tuple[str, Callable[[], None]]] = [
        ("walking", a_day_passes),
        ("being moved", lambda: report(server, acme, "bought", inside[:CALL])),
        ("entering by an event", let_workers_decide),
        ("walking to the webhook", let_workers_walk),
        ("sending", webhooks_are_answered),
        ("ending", lambda: report(server, acme, "left", inside[:CALL])),
    ]
    for what, step in steps:
        with bounded(what):
            step()
    assert Enrollment.objects.filter(state="active").count() == NUMBER - CALL
