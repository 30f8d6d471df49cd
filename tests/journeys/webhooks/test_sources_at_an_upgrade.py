"""What 1.0.0 wrote knows no source: it gets that of its step, and waits behind no circuit that all of it shares."""

from collections.abc import Callable
from importlib import import_module

import pytest
from django.apps import apps
from django.db import connection

from engage.models import Workspace
from journeys.models import Enrollment, WebhookCircuit, WebhookDelivery
from tests.journeys.webhooks.standing import make_due, send, standing
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db

_AS_BEFORE = """
INSERT INTO journeys_webhookdelivery
    (workspace_id, enrollment_id, ordinal, host, method, url, headers, body, state, result, attempts, due_at, again)
SELECT workspace_id, enrollment_id, ordinal, host, method, url, headers, body, state, result, attempts, due_at, again
FROM gone
"""


def migrated() -> None:
    migration = import_module("journeys.migrations.0079_what_waits_has_a_source")
    with connection.schema_editor() as editor:
        migration.give(apps, editor)


def written_beside() -> None:
    """By a walker of 1.0.0 that still runs, in a statement behind that which writes its history."""
    with connection.cursor() as cursor:
        cursor.execute("CREATE TEMP TABLE gone ON COMMIT DROP AS SELECT * FROM journeys_webhookdelivery")
        cursor.execute("DELETE FROM journeys_webhookdelivery")
        cursor.execute(_AS_BEFORE)


def claimed() -> None:
    send()


@pytest.mark.parametrize("given", [migrated, written_beside, claimed])
def test_each_gets_the_source_of_its_step(acme: Workspace, receiver: Receiver, given: Callable[[], None]) -> None:
    for _ in range(2):
        standing(acme, receiver.url(), number=2, source="")
    WebhookCircuit.objects.create(workspace=acme, host=receiver.host, source="", failures=3)
    assert set(WebhookDelivery.objects.values_list("source", flat=True)) == {""}
    given()
    wanted = {(one.id, f"step:{one.journey_id}:call") for one in Enrollment.objects.all()}
    assert set(WebhookDelivery.objects.values_list("enrollment_id", "source")) == wanted
    assert WebhookCircuit.objects.exists() == (given is not migrated)  # nothing looks there any more


def test_what_waited_behind_a_failing_path_is_sent(acme: Workspace, receiver: Receiver) -> None:
    standing(acme, receiver.url("/status/500"), number=30, source="")
    standing(acme, receiver.url("/ok"), number=30, source="")
    WebhookCircuit.objects.create(
        workspace=acme, host=receiver.host, source="", failures=10, open_until="2099-01-01T00:00Z"
    )
    send(threads=4)
    assert not receiver.arrived
    migrated()
    send(threads=4)
    assert sum(one.path == "/ok" for one in receiver.arrived) == 30
    make_due()
    send(threads=4)
    assert sum(one.path != "/ok" for one in receiver.arrived) < 30
