"""From a delivery that is due to its end: what is sent, written, put off and let go on, by one sender or by many."""

import time
from collections import Counter
from datetime import timedelta
from itertools import cycle
from threading import Event, Thread

import pytest
import time_machine
from django.db import connection, connections, transaction
from django.test.utils import CaptureQueriesContext
from django.utils import timezone
from pytest_django import Settings

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment, StepRun, WebhookAttempt, WebhookDelivery
from journeys.webhooks.again import DeliveryNotFailed, send_again
from journeys.webhooks.claims import anything_overdue, claim_due
from journeys.webhooks.client import Client, Limits
from journeys.webhooks.outcomes import Outcome
from journeys.webhooks.results import Result, write_results
from journeys.webhooks.room import Room
from journeys.webhooks.schedule import Fate, Verdict
from journeys.webhooks.sending import send_due
from journeys.webhooks.signing_secrets import current_secrets
from tests.journeys.webhooks.standing import SHORT, make_due, send, standing, standing_still
from tests.receiver import Receiver, free_port, running
from tests.simultaneous import all_at_once, made_to_wait

pytestmark = pytest.mark.django_db
with_others = pytest.mark.django_db(transaction=True)


def age(delivery: WebhookDelivery) -> float:
    """How many seconds ahead the delivery is due."""
    delivery.refresh_from_db()
    return (delivery.due_at - timezone.now()).total_seconds()


def send_elsewhere() -> None:
    """In a thread with a database connection of its own."""
    send()
    connections.close_all()


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_worker_whose_clock_is_off_sends_and_records_by_the_databases_clock(
    acme: Workspace, receiver: Receiver, hours: int
) -> None:
    [delivery] = standing(acme, receiver.url("/status/503"))
    now = timezone.now()
    with time_machine.travel(now + timedelta(hours=hours), tick=True):
        send()
    attempt = WebhookAttempt.objects.get()
    assert abs(attempt.at - now) < timedelta(seconds=10)
    assert abs(float(receiver.arrived[0].headers["webhook-timestamp"]) - now.timestamp()) < 10
    assert 0 < age(delivery) < 6


def test_a_delivered_webhook_lets_its_enrollment_go_on(acme: Workspace, receiver: Receiver) -> None:
    [delivery] = standing(acme, receiver.url())
    [sent] = send()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result, delivery.attempts) == ("delivered", "Answered 200.", 1)
    assert delivery.enrollment.due_at is not None
    assert delivery.enrollment.due_at <= timezone.now()
    assert (sent.attempts, sent.somebody_walks) == (1, True)
    [attempt] = WebhookAttempt.objects.all()
    assert (attempt.workspace_id, attempt.delivery_id, attempt.number) == (acme.id, delivery.id, 1)
    assert (attempt.status, attempt.answer, attempt.error) == (200, "Thanks.", "")
    assert timezone.now() - attempt.at < timedelta(seconds=10)
    [request] = receiver.arrived
    assert (request.method, request.body) == ("POST", b'{"hello": "Ada"}')
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("status", "result"), [(404, "Answered 404."), (410, "Answered 410.")])
def test_a_final_answer_fails_the_webhook_and_lets_its_enrollment_go_on(
    acme: Workspace, receiver: Receiver, status: int, result: str
) -> None:
    [delivery] = standing(acme, receiver.url(f"/status/{status}"))
    [sent] = send()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result, delivery.attempts) == ("failed", result, 1)
    assert sent.somebody_walks
    assert not standing_still(delivery)
    assert WebhookAttempt.objects.get().answer == "As you wish."


@pytest.mark.parametrize("path", ["/status/500", "/status/408", "/status/425", "/reset", "/slow/2", "/noise"])
def test_what_may_pass_is_put_off_and_moves_nobody(acme: Workspace, receiver: Receiver, path: str) -> None:
    [delivery] = standing(acme, receiver.url(path))
    [sent] = send()
    assert 3.5 < age(delivery) < 5.6
    assert (delivery.state, delivery.result, delivery.attempts) == ("waiting", "", 1)
    assert not sent.somebody_walks
    assert standing_still(delivery)
    assert send() == []
    attempt = WebhookAttempt.objects.get()
    assert attempt.status or attempt.error


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_puts_it_off_for_longer(acme: Workspace, receiver: Receiver, status: int) -> None:
    [delivery] = standing(acme, receiver.url(f"/status/{status}?retry-after=100"))
    send()
    assert 98 < age(delivery) <= 100


