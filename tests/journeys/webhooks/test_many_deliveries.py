"""Many deliveries at once: whose turn it is, who gets how much room, and that nothing is sent twice."""

import time
from collections import Counter
from dataclasses import replace
from datetime import timedelta
from itertools import cycle
from threading import Event, Thread

import pytest
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.client import Client, Limits
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.engine.webhooks.outcomes import Outcome
from journeys.engine.webhooks.results import AttemptResult, write_results
from journeys.engine.webhooks.schedule import DeliveryVerdict, NextState
from journeys.engine.webhooks.sending import send_due
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.models import Enrollment, WebhookAttempt, WebhookCircuit, WebhookDelivery
from tests.journeys.webhooks.standing import SHORT, seconds_until_due, send, send_elsewhere, standing
from tests.support.cases import each
from tests.support.plans import rows_gone_through
from tests.support.receiver import Receiver, running
from tests.support.simultaneous import all_at_once, done_with_customers_locked_in_order
from tests.support.waiting import wait_until

pytestmark = pytest.mark.django_db
with_others = pytest.mark.django_db(transaction=True)


@pytest.mark.slow
@with_others
def test_two_senders_at_once_send_nothing_twice(acme: Workspace, rival: Workspace, receiver: Receiver) -> None:
    deliveries = standing(acme, receiver.url(), number=150) + standing(rival, receiver.url(), number=50)
    all_at_once([lambda: send(limits=Limits())] * 3)
    assert Counter(receiver.webhook_ids()) == {delivery.webhook_id: 1 for delivery in deliveries}
    assert WebhookDelivery.objects.filter(state="delivered", attempts=1).count() == 200
    assert Enrollment.objects.filter(due_at=None).count() == 0
    assert WebhookAttempt.objects.count() == 200


@pytest.mark.slow
def test_a_slow_host_delays_nobody_elses_webhooks(acme: Workspace) -> None:
    with running() as slow, running() as fast:
        standing(acme, slow.url("/held"), number=40)
        standing(acme, fast.url(), number=100)

        def let_go() -> None:
            wait_until(lambda: len(slow.arrived) >= 4 and len(fast.arrived) == 100, seconds=Limits().total / 2)
            in_flight.append(len(slow.arrived))
            slow.let_go.set()

        in_flight: list[int] = []
        letting_go = Thread(target=let_go)
        letting_go.start()
        send(limits=Limits(), threads=8)
        letting_go.join()
        assert in_flight == [4]  # of 8 threads
        assert len(slow.arrived) == 40


def test_a_host_that_has_shown_to_be_slow_gets_less_room() -> None:
    slots = HostSlots(32)
    slots.started("slow", workspace_id="acme")
    slots.started("slow", workspace_id="acme")
    slots.started("fast", workspace_id="acme")
    assert list(slots.of_known_hosts()) == [("fast", 1, 15), ("slow", 2, 14)]
    slots.finished("slow", workspace_id="acme", seconds=1.1)
    slots.finished("fast", workspace_id="acme", seconds=0.9)
    assert list(slots.of_known_hosts()) == [("slow", 1, 3)]
    assert (slots.in_flight, slots.free) == (1, 31)
    slots.finished("slow", workspace_id="acme", seconds=0.5)
    assert list(slots.of_known_hosts()) == []


@each("threads, room_left", [(1, 1), (4, 1), (16, 2)])
def test_a_slow_host_has_its_little_room_and_is_never_shut_out(threads: int, room_left: int) -> None:
    slots = HostSlots(threads)
    slots.started("slow", workspace_id="acme")
    slots.finished("slow", workspace_id="acme", seconds=1.1)
    assert list(slots.of_known_hosts()) == [("slow", 0, room_left)]


def test_hosts_share_the_threads_whatever_waits_at_each(acme: Workspace, rival: Workspace) -> None:
    standing(acme, "http://one.example/", number=50)
    standing(acme, "http://two.example/", number=50)
    standing(rival, "http://two.example/", number=50)
    standing(acme, "http://three.example/", number=1)
    claimed = claim_due(HostSlots(16))
    hosts = Counter((one.workspace_id, one.host) for one in claimed)
    assert hosts == {
        (acme.id, "one.example:80"): 4, (acme.id, "two.example:80"): 4,
        (rival.id, "two.example:80"): 4, (acme.id, "three.example:80"): 1,
    }  # fmt: skip


def test_every_host_gets_one_before_any_gets_a_second(acme: Workspace) -> None:
    for name in ("one", "two", "three"):
        standing(acme, f"http://{name}.example/", number=3)
    hosts = Counter(one.host for one in claim_due(HostSlots(4)))
    assert sorted(hosts.values()) == [1, 1, 2]


