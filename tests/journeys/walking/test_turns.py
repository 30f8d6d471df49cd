"""Workspaces take turns at being walked, crowds apart from the others: nobody waits for somebody else's crowd."""

import pytest
from django.db import connection

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.walking import claims as turns
from journeys.engine.walking import walk_due
from journeys.engine.walking.claims import Batch, claim_in_turn, claim_longest_due, claim_tried
from journeys.models import CHUNK_SIZE, Enrollment, Journey, JourneyRevision
from tests.support.calls import customers_path, data, let_workers_decide, trigger
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import DAY, JourneyFactory, crowd
from tests.support.plans import note_statistics, rows_gone_through

pytestmark = [pytest.mark.django_db, pytest.mark.journey(steps=[DAY])]


@pytest.fixture(autouse=True)
def _nobody_was_served(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "_last", {})


@pytest.fixture
def rivals_journey(rival: Workspace) -> Journey:
    return JourneyFactory.create(workspace=rival, steps=[DAY])


def inside(journey: Journey, number: int, *, is_crowd: bool = False, seconds_late: float = 0) -> None:
    """So many new customers who are due in the journey."""
    with connection.cursor() as cursor:
        cursor.execute(
            """
            WITH customer AS (
                INSERT INTO customers_customer (id, workspace_id, attributes)
                SELECT left(md5(random()::text || n), 24), %(workspace)s, '{}' FROM generate_series(1, %(number)s) n
                RETURNING id
            ), trigger AS (
                INSERT INTO journeys_trigger
                    (id, workspace_id, journey_id, form, payload, customers, request_id, queued_at)
                VALUES (left(md5(random()::text), 24), %(workspace)s, %(journey)s, 'bulk', '{}', %(number)s, '', now())
                RETURNING id
            ), job AS (
                INSERT INTO journeys_enrollmentjob (workspace_id, journey_id, customer_id, trigger_id, ordinal,
                    queued_ms, status, result, reason)
                SELECT %(workspace)s, %(journey)s, customer.id, trigger.id, row_number() OVER () - 1, 1, 'decided',
                    'enrolled', '' FROM customer, trigger
                RETURNING id, customer_id
            )
            INSERT INTO journeys_enrollment (id, workspace_id, journey_id, customer_id, revision_id, job_id, state,
                exit_reason, step_id, due_at, attempts, entered_at, crowd)
            SELECT customer_id, %(workspace)s, %(journey)s, customer_id, %(revision)s, id, 'active', '', 'day',
                   now() - %(late)s * interval '1 second', 0, now(), %(crowd)s FROM job
            """,
            {
                "workspace": journey.workspace_id,
                "journey": journey.id,
                "revision": JourneyRevision.objects.get(journey=journey).pk,
                "number": number,
                "late": seconds_late,
                "crowd": is_crowd,
            },
        )


def owners(batch: Batch) -> list[str]:
    found = Enrollment.objects.in_bulk([one.id for one in batch.enrollments])
    return [found[one.id].workspace_id for one in batch.enrollments]


def test_if_all_that_is_due_fits_into_a_batch_it_is_taken_together(journey: Journey, rivals_journey: Journey) -> None:
    inside(journey, 3, is_crowd=True)
    inside(rivals_journey, 2)
    batch = claim_longest_due()
    assert len(batch.enrollments) == 5
    assert not batch.others_wait


def test_where_more_is_due_each_workspace_gets_an_equal_share(journey: Journey, rivals_journey: Journey) -> None:
    inside(journey, 2 * turns.BATCH, seconds_late=60)
    inside(rivals_journey, 1)
    first = claim_longest_due()
    assert set(owners(first)) == {journey.workspace_id}
    assert first.others_wait
    second = claim_in_turn()
    assert owners(second).count(rivals_journey.workspace_id) == 1
    assert owners(second).count(journey.workspace_id) == turns.BATCH / 2


def test_a_crowd_lets_others_of_its_own_workspace_go_first(journey: Journey) -> None:
    inside(journey, 2 * turns.BATCH, is_crowd=True, seconds_late=60)
    inside(journey, 1)
    assert claim_longest_due().others_wait
    batches = [[one.id for one in claim_in_turn().enrollments] for _ in range(2)]
    assert [[Enrollment.objects.get(id=one).crowd for one in batch[:1]] for batch in batches] == [[False], [True]]
    assert [len(batch) for batch in batches] == [1, turns.BATCH]
    assert not claim_in_turn().others_wait


def test_a_walker_with_a_backlog_walks_all(journey: Journey, rivals_journey: Journey) -> None:
    for number, is_crowd in ((turns.BATCH + 10, True), (20, False)):
        inside(journey, number, is_crowd=is_crowd, seconds_late=60)
    inside(rivals_journey, 1)
    JourneyRevision.objects.update(steps=[{**DAY, "for": "PT0S"}])
    assert walk_due(seconds=60).moved == turns.BATCH + 31
    assert set(Enrollment.objects.values_list("state", flat=True)) == {"completed"}


def test_many_workspaces_are_served_round_and_round(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "BATCH", 4)
    for n in range(10):
        inside(JourneyFactory.create(workspace__key=f"tenant-{n}", steps=[DAY]), 10)
    served = [owners(claim_in_turn()) for _ in range(5)]
    assert [len(set(batch)) for batch in served] == [4, 4, 2, 4, 4]
    assert len({owner for batch in served[:3] for owner in batch}) == 10


