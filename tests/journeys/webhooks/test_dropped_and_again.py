"""Deliveries whose enrollment ends before they are sent, and those that staff send once more."""

import time
from threading import Thread

import pytest
from django.db import transaction

from customers.models import Customer
from engage.models import Workspace
from journeys.engine.operations.backlog import backlog
from journeys.engine.webhooks.resending import DeliveryNotFailed, send_again
from journeys.models import Enrollment, StepRun, WebhookAttempt, WebhookDelivery
from tests.journeys.webhooks.standing import make_due, send, send_elsewhere, standing, standing_still
from tests.support.receiver import Receiver
from tests.support.simultaneous import made_to_wait

pytestmark = pytest.mark.django_db
with_others = pytest.mark.django_db(transaction=True)


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
def test_what_was_dropped_in_flight_is_recorded(acme: Workspace, receiver: Receiver, path: str) -> None:
    [delivery] = standing(acme, receiver.url(path))
    with transaction.atomic():  # an exit that begins before the request, and ends after the answer
        Customer.objects.select_for_update(no_key=True).get(id=delivery.enrollment.customer_id)
        sending = made_to_wait(send)
        drop(delivery)
    [sent] = sending.result()
    assert (sent.attempts, sent.due.walk) == (1, False)
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
    assert not sent.due.walk
    assert standing_still(delivery)
    assert len(set(receiver.webhook_ids())) == 1
    assert receiver.arrived[0].body == receiver.arrived[1].body


def test_what_is_sent_again_is_due_from_now_on_however_long_ago_it_failed(acme: Workspace, receiver: Receiver) -> None:
    delivery = failed(acme, receiver)
    WebhookDelivery.objects.update(due_at="2020-01-01T00:00Z")
    send_again(workspace_id=acme.id, delivery_id=delivery.id)
    assert 0 <= backlog().webhooks.seconds_late < 60


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
