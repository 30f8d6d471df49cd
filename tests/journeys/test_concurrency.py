"""Many workers, identical and overlapping triggers, redelivered messages: never one entry more than the rules allow."""

from collections import Counter
from collections.abc import Callable, Iterable
from functools import partial

import pytest
from django.db import transaction

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.entering import entry_decisions
from journeys.engine.entering.chunks import claim_chunk
from journeys.engine.entering.claims import claim_next_chunks
from journeys.engine.entering.lanes import serve_lane
from journeys.engine.entering.settling import settle
from journeys.engine.entering.waiting_jobs import EnteredJourney, entered_journeys
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey
from tests.support.calls import data, serve_until_empty, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.simultaneous import (
    PATIENCE_SECONDS,
    all_at_once,
    done_with_customers_locked_in_order,
    elsewhere,
    made_to_wait,
)

pytestmark = pytest.mark.django_db(transaction=True)

NAMES = [f"person-{n}" for n in range(40)]
WAITING = [{"id": "wait", "type": "delay", "for": "P1D"}]


@pytest.fixture
def people(acme: Workspace) -> list[Customer]:
    return [CustomerFactory.create(workspace=acme, external_id=name) for name in NAMES]


def calls_and_workers(server: ServerClient, journey: Journey) -> list[Callable[[], None]]:
    """Identical, overlapping and single triggers, with four workers deciding meanwhile."""

    def call(body: dict[str, object]) -> None:
        data(trigger(server, journey, body))

    calls: list[Callable[[], None]] = [partial(call, {"external_ids": NAMES}) for _ in range(4)]
    calls += [partial(call, {"external_ids": NAMES[n:] + NAMES[:n]}) for n in (5, 15)]
    calls += [partial(call, {"external_id": NAMES[n % 3]}) for n in range(6)]
    return [*calls, *[serve_until_empty] * 4]


def entries(journey: Journey) -> Counter[str | None]:
    return Counter(Enrollment.objects.filter(journey=journey).values_list("customer__external_id", flat=True))


def test_one_entry_allowed_and_completing_at_once_is_one_entry(
    server: ServerClient, journey: Journey, people: list[Customer]
) -> None:
    all_at_once(calls_and_workers(server, journey))
    serve_until_empty()
    assert entries(journey) == dict.fromkeys(NAMES, 1)
    assert EnrollmentJob.objects.filter(result="enrolled").count() == len(NAMES)
    assert not EnrollmentJob.objects.exclude(status="decided").exists()


def test_three_entries_allowed_and_completing_at_once_are_three(
    server: ServerClient, acme: Workspace, people: list[Customer]
) -> None:
    journey = JourneyFactory.create(workspace=acme, max_entries_per_customer=3)
    all_at_once(calls_and_workers(server, journey))
    serve_until_empty()
    assert entries(journey) == dict.fromkeys(NAMES, 3)


def test_never_two_active_enrollments(server: ServerClient, acme: Workspace, people: list[Customer]) -> None:
    journey = JourneyFactory.create(workspace=acme, steps=WAITING, max_entries_per_customer=50)
    all_at_once(calls_and_workers(server, journey))
    serve_until_empty()
    active = Enrollment.objects.filter(journey=journey, state="active").values_list("customer__external_id", flat=True)
    assert Counter(active) == dict.fromkeys(NAMES, 1)
    jobs = Counter(EnrollmentJob.objects.filter(result="enrolled").values_list("customer__external_id", flat=True))
    assert entries(journey) == jobs  # one enrollment per job, each replacing the one before


def test_a_message_delivered_many_times_is_worked_once(
    server: ServerClient, acme: Workspace, people: list[Customer]
) -> None:
    journey = JourneyFactory.create(workspace=acme, allow_reenrollment=True)
    trigger_id = data(trigger(server, journey, {"external_ids": NAMES}))["triggerId"]
    all_at_once([lambda: serve_lane(lane=Chunk.Lane.BULK, named=(trigger_id, 0), seconds=1)] * 8)
    serve_lane(lane=Chunk.Lane.BULK, named=(trigger_id, 0), seconds=1)
    assert entries(journey) == dict.fromkeys(NAMES, 1)


