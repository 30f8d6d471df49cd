"""One row cannot be decrypted, because its key is missing: it waits with its reason, and costs the others nothing."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.contrib.postgres.functions import TransactionNow
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from customers.models import Customer
from engage.credentials.encryption import key_of
from engage.feed import FeedType, tell
from engage.models import FeedBatch, Workspace
from engage.process.bounded_cache import BoundedCache
from journeys.engine.enrollments import revisions
from journeys.engine.webhooks.client import Limits
from journeys.engine.webhooks.signing_secrets import current_secrets
from journeys.models import (
    Enrollment,
    Journey,
    JourneyRevision,
    Push,
    StepRun,
    Subscription,
    WebhookAttempt,
    WebhookDelivery,
    WebhookSecret,
)
from journeys.subscription.resource import SUBSCRIPTIONS
from journeys.tasks import walk
from tests.journeys.webhooks.standing import make_due, send, standing
from tests.support.calls import customers_path, data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory, JourneyFactory
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db

LOST = "l" * 32
REASON = "UnknownEncryptionKey: ENCRYPTION_KEYS lacks the key with which this was encrypted."


def sealed(text: str) -> str:
    """As it is stored, with a key that is not there."""
    return "encrypted:" + Fernet(key_of(LOST)).encrypt(text.encode()).decode()


def seal_headers(delivery: WebhookDelivery) -> None:
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE journeys_webhookdelivery SET headers = to_jsonb(%s::text) WHERE id = %s",
            [sealed('{"Authorization": "Bearer x"}'), delivery.id],
        )


def as_it_stands(delivery: WebhookDelivery) -> tuple[str, int, str]:
    return WebhookDelivery.objects.values_list("state", "attempts", "result").get(id=delivery.id)


def seal_secret(workspace: Workspace) -> None:
    current_secrets([workspace.id])
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE journeys_webhooksecret SET secret = %s WHERE workspace_id = %s", [sealed("whsec_"), workspace.id]
        )


def seal_steps(journey: Journey) -> None:
    """The value of the header `Authorization` of each of its steps."""
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE journeys_journeyrevision SET steps = (SELECT jsonb_agg(CASE WHEN step ? 'headers' "
            "THEN jsonb_set(step, '{headers,Authorization}', to_jsonb(%s::text)) ELSE step END) "
            "FROM jsonb_array_elements(steps) AS step) WHERE journey_id = %s",
            [sealed("Bearer x"), journey.id],
        )


@pytest.fixture
def journey(acme: Workspace, receiver: Receiver, monkeypatch: pytest.MonkeyPatch) -> Journey:
    """A wait and a webhook whose credential cannot be decrypted; an event ends the wait, another one all."""
    monkeypatch.setattr(revisions, "_known", BoundedCache(most=1))
    steps: list[dict[str, Any]] = [
        {"id": "paid", "type": "wait_for_event", "event": "paid", "timeout": "P1D"},
        {"id": "tell", "type": "webhook", "url": receiver.url(), "headers": {"Authorization": "Bearer x"}, "body": {}},
    ]
    journey = JourneyFactory.create(workspace=acme, steps=steps, steps__exit_on=[{"event": "left"}])
    seal_steps(journey)
    return journey


def enter(server: ServerClient, journey: Journey, customer: Customer) -> Enrollment:
    data(trigger(server, journey, {"external_id": customer.external_id}))
    let_workers_decide()
    walk()
    return Enrollment.objects.get(journey=journey, customer=customer)


@pytest.mark.parametrize("what", ["headers", "secret"])
def test_a_claim_sends_the_others_and_says_why_one_waits(
    acme: Workspace, rival: Workspace, receiver: Receiver, settings: Settings, what: str
) -> None:
    [delivery] = standing(acme, receiver.url("/ok?sealed"))
    seal_headers(delivery) if what == "headers" else seal_secret(acme)
    WebhookDelivery.objects.update(due_at=timezone.now() - timedelta(hours=1))
    standing(rival, receiver.url("/ok?theirs"), number=40)
    if what == "headers":
        standing(acme, receiver.url("/ok?ours"), number=40)
    for _ in range(2):
        send(limits=Limits(), threads=4)
        assert as_it_stands(delivery) == ("waiting", 0, REASON)
        make_due()
    sent = {"/ok?theirs": 40, "/ok?ours": 40} if what == "headers" else {"/ok?theirs": 40}
    assert Counter(one.path for one in receiver.arrived) == sent
    settings.ENCRYPTION_KEYS = [*settings.ENCRYPTION_KEYS, LOST]
    if what == "headers":
        send(limits=Limits())
        assert as_it_stands(delivery) == ("delivered", 1, "Answered 200.")


def subscribed(workspace: Workspace, url: str, **fields: Any) -> Subscription:
    """With an event that is to be pushed."""
    made = SUBSCRIPTIONS.save(workspace=workspace, key="crm", url=url, now=timezone.now(), **fields).row
    tell(FeedType.MESSAGE_REFUSED, workspace_id=workspace.id, result="told")
    return made


def told(receiver: Receiver) -> Counter[str]:
    return Counter(one.path for one in receiver.arrived)


def test_a_push_that_cannot_be_signed_costs_no_other_tenants_webhook_or_push_anything(
    acme: Workspace, rival: Workspace, receiver: Receiver, settings: Settings
) -> None:
    subscribed(acme, receiver.url("/ok?our-push"))
    subscribed(rival, receiver.url("/ok?their-push"))
    seal_secret(acme)
    standing(rival, receiver.url("/ok?theirs"), number=40)
    send(limits=Limits(), threads=4, pushes=True)
    make_due()
    Push.objects.update(due_at=TransactionNow())
    send(limits=Limits(), threads=4, pushes=True)
    assert told(receiver) == {"/ok?theirs": 40, "/ok?their-push": 1}
    assert WebhookDelivery.objects.filter(state="delivered", attempts=1).count() == 40
    assert Push.objects.values_list("state", "attempts", "result").get(workspace=acme) == ("waiting", 0, REASON)
    settings.ENCRYPTION_KEYS = [*settings.ENCRYPTION_KEYS, LOST]
    WebhookSecret.objects.filter(workspace=acme).update(secret="whsec_c2VjcmV0")
    Push.objects.update(due_at=TransactionNow())
    send(limits=Limits(), pushes=True)
    assert told(receiver)["/ok?our-push"] == 1


def test_events_of_types_that_only_a_later_version_knows_are_passed_over(
    server: ServerClient, acme: Workspace, rival: Workspace, receiver: Receiver
) -> None:
    made = subscribed(acme, receiver.url("/ok?our-push"))
    Subscription.objects.filter(pk=made.pk).update(types=["message.refused", "of.later"])
    for _ in range(2):
        FeedBatch.objects.create(workspace=acme, type="of.later", size=1, results=["new"])
    standing(rival, receiver.url("/ok?theirs"), number=4)
    send(limits=Limits(), pushes=True)
    assert told(receiver) == {"/ok?theirs": 4, "/ok?our-push": 1}
    told_of = data(server.get(f"/api/v1/feed/{acme.id}"), status=200)
    assert [event["result"] for event in told_of["events"]] == ["told"]
    assert data(server.get(f"/api/v1/feed/{acme.id}?after={told_of['next']}"), status=200)["events"] == []
    [listed] = data(server.get(f"/api/v1/subscriptions/{acme.id}"), status=200)["subscriptions"]
    assert listed["types"] == ["message.refused"]


@pytest.mark.parametrize("amiss", ["cutting", "claiming", "writing"])
def test_whatever_goes_wrong_with_pushes_webhooks_are_sent_once_and_recorded(
    acme: Workspace, rival: Workspace, receiver: Receiver, amiss: str
) -> None:
    subscribed(acme, receiver.url("/ok?our-push"))
    subscribed(rival, receiver.url("/ok?their-push"))
    standing(rival, receiver.url("/ok?theirs"), number=40)
    poison = {
        "cutting": f"ALTER TABLE journeys_push ADD CHECK (workspace_id <> '{acme.id}')",
        "claiming": "ALTER TABLE journeys_push RENAME attempts TO gone",
        "writing": f"ALTER TABLE journeys_push ADD CHECK (workspace_id <> '{acme.id}' OR state = 'waiting')",
    }
    with connection.cursor() as cursor:
        cursor.execute(poison[amiss])
    send(limits=Limits(), threads=4, pushes=True)
    make_due()
    send(limits=Limits(), threads=4, pushes=True)
    pushed = {"cutting": {"/ok?their-push": 1}, "claiming": {}, "writing": {"/ok?their-push": 1, "/ok?our-push": 1}}
    assert told(receiver) == {"/ok?theirs": 40, **pushed[amiss]}
    assert WebhookDelivery.objects.filter(state="delivered", attempts=1).count() == 40


def test_a_result_that_cannot_be_written_costs_the_others_nothing_and_is_an_attempt_that_failed(
    acme: Workspace, rival: Workspace, receiver: Receiver
) -> None:
    [poisoned] = standing(acme, receiver.url("/ok?poisoned"))
    standing(rival, receiver.url("/ok?theirs"), number=40)
    with connection.cursor() as cursor:
        cursor.execute(
            f"ALTER TABLE journeys_webhookattempt ADD CHECK (delivery_id <> {poisoned.id} OR status IS NULL)"
        )
    send(limits=Limits(), threads=4)
    assert told(receiver) == {"/ok?theirs": 40, "/ok?poisoned": 1}
    assert WebhookDelivery.objects.filter(state="delivered", attempts=1).count() == 40
    assert as_it_stands(poisoned)[:2] == ("waiting", 1)
    assert WebhookAttempt.objects.get(delivery=poisoned).error.startswith("What came of it could not be recorded")


def test_a_webhook_whose_answer_cannot_be_read_is_not_sent_and_one_whose_guard_cannot_is(
    acme: Workspace, receiver: Receiver
) -> None:
    [unread], [guarded] = standing(acme, receiver.url("/ok?unread")), standing(acme, receiver.url("/ok?guarded"))
    later = {"ok": {"field": "answer.body.a", "op": "later", "value": 1}}
    WebhookDelivery.objects.filter(id=unread.id).update(answer_rules=later)
    Journey.objects.filter(id=guarded.enrollment.journey_id).update(guards={"of": 5, "later": 1})
    send(limits=Limits())
    assert told(receiver) == {"/ok?guarded": 1}
    assert as_it_stands(guarded)[:2] == ("delivered", 1)
    state, attempts, reason = as_it_stands(unread)
    assert (state, attempts, reason.partition(":")[0]) == ("waiting", 0, "InvalidSteps")


def test_many_that_cannot_be_decrypted_keep_no_later_one_waiting(acme: Workspace, receiver: Receiver) -> None:
    for delivery in standing(acme, receiver.url("/ok?sealed"), number=50):
        seal_headers(delivery)
    WebhookDelivery.objects.update(due_at=timezone.now() - timedelta(hours=1))
    standing(acme, receiver.url("/ok?last"))
    send(limits=Limits(), threads=4)
    assert [one.path for one in receiver.arrived] == ["/ok?last"]
    assert WebhookDelivery.objects.filter(state="waiting", result=REASON, attempts=0).count() == 50


def test_decisions_and_events_go_on_and_only_the_request_waits_with_its_reason(
    server: ServerClient, acme: Workspace, ada: Customer, journey: Journey, settings: Settings, receiver: Receiver
) -> None:
    inside, leaving = enter(server, journey, ada), CustomerFactory.create(workspace=acme, external_id="bob")
    other = JourneyFactory.create(workspace=acme, steps=[{"id": "a", "type": "delay", "for": "P1D"}])
    enter(server, other, leaving)
    enter(server, journey, leaving)
    for event, customer in (("paid", ada), ("left", leaving)):
        events = [{"external_id": customer.external_id, "eventName": event}]
        assert data(server.post(customers_path(acme, "events"), {"events": events}))["recorded"] == 1
    assert Enrollment.objects.get(journey=journey, customer=leaving).state == "exited"
    for _ in range(7):
        walk()
        inside.refresh_from_db()
        assert (inside.state, inside.attempts, inside.error) == ("active", 0, REASON.partition(": ")[2])
        assert StepRun.objects.get(enrollment=inside).state == "waiting"
        assert inside.due_at
        Enrollment.objects.filter(id=inside.id).update(due_at=F("due_at") - timedelta(minutes=1))
    shown = data(server.get(f"/api/v1/journeys/{acme.id}/enrollments/{inside.id}"), status=200)
    assert shown["error"] == inside.error
    settings.ENCRYPTION_KEYS = [*settings.ENCRYPTION_KEYS, LOST]
    revisions._known = BoundedCache(most=1)  # as in a process that was started with the key
    walk()
    send(limits=Limits())
    assert [one.headers["authorization"] for one in receiver.arrived] == ["Bearer x"]


def test_others_of_the_same_batch_are_walked_at_once(
    server: ServerClient, acme: Workspace, ada: Customer, journey: Journey, receiver: Receiver
) -> None:
    enter(server, journey, ada)
    events = [{"external_id": ada.external_id, "eventName": "paid"}]
    data(server.post(customers_path(acme, "events"), {"events": events}))
    step = {"id": "tell", "type": "webhook", "url": receiver.url("/ok?fine"), "body": {}}
    well = JourneyFactory.create(workspace=acme, steps=[step])
    data(trigger(server, well, {"external_id": ada.external_id}))
    let_workers_decide()
    walk()
    assert WebhookDelivery.objects.get().url.endswith("/ok?fine")


def test_what_could_not_be_decrypted_is_not_saved_as_if_it_were_a_value(acme: Workspace, journey: Journey) -> None:
    before = JourneyRevision.objects.values("steps").get(journey=journey)
    revision = JourneyRevision.objects.get(journey=journey)
    revision.save()
    assert JourneyRevision.objects.values("steps").get(journey=journey) == before


def test_pages_show_the_rest(server: ServerClient, acme: Workspace, ada: Customer, journey: Journey) -> None:
    enrollment = enter(server, journey, ada)
    [delivery] = standing(acme, "http://one.example/")
    seal_headers(delivery)
    WebhookDelivery.objects.update(state="failed")
    seal_secret(acme)
    staff = Client()
    staff.force_login(User.objects.create_superuser("root"))
    secret = WebhookSecret.objects.get()
    for path in (
        "", "journeys/webhookdelivery/", "journeys/enrollment/", f"journeys/enrollment/{enrollment.id}/change/",
        f"journeys/enrollment/{delivery.enrollment_id}/change/", f"journeys/journey/{journey.id}/change/",
        "journeys/journeyrevision/", "journeys/webhooksecret/", f"journeys/webhooksecret/{secret.id}/change/",
    ):  # fmt: skip
        assert staff.get(f"/admin/{path}").status_code == 200, path
    assert "ENCRYPTION_KEYS lacks" in staff.get(f"/admin/journeys/webhooksecret/{secret.id}/change/").content.decode()
    answer = server.get(f"/api/v1/journeys/{acme.id}/enrollments/{delivery.enrollment_id}")
    assert data(answer, status=200)["steps"][0]["webhook"]["headers"] == {}
