"""What waits says until when and why, wherever it is shown; and staff have it tried at once."""

from datetime import datetime, timedelta

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone

from customers.models import Customer
from engage.models import AuditEntry, Workspace
from journeys.engine.operations.backlog import backlog
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.models import SteeredHost, WebhookCircuit, WebhookDelivery, WebhookHost
from journeys.tasks import walk
from tests.journeys.webhooks.standing import make_due, send
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db


@pytest.fixture
def until() -> datetime:
    return timezone.now().replace(microsecond=0) + timedelta(seconds=27)


@pytest.fixture
def delivery(
    server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver, until: datetime
) -> WebhookDelivery:
    """It is due, and its step is left alone."""
    steps = [{"id": "tell", "type": "webhook", "url": receiver.url("/status/500"), "body": {}}]
    journey = JourneyFactory.create(workspace=acme, steps=steps)
    data(trigger(server, journey, {"external_id": ada.external_id}))
    let_workers_decide()
    walk()
    delivery = WebhookDelivery.objects.get()
    assert delivery.source == f"step:{journey.id}:tell"
    WebhookCircuit.objects.create(
        workspace=acme, host=delivery.host, source=delivery.source, failures=10, last_failure="Answered 500.",
        failing_since=timezone.now() - timedelta(minutes=9), open_until=until,
    )  # fmt: skip
    return delivery


def shown(server: ServerClient, delivery: WebhookDelivery) -> tuple[str | None, str | None, str | None]:
    """Its next attempt and why that waits, and when the enrollment goes on."""
    path = f"/api/v1/journeys/{delivery.workspace_id}/enrollments/{delivery.enrollment_id}"
    told = data(server.get(path), status=200)
    webhook = told["steps"][0]["webhook"]
    assert webhook["state"] == "waiting"
    assert webhook["result"] is None
    return webhook["nextAttemptAt"], webhook["waitsBecause"], told["goesOnAt"]


def written(moment: datetime) -> str:
    return f"{moment:%Y-%m-%dT%H:%M:%S}.000Z"


def test_the_api_says_until_when_and_why(server: ServerClient, delivery: WebhookDelivery, until: datetime) -> None:
    because = f"Left alone until {until:%H:%M:%S} UTC after 10 failures in a row: Answered 500."
    assert shown(server, delivery) == (written(until), because, written(until))
    customer = delivery.enrollment.customer_id
    page = data(server.get(f"/api/v1/customers/{delivery.workspace_id}/{customer}/journeys"), status=200)
    assert page["triggers"][0]["enrollment"]["goesOnAt"] == written(until)
    end = f"/api/v1/journeys/{delivery.workspace_id}/enrollments/{delivery.enrollment_id}/exit"
    later = until + timedelta(minutes=1)
    WebhookHost.objects.create(
        workspace_id=delivery.workspace_id, host=delivery.host, failures=12, last_failure="Gone.", open_until=later
    )
    assert shown(server, delivery)[:1] == (written(later),)
    SteeredHost.objects.create(workspace_id=delivery.workspace_id, host=delivery.host, held_at=timezone.now())
    assert shown(server, delivery) == (None, "Webhooks to this host are held.", None)
    assert data(server.post(end, {"reason": "Over."}), status=200)["goesOnAt"] is None


def test_what_is_behind_nothing_is_due_when_it_is(server: ServerClient, delivery: WebhookDelivery) -> None:
    WebhookCircuit.objects.all().delete()
    next_attempt, because, goes_on = shown(server, delivery)
    assert next_attempt == goes_on
    assert because is None


def test_pages_have_a_card_with_which_it_is_tried_at_once(
    delivery: WebhookDelivery, acme: Workspace, rival: Workspace
) -> None:
    staff = Client()
    staff.force_login(User.objects.create_superuser("root"))
    journey = delivery.enrollment.journey_id
    for path in ("", f"journeys/journey/{journey}/change/"):
        page = staff.get(f"/admin/{path}").content.decode()
        assert "the step tell of" in page, path
        assert "after 10 failures in a row: Answered 500." in page, path
        assert "Try now" in page, path
    timeline = staff.get(f"/admin/journeys/enrollment/{delivery.enrollment_id}/change/").content.decode()
    assert "Left alone until" in timeline
    assert claim_due(HostSlots(8)) == []
    asked = {"host": delivery.host, "source": delivery.source}
    where = "/admin/journeys/webhookdelivery/try-now/"
    assert staff.post(where, {**asked, "workspace": rival.id}).status_code == 302
    assert claim_due(HostSlots(8)) == []
    assert staff.post(where, {**asked, "workspace": acme.id}).status_code == 302
    [probe] = claim_due(HostSlots(8))
    assert (probe.id, probe.probes_source, probe.probes_host) == (delivery.id, True, False)
    assert AuditEntry.objects.filter(action="steered", note="Tried now.").count() == 1
    onlooker = Client()
    onlooker.force_login(User.objects.create_user("onlooker", is_staff=True))
    assert onlooker.post(where, {**asked, "workspace": acme.id}).status_code == 403
    assert "Try now" not in onlooker.get("/admin/").content.decode()


def test_trying_a_host_now_lets_one_of_its_sources_through(delivery: WebhookDelivery, until: datetime) -> None:
    WebhookHost.objects.create(workspace=delivery.workspace, host=delivery.host, failures=12, open_until=until)
    staff = Client()
    staff.force_login(User.objects.create_superuser("root"))
    asked = {"host": delivery.host, "workspace": delivery.workspace_id}
    staff.post("/admin/journeys/webhookdelivery/try-now/", asked)
    [probe] = claim_due(HostSlots(8))
    assert (probe.probes_source, probe.probes_host) == (True, True)
    assert "12 failures" not in staff.get("/admin/journeys/webhookdelivery/?what=trying").content.decode()


def test_the_backlog_says_for_how_long_it_has_failed_and_what_else_is_late(delivery: WebhookDelivery) -> None:
    found = backlog()
    assert (found.open_circuits, found.webhooks.seconds_late) == (1, 0)
    assert 500 < found.seconds_failing < 600
    other = WebhookDelivery.objects.get()
    other.pk, other.ordinal, other.source = None, 1, "step:other"
    other.due_at = timezone.now() - timedelta(minutes=2)
    other.save(force_insert=True)
    assert 115 < backlog().webhooks.seconds_late < 180


def test_a_failure_is_kept_in_words(delivery: WebhookDelivery) -> None:
    WebhookCircuit.objects.update(open_until=None, failures=9, last_failure="")
    make_due()
    send()
    circuit = WebhookCircuit.objects.get()
    assert (circuit.failures, circuit.last_failure) == (10, "Answered 500.")
    assert circuit.open_until