def test_a_chunk_claimed_by_two_is_settled_by_one(
    server: ServerClient, acme: Workspace, people: list[Customer]
) -> None:
    journey = JourneyFactory.create(workspace=acme, allow_reenrollment=True)
    data(trigger(server, journey, {"external_ids": NAMES}))
    claimed = claim_next_chunks(lane=Chunk.Lane.BULK)
    settled = all_at_once([lambda: settle(claimed)] * 6)
    assert sorted(outcome.decided for outcome in settled) == [0, 0, 0, 0, 0, len(NAMES)]
    assert entries(journey) == dict.fromkeys(NAMES, 1)


def test_a_customers_second_job_waits_for_the_first(
    server: ServerClient, journey: Journey, people: list[Customer]
) -> None:
    first, second = [data(trigger(server, journey, {"external_id": NAMES[0]}))["triggerId"] for _ in range(2)]
    with transaction.atomic():
        assert settle(claim_chunk(trigger_id=first, start=0)).decided == 1  # and not committed yet
        deciding = made_to_wait(lambda: settle(claim_chunk(trigger_id=second, start=0)))
    assert deciding.result(PATIENCE_SECONDS).decided == 1
    assert EnrollmentJob.objects.get(trigger_id=second).result == "already_enrolled"


def test_a_limit_that_is_raised_during_a_decision_counts_all_entries(
    server: ServerClient, acme: Workspace, people: list[Customer], monkeypatch: pytest.MonkeyPatch
) -> None:
    """As many are counted as a journey allows; the rules are read a moment later."""
    journey = JourneyFactory.create(workspace=acme, allow_reenrollment=True)
    for _ in range(3):
        data(trigger(server, journey, {"external_id": NAMES[0]}))
        serve_until_empty()

    def once_it_allows_three(journey_ids: Iterable[str]) -> dict[str, EnteredJourney]:
        elsewhere(lambda: Journey.objects.update(max_entries_per_customer=3))
        return entered_journeys(journey_ids)

    monkeypatch.setattr(entry_decisions, "entered_journeys", once_it_allows_three)
    data(trigger(server, journey, {"external_id": NAMES[0]}))
    serve_until_empty()
    assert EnrollmentJob.objects.latest("id").result == "max_entries_reached"
    assert entries(journey) == {NAMES[0]: 3}


def test_who_decides_for_many_locks_them_in_the_order_of_their_ids(
    server: ServerClient, acme: Workspace, journey: Journey
) -> None:
    people = [CustomerFactory.create(workspace=acme, id=letter * 24) for letter in "bca"]
    data(trigger(server, journey, {"external_ids": [customer.external_id for customer in people]}))
    claimed = claim_next_chunks(lane=Chunk.Lane.BULK)
    assert done_with_customers_locked_in_order(lambda: settle(claimed)).decided == 3


def test_jobs_are_decided_as_they_were_queued_however_chunks_come(
    server: ServerClient, journey: Journey, people: list[Customer]
) -> None:
    for _ in range(3):
        data(trigger(server, journey, {"external_id": NAMES[0]}))
    claimed = sorted(claim_next_chunks(lane=Chunk.Lane.SINGLE), key=lambda chunk: chunk.id)
    assert settle(claimed[::-1]).decided == 3
    results = EnrollmentJob.objects.order_by("id").values_list("result", flat=True)
    assert list(results) == ["enrolled", "already_enrolled", "already_enrolled"]


def test_identical_calls_in_one_millisecond_all_get_jobs_of_their_own(
    server: ServerClient, journey: Journey, people: list[Customer]
) -> None:
    answers = all_at_once([lambda: data(trigger(server, journey, {"external_ids": NAMES}))] * 12)
    job_ids = [job_id for answer in answers for job_id in answer["jobIds"]]
    assert len(set(job_ids)) == len(job_ids) == 12 * len(NAMES)
