"""Hosts of a workspace are held, released and given a rate; senders share it."""

import time

import pytest

from engage.models import Workspace
from journeys.engine.steering.hosts import hold_host, rate_host, release_host
from journeys.engine.webhooks.claims import claim_due
from journeys.engine.webhooks.host_slots import HostSlots
from journeys.models import SteeredHost, WebhookDelivery
from tests.journeys.webhooks.standing import send, standing
from tests.support.receiver import Receiver

pytestmark = pytest.mark.django_db
WHO = {"reason": "They asked.", "actor": "staff root"}


def test_nothing_is_sent_to_a_host_while_it_is_held(acme: Workspace, rival: Workspace, receiver: Receiver) -> None:
    ours, theirs = standing(acme, receiver.url(), number=2), standing(rival, receiver.url())
    host = ours[0].host
    assert hold_host(workspace_id=acme.id, host=host, **WHO)
    assert not hold_host(workspace_id=acme.id, host=host, **WHO)
    send()
    states = WebhookDelivery.objects.values_list("workspace_id", "state")
    assert sorted(states) == sorted([(acme.id, "waiting")] * 2 + [(rival.id, "delivered")])
    assert len(receiver.arrived) == len(theirs)
    assert release_host(workspace_id=acme.id, host=host, **WHO)
    assert not release_host(workspace_id=acme.id, host=host, **WHO)
    send()
    assert len(receiver.arrived) == 3


def test_a_claim_takes_no_more_than_the_rate_of_a_host(acme: Workspace, rival: Workspace) -> None:
    ours = standing(acme, "https://one.example/", number=5)
    standing(rival, "https://one.example/", number=2)
    host = ours[0].host
    assert rate_host(workspace_id=acme.id, host=host, per_second=2, **WHO)
    assert not rate_host(workspace_id=acme.id, host=host, per_second=2, **WHO)
    slots = HostSlots(32)
    first = claim_due(slots)
    assert sorted(one.workspace_id for one in first) == sorted([acme.id, rival.id, rival.id])
    assert slots.paced
    assert claim_due(HostSlots(32)) == []  # another sender's, too
    SteeredHost.objects.update(next_at=None)
    assert [one.workspace_id for one in claim_due(slots)] == [acme.id]
    rate_host(workspace_id=acme.id, host=host, per_second=None, **WHO)
    assert len(claim_due(slots)) == 3
    assert not slots.paced


@pytest.mark.django_db(transaction=True)
def test_a_sender_stays_at_a_host_with_a_rate_and_keeps_to_it(acme: Workspace, receiver: Receiver) -> None:
    host = standing(acme, receiver.url(), number=8)[0].host
    rate_host(workspace_id=acme.id, host=host, per_second=20, **WHO)
    began = time.monotonic()
    send()
    took = time.monotonic() - began
    assert len(receiver.arrived) == 8
    assert took > 0.2  # with a tenth of a second ahead, eight requests take at least a quarter of one
