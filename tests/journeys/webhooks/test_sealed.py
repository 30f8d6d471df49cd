"""One row cannot be decrypted, because its key is missing: it waits with its reason, and costs the others nothing."""

from collections import Counter
from datetime import timedelta
from typing import Any

import pytest
from cryptography.fernet import Fernet
from django.contrib.auth.models import User
from django.db import connection
from django.db.models import F
from django.test import Client
from django.utils import timezone
from pytest_django import Settings

from customers.models import Customer
from engage.bounded_cache import BoundedCache
from engage.encryption import key_of
from engage.models import Workspace
from journeys.enrollments import revisions
from journeys.models import Enrollment, Journey, JourneyRevision, StepRun, WebhookDelivery, WebhookSecret
from journeys.tasks import walk
from journeys.webhooks.client import Limits
from journeys.webhooks.signing_secrets import current_secrets
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