def test_a_claim_looks_at_no_more_than_it_takes_however_many_wait(acme: Workspace) -> None:
    def looked_at() -> int:
        with rows_gone_through() as seen:
            assert len(claim_due(HostSlots(16))) == 8
        return max(seen.values())

    standing(acme, "http://one.example/", number=500)
    of_few = looked_at()
    standing(acme, "http://one.example/", number=2_500)
    assert looked_at() - of_few < 1_000


def test_a_host_has_half_of_the_threads_however_many_tenants_send_there(acme: Workspace, rival: Workspace) -> None:
    for workspace in (acme, rival):
        standing(workspace, "http://one.example/", number=50)
    claimed = claim_due(HostSlots(16))
    assert Counter(one.workspace_id for one in claimed) == {acme.id: 4, rival.id: 4}


def test_hosts_with_nothing_in_flight_come_first(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=50)
    WebhookDelivery.objects.update(due_at="2020-01-01T00:00Z")
    standing(acme, "http://two.example/", number=1)
    slots = HostSlots(4)
    for host in ("one.example:80", "three.example:80", "three.example:80"):
        slots.started(host, workspace_id="acme")
    assert [one.host for one in claim_due(slots)] == ["two.example:80"]


def test_a_tenant_with_many_hosts_does_not_keep_another_waiting(acme: Workspace, rival: Workspace) -> None:
    for n in range(20):
        standing(acme, f"http://host-{n}.example/", number=2)
    WebhookDelivery.objects.update(due_at="2020-01-01T00:00Z")
    standing(rival, "http://other.example/", number=3)
    slots = HostSlots(4)
    for claimed in claim_due(slots):
        slots.started(claimed.host, workspace_id=claimed.workspace_id)
    assert slots.of_workspaces == {acme.id: 3, rival.id: 1}
    slots.finished("other.example:80", workspace_id=rival.id, seconds=0.1)
    assert [one.workspace_id for one in claim_due(slots)] == [rival.id]


def test_of_hosts_with_nothing_in_flight_the_one_whose_webhook_has_waited_longest_comes_first(acme: Workspace) -> None:
    for year, host in enumerate(("two", "three", "one"), start=2020):
        ids = [delivery.id for delivery in standing(acme, f"http://{host}.example/")]
        WebhookDelivery.objects.filter(id__in=ids).update(due_at=f"{year}-01-01T00:00Z")
    claimed = [claim_due(HostSlots(1))[0].host for _ in range(3)]
    assert claimed == ["two.example:80", "three.example:80", "one.example:80"]


def test_of_a_host_the_earliest_due_come_first(acme: Workspace) -> None:
    deliveries = standing(acme, "http://one.example/", number=20)
    for minutes, delivery in enumerate(deliveries):
        WebhookDelivery.objects.filter(id=delivery.id).update(due_at=timezone.now() - timedelta(minutes=minutes))
    assert {one.id for one in claim_due(HostSlots(6))} == {delivery.id for delivery in deliveries[-3:]}


def test_what_is_claimed_is_claimed_by_nobody_else_for_a_while(acme: Workspace) -> None:
    [delivery] = standing(acme, "http://one.example/")
    assert len(claim_due(HostSlots(4))) == 1
    assert claim_due(HostSlots(4)) == []
    assert 25 < seconds_until_due(delivery) <= 30


@with_others
def test_who_writes_many_results_locks_their_customers_in_the_order_of_their_ids(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=8)
    outcome = Outcome(at=timezone.now(), milliseconds=5, status=200)
    verdict = DeliveryVerdict(next_state=NextState.DELIVERED, reason="Answered 200.")
    results = [AttemptResult(claimed=claimed, outcome=outcome, verdict=verdict) for claimed in claim_due(HostSlots(32))]
    written = done_with_customers_locked_in_order(lambda: write_results(results, wait=True))
    assert written.next_states.total() == 8


@with_others
def test_a_result_that_comes_after_another_senders_is_void(acme: Workspace, receiver: Receiver) -> None:
    [delivery] = standing(acme, receiver.url("/slow/0.4"))
    sent: list[int] = []
    late = Thread(target=lambda: sent.extend(one.attempts for one in send_elsewhere()))
    late.start()
    while not receiver.arrived:
        time.sleep(0.01)
    # As after the lease: another one has sent it meanwhile, and was answered differently.
    WebhookAttempt.objects.create(
        workspace=acme, delivery=delivery, number=1, at=timezone.now(), milliseconds=1, status=500
    )
    WebhookDelivery.objects.update(attempts=1)
    late.join()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("waiting", 1)
    assert WebhookAttempt.objects.get().status == 500
    assert sent == [0]  # nor is it counted


