"""Receivers' credentials and signing secrets are not readable in a copy of the database."""

from io import StringIO

import pytest
from django.core.management import CommandError, call_command
from django.db import connection
from django.utils import timezone
from pytest_django import Settings

from customers.models import Customer
from engage.credentials.encryption import UnknownEncryptionKey
from engage.credentials.sealed import is_sealed
from engage.models import Workspace
from engage.process.bounded_cache import BoundedCache
from journeys.connection.resource import CONNECTIONS
from journeys.engine.enrollments import revisions
from journeys.models import Connection, Enrollment, JourneyRevision, WebhookDelivery, WebhookSecret
from journeys.tasks import walk
from tests.journeys.webhooks.standing import send
from tests.support.calls import data, let_workers_decide, trigger
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory
from tests.support.receiver import Receiver

TOKEN = "Bearer receivers-own-token"
OLD, NEW = "o" * 32, "n" * 32


def everything_stored() -> str:
    """All rows of all tables, as a copy of the database holds them."""
    with connection.cursor() as cursor:
        found = []
        for table in connection.introspection.table_names(cursor):
            cursor.execute(f'SELECT string_agg(r::text, chr(10)) FROM "{table}" AS r')
            found.append(str(cursor.fetchone()[0]))
    return "\n".join(found)


@pytest.fixture
def sent(server: ServerClient, acme: Workspace, ada: Customer, receiver: Receiver) -> None:
    """A webhook with a credential of its receiver's has been sent."""
    step = {"id": "tell", "type": "webhook", "url": receiver.url("/"), "headers": {"Authorization": TOKEN}, "body": {}}
    journey = JourneyFactory.create(workspace=acme, steps=[step])
    definition = {"url": receiver.url("/ok/receivers-own-token"), "secretUrl": True, "headers": {"X": TOKEN}}
    CONNECTIONS.save(workspace=acme, key="mailer", now=timezone.now(), definition=definition)
    data(trigger(server, journey, {"external_id": ada.external_id}))
    let_workers_decide()
    walk()
    send()


@pytest.mark.usefixtures("sent")
def test_a_copy_of_the_database_tells_neither_credentials_nor_secrets(receiver: Receiver) -> None:
    stored = everything_stored()
    assert "receivers-own-token" not in stored
    assert "whsec_" not in stored
    assert receiver.arrived[0].headers["authorization"] == TOKEN
    assert WebhookSecret.objects.get().secret.startswith("whsec_")
    assert WebhookDelivery.objects.get().headers == {"Content-Type": "application/json", "Authorization": TOKEN}
    assert JourneyRevision.objects.get().steps[0]["headers"] == {"Authorization": TOKEN}


@pytest.mark.usefixtures("sent")
def test_an_old_key_may_go_once_everything_is_written_anew(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [NEW, *settings.ENCRYPTION_KEYS]
    call_command("encrypt", stdout=StringIO())
    settings.ENCRYPTION_KEYS = [NEW]
    assert JourneyRevision.objects.get().steps[0]["headers"] == {"Authorization": TOKEN}
    assert Connection.objects.get().definition["headers"] == {"X": TOKEN}
    assert WebhookDelivery.objects.get().headers["Authorization"] == TOKEN
    assert WebhookSecret.objects.get().secret.startswith("whsec_")


@pytest.mark.usefixtures("sent")
def test_without_its_key_nothing_is_read(settings: Settings) -> None:
    settings.ENCRYPTION_KEYS = [NEW]
    with pytest.raises(UnknownEncryptionKey):
        assert WebhookDelivery.objects.get().headers
    with pytest.raises(UnknownEncryptionKey):
        assert WebhookSecret.objects.get().secret
    sealed = JourneyRevision.objects.get().steps[0]["headers"]["Authorization"]
    assert is_sealed(sealed)
    with pytest.raises(CommandError, match="lacks the key of 1 webhook secrets, 1 journey revisions, 1 failures, 1 c"):
        call_command("encrypt", stdout=StringIO())
    assert JourneyRevision.objects.get().steps[0]["headers"]["Authorization"] == sealed


@pytest.mark.usefixtures("sent")
def test_what_was_stored_before_is_read_and_then_encrypted() -> None:
    with connection.cursor() as cursor:
        cursor.execute("UPDATE journeys_webhooksecret SET secret = 'whsec_plain'")
        cursor.execute("""UPDATE journeys_webhookdelivery SET headers = '{"Authorization": "was-plain"}'""")
        cursor.execute(
            "UPDATE journeys_journeyrevision SET steps = jsonb_set(steps, '{0,headers}', '{\"A\": \"was-plain\"}')"
        )
    assert WebhookSecret.objects.get().secret == "whsec_plain"
    assert WebhookDelivery.objects.get().headers == {"Authorization": "was-plain"}
    assert JourneyRevision.objects.get().steps[0]["headers"] == {"A": "was-plain"}
    call_command("encrypt", stdout=StringIO())
    stored = everything_stored()
    assert "whsec_plain" not in stored
    assert "was-plain" not in stored
    assert WebhookSecret.objects.get().secret == "whsec_plain"


def test_an_enrollment_waits_for_a_key_that_is_missing(
    server: ServerClient,
    acme: Workspace,
    ada: Customer,
    receiver: Receiver,
    settings: Settings,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    step = {"id": "tell", "type": "webhook", "url": receiver.url("/"), "headers": {"Authorization": TOKEN}, "body": {}}
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": "day", "type": "delay", "for": "P1D"}, step])
    data(trigger(server, journey, {"external_id": ada.external_id}))
    let_workers_decide()
    keys, settings.ENCRYPTION_KEYS = settings.ENCRYPTION_KEYS, [NEW]
    monkeypatch.setattr(revisions, "_known", BoundedCache(most=1))  # as in a process that has just started
    for _ in range(7):
        Enrollment.objects.update(due_at="2020-01-01T00:00Z")
        walk()
    assert Enrollment.objects.get().state == "active"  # after more attempts than a step that fails has
    settings.ENCRYPTION_KEYS = keys
    Enrollment.objects.update(due_at="2020-01-01T00:00Z")
    walk()
    assert Enrollment.objects.get().step_id == "day"
