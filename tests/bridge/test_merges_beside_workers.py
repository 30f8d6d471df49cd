"""Merges beside what is queued, and beside workers who decide, walk and send: in threads, on a real database."""

from collections import Counter
from collections.abc import Callable
from functools import partial
from typing import TypeVar

import pytest
from django.db import connection, transaction
from django.utils import timezone

from customers.models import Customer, Event, SegmentMembership
from engage.models import Workspace
from journeys.engine.entering.chunks import claim_chunk, give_up
from journeys.engine.jobs.cancellation import cancel_job
from journeys.engine.steering.cancelling import cancel_trigger
from journeys.engine.walking import loop
from journeys.engine.walking.claims import claim_longest_due
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.outcomes import Outcome
from journeys.engine.webhooks.results import AttemptResult, write_results
from journeys.engine.webhooks.schedule import DeliveryVerdict, NextState
from journeys.models import Chunk, Enrollment, EnrollmentJob, Journey, Trigger
from tests.bridge.merging import merge
from tests.journeys.webhooks.standing import standing
from tests.support.calls import customers_path, data, let_workers_decide, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.counted_by_history import counted_by_history
from tests.support.counts import counted
from tests.support.factories import CustomerFactory, JourneyFactory, SegmentFactory
from tests.support.simultaneous import PATIENCE_SECONDS, elsewhere, made_to_wait

pytestmark = pytest.mark.django_db(transaction=True)
T = TypeVar("T")


def test_a_call_that_queues_meanwhile_is_decided_for_the_known_one(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer
) -> None:
    """A trigger locks no customer: its job may be committed after the merge has moved all others."""
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "wait", "type": "delay", "for": "P1D"}])
    with transaction.atomic():
        merge(acme)
        elsewhere(lambda: data(trigger(server, journey, {"customerId": anonymous.id})))
    job = EnrollmentJob.objects.get()
    name = job.job_id
    assert job.customer_id == anonymous.id
    let_workers_decide()
    assert Chunk.objects.filter(attempts=1).count() == 1  # it comes again after its claim
    Chunk.objects.update(due_at="2020-01-01T00:00:00Z", attempts=0)
    let_workers_decide()
    job.refresh_from_db()
    assert (job.result, job.customer_id, job.job_id) == ("enrolled", ada.id, name)
    assert Enrollment.objects.get().customer == ada
    assert not Chunk.objects.exists()


def _amid_a_merge(acme: Workspace, anonymous: Customer, call: Callable[[], T]) -> T:
    """Makes the call once the merge has moved the jobs, and waits for a membership that somebody holds."""
    SegmentFactory.create(workspace=acme, members=[anonymous])
    with transaction.atomic():
        list(SegmentMembership.objects.filter(customer=anonymous).select_for_update())
        merging = made_to_wait(partial(merge, acme))
        answer = elsewhere(call)
    merging.result(PATIENCE_SECONDS)
    return answer


@pytest.mark.parametrize("beside", ["nobody", "erased"])
def test_what_a_call_sends_amid_a_merge_is_not_erased(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, beside: str
) -> None:
    """A merge deletes a row, as an erasure does. A call for two has lost its payload if both are gone."""
    steps = [{"id": "note", "type": "update_profile", "attributes": {"seats": "{{ api.payload.seats }}"}}]
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    bob = CustomerFactory.create(workspace=acme, external_id="bob")
    people = [anonymous, bob] if beside == "erased" else [anonymous]
    segment = SegmentFactory.create(workspace=acme, members=people)
    body = {"segment_ids": [segment.id], "payload": {"seats": 7}}
    _amid_a_merge(acme, anonymous, lambda: data(trigger(server, journey, body)))
    if beside == "erased":
        data(server.delete(customers_path(acme, bob.id)), status=200)
    assert Trigger.objects.get().payload == {"seats": 7}
    let_workers_decide()
    Chunk.objects.update(due_at="2020-01-01T00:00:00Z", attempts=0)
    let_workers_walk()
    ada.refresh_from_db()
    assert ada.attributes == {"seats": "7"}