def test_a_sender_that_stood_still_may_have_claimed_the_same_twice(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=2)
    claimed = claim_due(HostSlots(8))
    WebhookDelivery.objects.filter(id=claimed[0].id).update(due_at=timezone.now() - timedelta(seconds=1))
    claimed += claim_due(HostSlots(8))
    assert claimed[0].id == claimed[2].id
    verdict = DeliveryVerdict(next_state=NextState.DELIVERED, reason="Answered 200.")
    outcome = Outcome(at=timezone.now(), milliseconds=5, status=200)
    first, other, second = (AttemptResult(claimed=one, outcome=outcome, verdict=verdict) for one in claimed)
    second = replace(
        second, outcome=replace(outcome, status=500), verdict=replace(verdict, next_state=NextState.FAILED)
    )
    assert write_results([first, other, second], wait=True).next_states == {NextState.DELIVERED: 2}
    assert list(WebhookDelivery.objects.values_list("state", "attempts")) == [("delivered", 1)] * 2
    assert WebhookAttempt.objects.count() == 2


def test_results_stay_in_their_order_where_one_is_there_twice(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=11)
    claimed = [*claim_due(HostSlots(32))]
    well = DeliveryVerdict(next_state=NextState.DELIVERED, reason="Answered 200.")
    ill = DeliveryVerdict(next_state=NextState.FAILED, reason="Answered 500.")
    outcome = Outcome(at=timezone.now(), milliseconds=5, status=200)
    first = AttemptResult(claimed=claimed[0], outcome=outcome, verdict=well)
    failed = [AttemptResult(claimed=one, outcome=replace(outcome, status=500), verdict=ill) for one in claimed[1:]]
    write_results([first, *failed, first], wait=True)
    assert WebhookCircuit.objects.get().failures == 10


@with_others
def test_what_was_answered_without_the_database_is_written_later(acme: Workspace, receiver: Receiver) -> None:
    [delivery] = standing(acme, receiver.url("/slow/0.4"))
    sender = Thread(target=send_elsewhere)
    sender.start()
    while not receiver.arrived:
        time.sleep(0.01)
    with connection.cursor() as cursor:
        cursor.execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    sender.join()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts, len(receiver.arrived)) == ("delivered", 1, 1)


@with_others
def test_a_customer_whom_somebody_holds_delays_no_other(
    acme: Workspace, receiver: Receiver, settings: Settings
) -> None:
    [held, *others] = standing(acme, receiver.url(), number=5)
    standing(acme, receiver.url("/slow/0.5"))  # keeps something in flight
    locked, over = Event(), Event()

    def hold() -> None:
        with transaction.atomic():
            Customer.objects.select_for_update().get(id=held.enrollment.customer_id)
            locked.set()
            over.wait(60)
        connections.close_all()

    holder = Thread(target=hold)
    holder.start()
    locked.wait()
    sending = send_due(
        threads=16, client=Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS, limits=SHORT), seconds=5
    )
    written = 0
    while written < len(others):  # on a busy machine their results are written in more than one go
        written += next(sending).attempts
    assert written == len(others)
    assert set(WebhookDelivery.objects.filter(state="delivered")) == set(others)
    over.set()
    holder.join()
    list(sending)
    assert WebhookDelivery.objects.filter(state="delivered").count() == 6


@each("number", [1, 100])
def test_any_number_costs_the_same_number_of_statements(
    acme: Workspace, number: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    # A claim that takes long asks once more whether all is as it was: here it may, as the machine is busy.
    monkeypatch.setattr("journeys.engine.webhooks.claims._CLAIM_SECONDS", 60.0)
    standing(acme, "http://one.example/", number=number)
    current_secrets([acme.id])
    with CaptureQueriesContext(connection) as captured:
        claimed = claim_due(HostSlots(2 * number))
    assert (len(claimed), len(captured)) == (number, 1)
    next_states = [(200, NextState.DELIVERED), (500, NextState.RETRIED)]
    results = [
        AttemptResult(
            claimed=one,
            outcome=Outcome(at=timezone.now(), milliseconds=1, status=status),
            verdict=DeliveryVerdict(next_state=next_state, reason="As told.", seconds=5.0),
        )
        for one, (status, next_state) in zip(claimed, cycle(next_states), strict=False)
    ]
    with CaptureQueriesContext(connection) as captured:
        write_results(results, wait=False)
    # Begin; lock customers; settle; close circuits, and lock them and count failures where there are any; commit.
    assert len(captured) == (5 if number == 1 else 7)
    assert WebhookAttempt.objects.count() == number


def test_nothing_is_claimed_after_the_time_or_once_asked_to_stop(
    acme: Workspace, receiver: Receiver, settings: Settings
) -> None:
    standing(acme, receiver.url("/slow/0.1"), number=10)
    client = Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS)
    sent = sum(one.attempts for one in send_due(threads=4, client=client, seconds=0.05))
    assert 1 <= sent == len(receiver.arrived) <= 4
    asked = iter([False])
    sent = sum(
        one.attempts for one in send_due(threads=4, client=client, seconds=5, stopping=lambda: next(asked, True))
    )
    assert sent == 2
    assert WebhookDelivery.objects.filter(state="waiting").count() == 10 - len(receiver.arrived)