def test_a_batch_is_walked_in_turn(journey: Journey, rivals_journey: Journey) -> None:
    inside(journey, 20, seconds_late=60)
    inside(rivals_journey, 2)
    order = owners(claim_longest_due())
    assert {order[0], order[1]} == {order[2], order[3]} == {journey.workspace_id, rivals_journey.workspace_id}


def test_slow_journeys_of_one_tenant_do_not_keep_another_out(
    journey: Journey, rivals_journey: Journey, monkeypatch: pytest.MonkeyPatch
) -> None:
    """There is time for a single enrollment in each batch."""
    monkeypatch.setattr("journeys.engine.walking.loop._BATCH_SECONDS", 0.0)
    inside(journey, 100, seconds_late=60)
    inside(rivals_journey, 1)
    batches = 0
    while Enrollment.objects.filter(journey=rivals_journey, step_began_at=None).exists():
        assert walk_due(seconds=0).moved == 1
        batches += 1
    assert batches < 40  # one out of two, by chance


def test_whom_a_batch_did_not_reach_is_due_since_when_it_was(journey: Journey, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("journeys.engine.walking.loop._BATCH_SECONDS", 0.0)
    inside(journey, 5, seconds_late=3600)
    (before,) = set(Enrollment.objects.values_list("due_at", flat=True))
    assert walk_due(seconds=0).moved == 1
    left = Enrollment.objects.filter(step_began_at=None)
    assert list(left.values_list("due_at", "attempts")) == [(before, 0)] * 4


def test_what_was_tried_before_has_turns_as_well(journey: Journey, rivals_journey: Journey) -> None:
    inside(journey, 50, seconds_late=60)
    inside(rivals_journey, 1)
    Enrollment.objects.update(attempts=1)
    taken = [claim_tried() for _ in range(3)]
    assert [len(one) for one in taken] == [1, 1, 1]
    assert {Enrollment.objects.get(id=one.id).workspace_id for (one,) in taken[:2]} == {
        journey.workspace_id,
        rivals_journey.workspace_id,
    }


def test_a_claim_leaves_all_indexes_alone(journey: Journey) -> None:
    def updated_in_no_index() -> int:
        with connection.cursor() as cursor:
            cursor.execute("SELECT pg_stat_get_xact_tuples_hot_updated('journeys_enrollment'::regclass)")
            return int(cursor.fetchone()[0])

    inside(journey, turns.BATCH)
    before = updated_in_no_index()
    assert len(claim_longest_due().enrollments) == turns.BATCH
    assert updated_in_no_index() - before == turns.BATCH


@pytest.mark.slow
@pytest.mark.parametrize("noted", ["when all was done", "when nobody was due", "when all were due"])
@pytest.mark.parametrize("joins", ["hashing", "comparing"])
def test_a_claim_reads_no_more_than_it_takes(journey: Journey, rivals_journey: Journey, noted: str, joins: str) -> None:
    large, tenants = 5 * turns.BATCH, 300
    with connection.cursor() as cursor:
        if joins == "comparing":
            cursor.execute("SET LOCAL enable_hashjoin = off")
            cursor.execute("SET LOCAL enable_mergejoin = off")
        inside(journey, 300, seconds_late=-3600)
        note_statistics("journeys_enrollment")
        if noted == "when all was done":
            cursor.execute("DELETE FROM journeys_enrollment")
            note_statistics("journeys_enrollment")
            cursor.execute("SELECT reltuples, relpages > 0 FROM pg_class WHERE relname = 'journeys_enrollment'")
            assert cursor.fetchone() == (0, True)
        inside(journey, large, is_crowd=True, seconds_late=60)
        inside(journey, large, seconds_late=-3600)
        for n in range(tenants):
            inside(JourneyFactory.create(workspace__key=f"tenant-{n}", steps=[DAY]), 1)
        inside(rivals_journey, 1)
        if noted == "when all were due":
            note_statistics("journeys_enrollment")
    with rows_gone_through() as seen:
        assert claim_longest_due().others_wait
        assert rivals_journey.workspace_id in owners(claim_in_turn())
        assert set(owners(claim_in_turn())) == {journey.workspace_id}
        assert claim_tried() == []
    assert max(rows for sql, rows in seen.items() if "attempts + 1" in sql) < 40 * turns.BATCH


# Who enters in a crowd -----------------------------------------------------------------------------------------------


@each("number, is_crowd", [(CHUNK_SIZE, False), (CHUNK_SIZE + 1, True)])
def test_a_call_for_more_than_a_chunk_makes_a_crowd(
    server: ServerClient, journey: Journey, number: int, is_crowd: bool
) -> None:
    data(trigger(server, journey, {"external_ids": crowd(journey.workspace, number)}))
    let_workers_decide()
    assert list(Enrollment.objects.values_list("crowd", flat=True)) == [is_crowd] * number


@each("number, is_crowd", [(10, False), (11, True)])
def test_many_events_at_once_make_a_crowd(server: ServerClient, acme: Workspace, number: int, is_crowd: bool) -> None:
    JourneyFactory.create(workspace=acme, trigger_type="event", event_name="ordered", steps=[DAY])
    events = [{"external_id": name, "eventName": "ordered"} for name in crowd(acme, number)]
    data(server.post(customers_path(acme, "events"), {"events": events}))
    let_workers_decide()
    assert list(Enrollment.objects.values_list("crowd", flat=True)) == [is_crowd] * number


def test_a_single_trigger_makes_no_crowd(server: ServerClient, journey: Journey, ada: Customer) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    let_workers_decide()
    assert not Enrollment.objects.get().crowd