@pytest.mark.parametrize("queued", ["amid", "before", "ada too", "ada is held"])
def test_several_who_are_merged_into_one_enter_once_by_one_call(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, queued: str
) -> None:
    """Their jobs have one millisecond, and would have one id. Others of the same piece of work are not held up."""
    again = JourneyFactory.create(workspace=acme, max_entries_per_customer=9)
    others = [CustomerFactory.create(workspace=acme, external_id=None, user_id=f"anon-{n}") for n in (2, 3)]
    bob = CustomerFactory.create(workspace=acme, external_id="bob")
    members = [anonymous, *others, bob, *([ada] if queued == "ada too" else [])]
    body = {"segment_ids": [SegmentFactory.create(workspace=acme, members=members).id]}
    if queued == "before":
        data(trigger(server, again, body))
    with transaction.atomic():
        for n in (1, 2, 3):
            merge(acme, user_id=f"anon-{n}")
        if queued != "before":
            elsewhere(lambda: data(trigger(server, again, body)))
    with transaction.atomic():
        if queued == "ada is held":
            Customer.objects.select_for_update().get(id=ada.id)
        elsewhere(let_workers_decide)
    assert Enrollment.objects.filter(customer=bob).count() == 1
    while Chunk.objects.update(due_at="2020-01-01T00:00:00Z", attempts=0):
        let_workers_decide()
    jobs = Counter(EnrollmentJob.objects.values_list("customer_id", "result"))
    assert jobs == {(ada.id, "enrolled"): 1, (ada.id, "cancelled"): len(members) - 2, (bob.id, "enrolled"): 1}
    assert counted(again) == counted_by_history(again.id)


def test_such_a_job_can_be_cancelled_before_it_is_decided(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    with transaction.atomic():
        merge(acme)
        queued = elsewhere(lambda: data(trigger(server, journey, {"customerId": anonymous.id})))
    state = cancel_job(workspace_id=acme.id, job_id=queued["jobId"])
    assert (state.job_id, state.customer_id, state.result) == (queued["jobId"], ada.id, "cancelled")
    let_workers_decide()
    assert not Enrollment.objects.exists()


@pytest.mark.parametrize("whose", ["former", "known"])
@pytest.mark.parametrize("ends", ["cancel_trigger", "give_up"])
def test_a_merge_that_waits_for_who_ends_jobs_reads_what_became_of_them(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, ends: str, whose: str
) -> None:
    """Such a job holds its entrance no more: another one of the person enters for it."""
    journey = JourneyFactory.create(workspace=acme, max_entries_per_customer=9)
    first, second = (anonymous, ada) if whose == "former" else (ada, anonymous)
    order = {"entranceId": "order-17"}
    data(trigger(server, journey, {"customerId": first.id, **order}))
    if whose == "known":
        data(trigger(server, journey, {"customerId": second.id, **order}))
    ended = EnrollmentJob.objects.get(customer=first)
    with transaction.atomic():
        if ends == "cancel_trigger":
            cancel_trigger(ended.trigger, exit_enrollments=False, reason="", actor="test")
        else:
            assert give_up(*claim_chunk(trigger_id=ended.trigger_id, start=0))
        merging = made_to_wait(partial(merge, acme))
    merging.result(PATIENCE_SECONDS)
    ended.refresh_from_db()
    assert (ended.status, ended.holds_entrance) == ("cancelled" if ends == "cancel_trigger" else "failed", None)
    if whose == "former":
        data(trigger(server, journey, {"external_id": "ada", **order}))
    let_workers_decide()
    assert EnrollmentJob.objects.get(result="enrolled").holds_entrance
    assert counted(journey) == counted_by_history(journey.id)


def test_a_webhooks_result_is_kept_that_waits_for_the_anonymous_one(acme: Workspace, ada: Customer) -> None:
    (delivery,) = standing(acme, "http://one.example/")
    Customer.objects.filter(id=delivery.enrollment.customer_id).update(external_id=None, user_id="anon-1")
    (claimed,) = claim_due(HostSlots(8))
    outcome = Outcome(at=timezone.now(), milliseconds=1, status=200)
    verdict = DeliveryVerdict(next_state=NextState.DELIVERED, reason="200", seconds=0.0)
    result = AttemptResult(claimed=claimed, outcome=outcome, verdict=verdict)
    with transaction.atomic():
        merge(acme)
        writing = made_to_wait(partial(write_results, [result], wait=True))
    assert writing.result(PATIENCE_SECONDS).next_states == {NextState.DELIVERED: 1}
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, delivery.enrollment.customer_id) == ("delivered", 1, ada.id)