def test_attempts_go_on_under_the_same_id_until_one_is_answered_well(acme: Workspace, receiver: Receiver) -> None:
    [delivery] = standing(acme, receiver.url("/first/500/then/201"))
    send()
    make_due()
    send()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result, delivery.attempts) == ("delivered", "Answered 201.", 2)
    assert receiver.webhook_ids() == [delivery.webhook_id] * 2
    assert list(delivery.made.order_by("number").values_list("number", "status")) == [(1, 500), (2, 201)]
    assert not standing_still(delivery)


@with_others
def test_what_is_put_off_waits_until_it_is_due(acme: Workspace, receiver: Receiver) -> None:
    [delivery] = standing(acme, receiver.url("/first/500/then/200"))
    send()
    WebhookDelivery.objects.update(due_at=timezone.now() + timedelta(seconds=0.3))
    assert send() == []
    time.sleep(0.3)
    assert len(send()) == 1
    delivery.refresh_from_db()
    assert delivery.state == "delivered"


def test_after_the_eighth_attempt_it_has_failed(acme: Workspace) -> None:
    [delivery] = standing(acme, f"http://127.0.0.1:{free_port()}/")
    waits = []
    for _ in range(7):
        send()
        assert standing_still(delivery)
        waits.append(age(delivery))
        make_due()
    send()
    expected = [5, 300, 1800, 7200, 18_000, 36_000, 36_000]
    assert all(0.89 * wait - 2 < got < 1.11 * wait for got, wait in zip(waits, expected, strict=True)), waits
    delivery.refresh_from_db()
    reason = "Given up after 8 attempts. The last one: Connection refused."
    assert (delivery.state, delivery.result, delivery.attempts) == ("failed", reason, 8)
    assert not standing_still(delivery)
    assert sorted(delivery.made.values_list("number", flat=True)) == list(range(1, 9))


def test_a_host_that_waits_out_its_retries_is_not_sent_to_before_they_are_due(
    acme: Workspace, receiver: Receiver
) -> None:
    [later] = standing(acme, receiver.url())
    WebhookDelivery.objects.filter(id=later.id).update(due_at=timezone.now() + timedelta(hours=1))
    [now] = standing(acme, receiver.url())
    send()
    assert receiver.webhook_ids() == [now.webhook_id]


# Exits ----------------------------------------------------------------------------------------------------------------


def drop(delivery: WebhookDelivery) -> None:
    """What an exit of the enrollment does."""
    with transaction.atomic():
        Customer.objects.select_for_update(no_key=True).get(id=delivery.enrollment.customer_id)
        Enrollment.objects.filter(id=delivery.enrollment_id).update(state="exited", due_at=None)
        StepRun.objects.filter(enrollment_id=delivery.enrollment_id).update(state="interrupted")
        WebhookDelivery.objects.filter(id=delivery.id).update(state="dropped", result="It ended.")


def test_a_dropped_delivery_is_not_sent(acme: Workspace, receiver: Receiver) -> None:
    [dropped, kept] = standing(acme, receiver.url(), number=2)
    drop(dropped)
    send()
    assert receiver.webhook_ids() == [kept.webhook_id]


@with_others
@pytest.mark.parametrize("path", ["/ok", "/status/500", "/status/404"])
def test_what_was_in_the_air_when_it_was_dropped_is_recorded_and_revives_nothing(
    acme: Workspace, receiver: Receiver, path: str
) -> None:
    [delivery] = standing(acme, receiver.url(path))
    with transaction.atomic():  # an exit that begins before the request, and ends after the answer
        Customer.objects.select_for_update(no_key=True).get(id=delivery.enrollment.customer_id)
        sending = made_to_wait(send)
        drop(delivery)
    [sent] = sending.result()
    assert (sent.attempts, sent.somebody_walks) == (1, False)
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result, delivery.attempts) == ("dropped", "It ended.", 1)
    assert WebhookAttempt.objects.count() == len(receiver.arrived) == 1
    delivery.enrollment.refresh_from_db()
    assert (delivery.enrollment.state, delivery.enrollment.due_at) == ("exited", None)


@with_others
def test_the_result_for_an_erased_customer_is_let_go(acme: Workspace, receiver: Receiver) -> None:
    [erased, kept] = standing(acme, receiver.url("/slow/0.3"), number=2)
    sent = Thread(target=send_elsewhere)
    sent.start()
    while len(receiver.arrived) < 2:
        time.sleep(0.01)
    Customer.objects.filter(id=erased.enrollment.customer_id).delete()
    sent.join()
    kept.refresh_from_db()
    assert kept.state == "delivered"
    assert not WebhookDelivery.objects.filter(id=erased.id).exists()
    assert WebhookAttempt.objects.count() == 1


