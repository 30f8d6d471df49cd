"""The notes by which senders find the hosts at which something is due."""

from datetime import timedelta
from typing import Any

import pytest
from django.db import connection, transaction
from django.db.models import Exists, OuterRef
from django.utils import timezone

from engage.models import Workspace
from journeys.engine.webhooks.claims import claim_due, release
from journeys.engine.webhooks.due_hosts import repair, settle
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.models import HostDue, WebhookDelivery
from tests.journeys.webhooks.standing import make_due, send, standing
from tests.support.plans import rows_gone_through
from tests.support.receiver import Receiver
from tests.support.simultaneous import all_at_once

pytestmark = pytest.mark.django_db
with_others = pytest.mark.django_db(transaction=True)
HOSTS = 300


def unnoted() -> list[WebhookDelivery]:
    """What waits without a note that is early enough."""
    notes = HostDue.objects.filter(
        workspace=OuterRef("workspace"), host=OuterRef("host"), due_at__lte=OuterRef("due_at")
    )
    return list(WebhookDelivery.objects.filter(~Exists(notes), state="waiting"))


@with_others
@pytest.mark.parametrize(
    "was", [{}, {"state": "failed"}, {"state": "held"}, {"due_at": timedelta(days=1)}, {"host": "other:443"}]
)
def test_whatever_begins_to_wait_or_becomes_due_earlier_is_noted(acme: Workspace, was: dict[str, Any]) -> None:
    """By any statement: the database sees to it."""
    [delivery] = standing(acme, "https://mail.example/")
    waits = {"state": "waiting", "host": delivery.host, "due_at": delivery.due_at}
    later = {name: timezone.now() + value if name == "due_at" else value for name, value in was.items()}
    WebhookDelivery.objects.update(**later)
    HostDue.objects.all().delete()
    if was:
        WebhookDelivery.objects.update(**waits)
    else:
        standing(acme, "https://mail.example/")
    assert HostDue.objects.filter(host=delivery.host, due_at__lte=timezone.now()).exists()


@with_others
def test_notes_hold_through_the_life_of_a_webhook(acme: Workspace, receiver: Receiver) -> None:
    standing(acme, receiver.url("/status/503"), number=3)
    for _ in range(3):
        settle()
        claimed = claim_due(HostSlots(8))
        settle()
        assert unnoted() == []
        release(claimed)
        assert unnoted() == []
        send()
        settle()
        assert unnoted() == []
        make_due()
    HostDue.objects.update(due_at=timezone.now())
    settle()
    assert HostDue.objects.count() == 1
    WebhookDelivery.objects.update(state="failed")
    settle()
    assert not HostDue.objects.exists()


@with_others
def test_hosts_at_which_nothing_is_due_cost_a_claim_nothing(acme: Workspace) -> None:
    standing(acme, "https://first.example/", number=1)
    with rows_gone_through() as of_one:
        claim_due(HostSlots(8))
    deliveries = standing(acme, "https://mail.example/", number=HOSTS)
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE journeys_webhookdelivery SET host = id || '.example:443', due_at = now() + interval '1 day'"
        )
        cursor.execute("UPDATE journeys_webhookdelivery SET due_at = now() WHERE id = %s", [deliveries[0].pk])
    settle()
    with rows_gone_through() as rows:
        claimed = claim_due(HostSlots(8))
    assert [one.id for one in claimed] == [deliveries[0].pk]
    # Where the planner takes so few notes for fewer still, it reads them all; but none of their deliveries.
    assert max(rows.values()) - max(of_one.values()) < 2 * HOSTS


@with_others
def test_lost_notes_are_written_again(acme: Workspace, receiver: Receiver) -> None:
    standing(acme, receiver.url(), number=2)
    HostDue.objects.all().delete()
    assert send() == []
    repair()
    repair()
    assert HostDue.objects.count() == 1
    send()
    assert len(receiver.arrived) == 2


@with_others
def test_what_is_added_while_notes_are_settled_is_found(acme: Workspace) -> None:
    """Its note is not among those that were seen, as it is not among the deliveries."""
    [first] = standing(acme, "https://mail.example/")
    WebhookDelivery.objects.update(state="delivered")
    with transaction.atomic():
        WebhookDelivery.objects.update(state="waiting")
        all_at_once([settle])
    assert unnoted() == []
    assert [one.id for one in claim_due(HostSlots(8))] == [first.pk]


@with_others
def test_senders_who_settle_at_once_leave_a_note(acme: Workspace) -> None:
    standing(acme, "https://mail.example/", number=5)
    for _ in range(5):
        make_due()
        all_at_once([settle] * 4)
        assert unnoted() == []
