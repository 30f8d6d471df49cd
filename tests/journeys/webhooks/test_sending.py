"""From a delivery that is due to its end: what is sent, written, put off and let go on, by one sender or by many."""

import time
from datetime import timedelta
from typing import Any

import pytest
import time_machine
from django.utils import timezone

from engage.models import Workspace
from journeys.engine.webhooks.outcomes import Outcome
from journeys.engine.webhooks.schedule import DeliveryVerdict, judge
from journeys.models import WebhookAttempt, WebhookDelivery
from tests.journeys.webhooks.standing import make_due, seconds_until_due, send, standing, standing_still
from tests.support.receiver import Receiver, free_port

pytestmark = pytest.mark.django_db
with_others = pytest.mark.django_db(transaction=True)


@pytest.mark.parametrize("hours", [-1, 1])
def test_a_worker_with_a_wrong_clock_goes_by_the_databases(acme: Workspace, receiver: Receiver, hours: int) -> None:
    [delivery] = standing(acme, receiver.url("/status/503"))
    now = timezone.now()
    with time_machine.travel(now + timedelta(hours=hours), tick=True):
        send()
    attempt = WebhookAttempt.objects.get()
    assert abs(attempt.at - now) < timedelta(seconds=10)
    assert abs(float(receiver.arrived[0].headers["webhook-timestamp"]) - now.timestamp()) < 10
    assert 0 < seconds_until_due(delivery) < 6


def test_a_delivered_webhook_lets_its_enrollment_go_on(acme: Workspace, receiver: Receiver) -> None:
    [delivery] = standing(acme, receiver.url())
    [sent] = send()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result, delivery.attempts) == ("delivered", "Answered 200.", 1)
    assert delivery.enrollment.due_at is not None
    assert delivery.enrollment.due_at <= timezone.now()
    assert (sent.attempts, sent.due.walk) == (1, True)
    [attempt] = WebhookAttempt.objects.all()
    assert (attempt.workspace_id, attempt.delivery_id, attempt.number) == (acme.id, delivery.id, 1)
    assert (attempt.status, attempt.answer, attempt.error) == (200, "Thanks.", "")
    assert timezone.now() - attempt.at < timedelta(seconds=10)
    [request] = receiver.arrived
    assert (request.method, request.body) == ("POST", b'{"hello": "Ada"}')
    assert request.headers["content-type"] == "application/json"


@pytest.mark.parametrize(("status", "result"), [(404, "Answered 404."), (410, "Answered 410.")])
def test_a_final_answer_fails_the_webhook_alone(acme: Workspace, receiver: Receiver, status: int, result: str) -> None:
    [delivery] = standing(acme, receiver.url(f"/status/{status}"))
    [sent] = send()
    delivery.refresh_from_db()
    assert (delivery.state, delivery.result, delivery.attempts) == ("failed", result, 1)
    assert sent.due.walk
    assert not standing_still(delivery)
    assert WebhookAttempt.objects.get().answer == "As you wish."


@pytest.mark.parametrize(
    ("path", "status", "error"),
    [
        ("/status/500", 500, ""),
        ("/status/408", 408, ""),
        ("/status/425", 425, ""),
        ("/reset", None, "Connection reset by peer."),
        ("/slow/2", None, "No answer within 0.6 s."),
        ("/noise", None, "The answer is no HTTP."),
    ],
)
def test_what_may_pass_is_put_off_and_moves_nobody(
    acme: Workspace, receiver: Receiver, path: str, status: int | None, error: str
) -> None:
    [delivery] = standing(acme, receiver.url(path))
    [sent] = send()
    assert 3.5 < seconds_until_due(delivery) < 5.6
    assert (delivery.state, delivery.result, delivery.attempts) == ("waiting", "", 1)
    assert not sent.due.walk
    assert standing_still(delivery)
    assert send() == []
    attempt = WebhookAttempt.objects.get()
    assert (attempt.status, attempt.error) == (status, error)


def test_an_attempt_ends_although_its_answer_cannot_be_judged(
    acme: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch
) -> None:
    [delivery] = standing(acme, receiver.url())

    def fail_for_an_answer(outcome: Outcome, **how: Any) -> DeliveryVerdict:
        if outcome.status:
            raise RuntimeError
        return judge(outcome, **how)

    monkeypatch.setattr("journeys.engine.webhooks.sending.judge", fail_for_an_answer)
    assert len(send()) == 1
    delivery.refresh_from_db()
    assert (delivery.state, delivery.attempts) == ("waiting", 1)
    assert WebhookAttempt.objects.get().error == "Sending it failed: RuntimeError."


@pytest.mark.parametrize("status", [429, 503])
def test_retry_after_puts_it_off_for_longer(acme: Workspace, receiver: Receiver, status: int) -> None:
    [delivery] = standing(acme, receiver.url(f"/status/{status}?retry-after=100"))
    send()
    assert 98 < seconds_until_due(delivery) <= 100


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
        waits.append(seconds_until_due(delivery))
        make_due()
    send()
    expected = [5, 300, 1800, 7200, 18_000, 36_000, 36_000]
    assert all(0.89 * wait - 2 < got < 1.11 * wait for got, wait in zip(waits, expected, strict=True)), waits
    delivery.refresh_from_db()
    reason = "Given up after 8 attempts. The last one: Connection refused."
    assert (delivery.state, delivery.result, delivery.attempts) == ("failed", reason, 8)
    assert not standing_still(delivery)
    assert sorted(delivery.made.values_list("number", flat=True)) == list(range(1, 9))


def test_a_host_that_waits_out_its_retries_is_spared_until_then(acme: Workspace, receiver: Receiver) -> None:
    [later] = standing(acme, receiver.url())
    WebhookDelivery.objects.filter(id=later.id).update(due_at=timezone.now() + timedelta(hours=1))
    [now] = standing(acme, receiver.url())
    send()
    assert receiver.webhook_ids() == [now.webhook_id]