# Again ----------------------------------------------------------------------------------------------------------------


def failed(workspace: Workspace, receiver: Receiver, path: str = "/first/404/then/200") -> WebhookDelivery:
    """A webhook that has failed, and whose enrollment has gone on."""
    [delivery] = standing(workspace, receiver.url(path))
    send()
    StepRun.objects.filter(enrollment_id=delivery.enrollment_id).update(state="failed")
    Enrollment.objects.filter(id=delivery.enrollment_id).update(due_at=None)
    return delivery


def test_a_failed_webhook_is_sent_again_with_the_same_id_and_moves_nobody(acme: Workspace, receiver: Receiver) -> None:
    delivery = failed(acme, receiver)
    send_again(workspace_id=acme.id, delivery_id=delivery.id)
    make_due()
    [sent] = send()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result, delivery.attempts) == ("delivered", "Answered 200.", 2)
    assert not sent.somebody_walks
    assert standing_still(delivery)
    assert len(set(receiver.webhook_ids())) == 1
    assert receiver.arrived[0].body == receiver.arrived[1].body


def test_what_is_sent_again_and_fails_again_has_failed_at_once(acme: Workspace, receiver: Receiver) -> None:
    delivery = failed(acme, receiver, "/first/404/then/500")
    for attempts in (2, 3):
        send_again(workspace_id=acme.id, delivery_id=delivery.id)
        make_due()
        send()
        delivery.refresh_from_db()
        result = "Answered 500. It was sent again once."
        assert (delivery.state, delivery.result, delivery.attempts) == ("failed", result, attempts)


def test_only_what_has_failed_and_is_known_to_have_can_be_sent_again(
    acme: Workspace, rival: Workspace, receiver: Receiver
) -> None:
    delivery = failed(acme, receiver)
    before = WebhookDelivery.objects.values().get(id=delivery.id)
    with pytest.raises(DeliveryNotFailed):
        send_again(workspace_id=rival.id, delivery_id=delivery.id)
    StepRun.objects.update(state="waiting")  # its enrollment has yet to go on
    with pytest.raises(DeliveryNotFailed):
        send_again(workspace_id=acme.id, delivery_id=delivery.id)
    assert WebhookDelivery.objects.values().get(id=delivery.id) == before
    StepRun.objects.update(state="failed")
    for state in ("waiting", "delivered", "dropped"):
        WebhookDelivery.objects.update(state=state)
        with pytest.raises(DeliveryNotFailed):
            send_again(workspace_id=acme.id, delivery_id=delivery.id)


# Many -----------------------------------------------------------------------------------------------------------------


@with_others
def test_two_senders_at_once_send_nothing_twice(acme: Workspace, rival: Workspace, receiver: Receiver) -> None:
    deliveries = standing(acme, receiver.url(), number=150) + standing(rival, receiver.url(), number=50)
    all_at_once([lambda: send(limits=Limits())] * 3)
    assert Counter(receiver.webhook_ids()) == {delivery.webhook_id: 1 for delivery in deliveries}
    assert WebhookDelivery.objects.filter(state="delivered", attempts=1).count() == 200
    assert Enrollment.objects.filter(due_at=None).count() == 0
    assert WebhookAttempt.objects.count() == 200


def test_a_slow_host_delays_nobody_elses_webhooks(acme: Workspace) -> None:
    with running() as slow, running() as fast:
        standing(acme, slow.url("/slow/1.5"), number=40)
        standing(acme, fast.url(), number=100)
        began = time.time()
        send(limits=Limits(), threads=8, seconds=1.4)
        assert len(fast.arrived) == 100
        assert max(request.at for request in fast.arrived) - began < 1.5  # before the slow one said a word
        assert len(slow.arrived) == slow.most_in_the_air == 4  # of 8 threads


def test_a_host_that_has_shown_to_be_slow_gets_less_room() -> None:
    room = Room(32)
    room.took_off("slow")
    room.took_off("slow")
    room.took_off("fast")
    assert list(room.of_known_hosts()) == [("fast", 1, 15), ("slow", 2, 14)]
    room.landed("slow", seconds=1.1)
    room.landed("fast", seconds=0.9)
    assert list(room.of_known_hosts()) == [("slow", 1, 3)]
    assert (room.in_the_air, room.free) == (1, 31)
    room.landed("slow", seconds=0.5)
    assert list(room.of_known_hosts()) == []