def test_two_enrollments_of_one_who_was_merged_are_walked_one_after_the_other(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer
) -> None:
    """They were claimed together, as those of two customers. What one records ends the other, or is heard by it."""
    told = {"id": "note", "type": "track_event", "eventName": "told"}
    tells = JourneyFactory.create(workspace=acme, steps=[told])
    ends = JourneyFactory.create(
        workspace=acme, steps=[{**told, "eventName": "late"}], steps__exit_on=[{"event": "told"}]
    )
    for journey, customer in ((tells, anonymous), (ends, ada)):
        data(trigger(server, journey, {"customerId": customer.id}))
        let_workers_decide()
    claimed = claim_longest_due().enrollments
    assert len(claimed) == 2
    merge(acme)
    loop._attempt(sorted(claimed, key=lambda one: one.due_at), loop.WalkerTurn())
    let_workers_walk()
    assert list(Event.objects.values_list("name", flat=True)) == ["told"]
    assert set(Enrollment.objects.values_list("journey_id", "state")) == {(tells.id, "completed"), (ends.id, "exited")}


def test_a_worker_that_waits_leaves_the_job_for_the_next_time(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer, journey: Journey
) -> None:
    data(trigger(server, journey, {"customerId": anonymous.id}))
    with transaction.atomic():
        merge(acme)
        deciding = made_to_wait(let_workers_decide)
    deciding.result(PATIENCE_SECONDS)
    assert EnrollmentJob.objects.get().status == "queued"  # the known one is not locked
    Chunk.objects.update(due_at="2020-01-01T00:00:00Z", attempts=0)
    let_workers_decide()
    assert EnrollmentJob.objects.get().result == "enrolled"
    assert Enrollment.objects.get().customer == ada


def test_a_walker_that_waits_leaves_the_enrollment_for_the_next_time(
    acme: Workspace, server: ServerClient, anonymous: Customer, ada: Customer
) -> None:
    steps = [{"id": "note", "type": "track_event", "eventName": "told"}]
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    data(trigger(server, journey, {"customerId": anonymous.id}))
    let_workers_decide()
    claimed = claim_longest_due().enrollments
    turn = loop.WalkerTurn()
    with transaction.atomic():
        merge(acme)
        walking = made_to_wait(partial(loop._attempt, claimed, turn))
    walking.result(PATIENCE_SECONDS)
    assert (turn.moved, Enrollment.objects.get().attempts) == (0, 0)
    let_workers_walk()
    assert Event.objects.get(name="told").customer == ada


def test_the_database_refuses_to_move_a_job_to_another_workspace(
    acme: Workspace, rival: Workspace, server: ServerClient, ada: Customer, journey: Journey
) -> None:
    data(trigger(server, journey, {"external_id": "ada"}))
    theirs = CustomerFactory.create(workspace=rival)
    with pytest.raises(Exception, match="another customer of its workspace"), connection.cursor() as cursor:
        cursor.execute("UPDATE journeys_enrollmentjob SET customer_id = %s, queued_as = 'x'", [theirs.id])
