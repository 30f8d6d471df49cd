"""The planner's statistics are of a moment when nobody waited, was due or was there. Work goes on in sets all the same.

What is bounded here are the rows that a statement goes through. A batch that compared each of its own with each that
waits would go through 80,000, and one that read all who are inside far more than the bound, too.

If a table seems to have one row, comparing each with each costs as much as hashing: which of the two is done depends on
the index's pages. So each test also runs without hashes, and then compares wherever a statement leaves the choice.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from datetime import timedelta

import pytest
from django.db import connection
from django.utils import timezone

from engage.models import Workspace
from journeys.engine.enrollments.postponing import FailedAttempt, release, retry
from journeys.engine.entering.chunks import claim_chunk
from journeys.engine.walking.claims import claim_longest_due
from journeys.engine.webhooks.circuits import Attempted, note_attempts
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.outcomes import Outcome
from journeys.engine.webhooks.results import AttemptResult, write_results
from journeys.engine.webhooks.schedule import DeliveryVerdict, NextState
from journeys.models import Chunk, Enrollment, Journey, WebhookCircuit, WebhookDelivery, WebhookHost
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.clock import time_passes
from tests.support.factories import JourneyFactory, crowd
from tests.support.plans import note_statistics, rows_gone_through

STEPS = [
    {"id": "day", "type": "delay", "for": "P1D"},
    {"id": "note", "type": "update_profile", "attributes": {"plan": "{{ api.payload.plan }}"}},
    {"id": "tell", "type": "track_event", "eventName": "noted"},
    {"id": "wait", "type": "wait_for_event", "event": "bought", "timeout": "P9D"},
    {"id": "then", "type": "wait_for_event", "event": "paid", "timeout": "P9D"},
    {"id": "hook", "type": "webhook", "url": "https://receiver.example/"},
]
FORMER, NUMBER, CALL = 200, 400, 200
MOST_ROWS = 100 * CALL  # a plan that compares each with each goes through four times as many


@pytest.fixture(autouse=True, params=["hashing", "comparing"])
def _joins(db: None, request: pytest.FixtureRequest) -> None:
    """With tables and indexes of no page: what earlier tests have left would cost a scan, and count in a plan."""
    with connection.cursor() as cursor:
        cursor.execute("SET LOCAL session_replication_role = replica")  # the audit may not be emptied otherwise
        cursor.execute("TRUNCATE engage_workspace, journeys_webhookhost CASCADE")
        cursor.execute("SET LOCAL session_replication_role = origin")
        if request.param == "comparing":
            cursor.execute("SET LOCAL enable_hashjoin = off")
            cursor.execute("SET LOCAL enable_mergejoin = off")


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
    report(server, acme, "paid", former)
    let_workers_walk()
    report(server, acme, "left", former)
    let_workers_decide()
    assert not Enrollment.objects.filter(state="active").exists()
    assert not WebhookDelivery.objects.filter(state="waiting").exists()
    return journey


def call(server: ServerClient, journey: Journey, names: list[str]) -> None:
    """In calls of some hundred, decided and walked to the first wait."""
    queue(server, journey, names)
    let_workers_decide()
    let_workers_walk()


def queue(server: ServerClient, journey: Journey, names: list[str]) -> None:
    for start in range(0, len(names), CALL):
        data(trigger(server, journey, {"external_ids": names[start : start + CALL], "payload": {"plan": "pro"}}))


def report(server: ServerClient, workspace: Workspace, event: str, names: list[str]) -> None:
    events = [{"external_id": name, "eventName": event} for name in names]
    assert data(server.post(customers_path(workspace, "events"), {"events": events}))["recorded"] == len(names)


def a_day_passes() -> None:
    time_passes(days=1, minutes=1)
    let_workers_walk()


def walkers_fail_and_stop() -> None:
    """All who are due are put back and then held back, to be walked as if nothing had happened."""
    release(claim_longest_due().enrollments)
    claimed = claim_longest_due().enrollments
    assert len(claimed) == NUMBER
    retry([FailedAttempt(claimed=one, error="No luck.") for one in claimed])
    failed = Enrollment.objects.filter(error="No luck.", attempts=1, claimed_until=None)
    assert failed.update(attempts=0, due_at=timezone.now() - timedelta(minutes=1)) == NUMBER


def webhooks_are_answered() -> None:
    claimed = claim_due(HostSlots(2 * CALL))
    assert len(claimed) == CALL
    outcome, verdict = (
        Outcome(at=timezone.now(), milliseconds=1, status=200),
        DeliveryVerdict(next_state=NextState.DELIVERED),
    )
    results = [AttemptResult(claimed=one, outcome=outcome, verdict=verdict) for one in claimed]
    assert write_results(results, wait=False).next_states == {NextState.DELIVERED: CALL}


def erase_everybody() -> None:
    """The tables keep their pages and have no row: each index seems to lead to one, whoever comes."""
    with connection.cursor() as cursor:
        cursor.execute("DELETE FROM customers_customer")
        cursor.execute("DELETE FROM journeys_trigger")


def let_everybody_come_again(server: ServerClient, workspace: Workspace, journey: Journey, names: list[str]) -> None:
    """The statistics are of the moment between."""
    call(server, journey, names[:NUMBER])
    erase_everybody()
    note_statistics()
    crowd(workspace, len(names))


@contextmanager
def bounded(what: str, *, most: int = MOST_ROWS) -> Iterator[None]:
    """No statement of the block goes through more rows than a set of some hundred needs."""
    with rows_gone_through() as seen:
        yield
    assert seen, what
    sql, rows = max(seen.items(), key=lambda item: item[1])
    assert rows <= most, f"{what}: {rows:,} rows (a new index? see CONTRIBUTING.md, Migrations) by {sql}"


@pytest.mark.slow
@pytest.mark.parametrize("noted", ["before anybody entered", "before anybody was due", "when everybody was erased"])
def test_a_crowd_is_decided_walked_moved_and_ended_in_sets(
    server: ServerClient, acme: Workspace, journey: Journey, names: list[str], noted: str
) -> None:
    inside = names[:NUMBER]
    if noted == "when everybody was erased":
        let_everybody_come_again(server, acme, journey, names)
    else:
        note_statistics()
    with bounded("entering"):
        call(server, journey, inside)
    if noted == "before anybody was due":
        note_statistics()
    with bounded("being inside already"):
        call(server, journey, inside)
    time_passes(days=1, minutes=1)
    steps: list[tuple[str, Callable[[], None]]] = [
        ("failing", walkers_fail_and_stop),
        ("walking", let_workers_walk),
        ("being moved", lambda: report(server, acme, "bought", inside[:CALL])),
        ("doing more before a walker comes", lambda: report(server, acme, "paid", inside[:CALL])),
        ("entering by an event", let_workers_decide),
        ("walking through two waits to the webhook", let_workers_walk),
        ("sending", webhooks_are_answered),
        ("ending", lambda: report(server, acme, "left", inside[:CALL])),
    ]
    for what, step in steps:
        with bounded(what):
            step()
    assert Enrollment.objects.filter(state="active").count() == NUMBER - CALL
    queue(server, journey, inside[:CALL])
    with bounded("leaving before anybody has entered"):
        report(server, acme, "left", inside[:CALL])
        let_workers_decide()
    assert Enrollment.objects.filter(state="active").count() == NUMBER - CALL


@pytest.mark.slow
def test_a_crowd_is_changed_in_sets(server: ServerClient, acme: Workspace, journey: Journey, names: list[str]) -> None:
    let_everybody_come_again(server, acme, journey, names)
    changes = [{"external_id": name, "attributes": {"plan": "pro"}} for name in names[:NUMBER]]
    with bounded("changing profiles"):
        answer = data(server.post(customers_path(acme, "batch"), {"customers": changes}), status=200)
    assert answer["updated"] == NUMBER


@pytest.mark.slow
def test_one_chunk_is_claimed_by_key(server: ServerClient, acme: Workspace, journey: Journey, names: list[str]) -> None:
    let_everybody_come_again(server, acme, journey, names)
    report(server, acme, "bought", names[:NUMBER])
    assert Chunk.objects.count() == NUMBER
    chunk = Chunk.objects.order_by("id")[CALL]
    with bounded("claiming one chunk", most=10):
        assert len(claim_chunk(trigger_id=chunk.trigger_id, start=chunk.start)) == 1


def hosts_answer(workspace: Workspace, *, healthy: bool = False, probe: bool = False, times: int = 1) -> None:
    """Attempts at each of some hundred hosts."""
    hosts = [f"host-{n}.example" for n in range(NUMBER)]
    one = [
        Attempted(
            workspace_id=workspace.id, host=host, source="any", healthy=healthy, connected=False, probes_host=probe,
            probes_source=probe,
        )
        for host in hosts
    ]  # fmt: skip
    note_attempts(one * times)


@pytest.mark.slow
def test_many_hosts_fail_and_recover_in_sets(
    server: ServerClient, acme: Workspace, journey: Journey, names: list[str]
) -> None:
    hosts_answer(acme)
    WebhookHost.objects.all().delete()
    WebhookCircuit.objects.all().delete()
    note_statistics()
    with bounded("failing"):
        hosts_answer(acme, times=10)
    with bounded("failing again"):
        hosts_answer(acme, probe=True)
    assert WebhookHost.objects.exclude(open_until=None).count() == NUMBER
    call(server, journey, names[:CALL])
    a_day_passes()
    report(server, acme, "bought", names[:CALL])
    report(server, acme, "paid", names[:CALL])
    let_workers_walk()
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE journeys_webhookdelivery SET source = 'any', host = 'host-' || numbered.place || '.example' FROM "
            "(SELECT id, row_number() OVER () - 1 AS place FROM journeys_webhookdelivery WHERE state = 'waiting') "
            "AS numbered WHERE journeys_webhookdelivery.id = numbered.id"
        )
    time_passes(minutes=1)
    with bounded("probing", most=2 * MOST_ROWS):  # source by source
        claimed = claim_due(HostSlots(2 * CALL))
    assert [one.probe for one in claimed] == [True] * CALL
    with bounded("recovering"):
        hosts_answer(acme, healthy=True)
    assert not WebhookHost.objects.exists()
    assert not WebhookCircuit.objects.exists()