def test_hosts_share_the_threads_whatever_waits_at_each(acme: Workspace, rival: Workspace) -> None:
    standing(acme, "http://one.example/", number=50)
    standing(acme, "http://two.example/", number=50)
    standing(rival, "http://two.example/", number=50)
    standing(acme, "http://three.example/", number=1)
    claimed = claim_due(Room(16))
    hosts = Counter((one.workspace_id, one.host) for one in claimed)
    assert hosts == {
        (acme.id, "one.example:80"): 4, (acme.id, "two.example:80"): 4,
        (rival.id, "two.example:80"): 4, (acme.id, "three.example:80"): 1,
    }  # fmt: skip


def test_a_host_has_half_of_the_threads_however_many_tenants_send_there(acme: Workspace, rival: Workspace) -> None:
    for workspace in (acme, rival):
        standing(workspace, "http://one.example/", number=50)
    claimed = claim_due(Room(16))
    assert Counter(one.workspace_id for one in claimed) == {acme.id: 4, rival.id: 4}


def test_hosts_with_nothing_in_the_air_come_first(acme: Workspace) -> None:
    standing(acme, "http://one.example/", number=50)
    standing(acme, "http://two.example/", number=1)
    room = Room(4)
    for _ in range(3):
        room.took_off("one.example:80")
    assert [one.host for one in claim_due(room)] == ["two.example:80"]


def test_what_is_claimed_is_claimed_by_nobody_else_for_a_while(acme: Workspace) -> None:
    [delivery] = standing(acme, "http://one.example/")
    assert len(claim_due(Room(4))) == 1
    assert claim_due(Room(4)) == []
    assert 25 < age(delivery) <= 30


@with_others
def test_a_result_that_comes_after_another_senders_is_void(acme: Workspace, receiver: Receiver) -> None:
    [delivery] = standing(acme, receiver.url("/slow/0.4"))
    late = Thread(target=send_elsewhere)
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


@with_others
def test_a_customer_whom_somebody_holds_delays_no_other(
    acme: Workspace, receiver: Receiver, settings: Settings
) -> None:
    [held, *others] = standing(acme, receiver.url(), number=5)
    standing(acme, receiver.url("/slow/0.5"))  # keeps something in the air
    locked, over = Event(), Event()

    def hold() -> None:
        with transaction.atomic():
            Customer.objects.select_for_update().get(id=held.enrollment.customer_id)
            locked.set()
            over.wait(5)
        connections.close_all()

    holder = Thread(target=hold)
    holder.start()
    locked.wait()
    sending = send_due(
        threads=16, client=Client(allowed_networks=settings.WEBHOOK_ALLOWED_NETWORKS, limits=SHORT), seconds=5
    )
    assert next(sending).attempts == 4
    assert set(WebhookDelivery.objects.filter(state="delivered")) == set(others)
    over.set()
    holder.join()
    list(sending)
    assert WebhookDelivery.objects.filter(state="delivered").count() == 6


@pytest.mark.parametrize("number", [1, 100])
def test_any_number_costs_the_same_number_of_statements(acme: Workspace, number: int) -> None:
    standing(acme, "http://one.example/", number=number)
    current_secrets([acme.id])
    with CaptureQueriesContext(connection) as captured:
        claimed = claim_due(Room(2 * number))
    assert (len(claimed), len(captured)) == (number, 1)
    fates = [(200, Fate.DELIVERED), (500, Fate.RETRIED)]
    results = [
        Result(
            claimed=one,
            outcome=Outcome(at=timezone.now(), milliseconds=1, status=status),
            verdict=Verdict(fate=fate, reason="As told.", seconds=5.0),
        )
        for one, (status, fate) in zip(claimed, cycle(fates), strict=False)
    ]
    with CaptureQueriesContext(connection) as captured:
        write_results(results, wait=False)
    # Begin; lock customers; settle; close circuits, and count failures where there are any; commit.
    assert len(captured) == (5 if number == 1 else 6)
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


def test_what_nobody_takes_is_overdue_after_a_second(acme: Workspace, receiver: Receiver) -> None:
    standing(acme, receiver.url())
    assert not anything_overdue()
    WebhookDelivery.objects.update(due_at=timezone.now() - timedelta(seconds=2))
    assert anything_overdue()
    send()
    assert not anything_overdue()
