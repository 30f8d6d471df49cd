"""What is told and kept of deliveries beside the calls: statistics, metrics, and for how long."""

import re
from datetime import timedelta
from io import StringIO

import time_machine
from django.core.management import call_command
from django.test import Client
from django.utils import timezone

from customers.models import Customer
from engage.models import Workspace
from engage.redis.metric_counters import metric_counters
from journeys.engine.in_app.expiring import expire
from journeys.engine.in_app.transitions import State
from journeys.models import InAppDelivery
from tests.bridge.in_app.deliveries import OFFER, deliver, do, journey_of, offer
from tests.support.calls import data, let_workers_walk, trigger
from tests.support.clients import ServerClient
from tests.support.factories import CustomerFactory


def _counted() -> dict[str, float]:
    """How many deliveries the metrics count, by their state."""
    metric_counters.send()
    page = Client().get("/metrics").content.decode()
    found = re.findall(r'^engage_in_app_deliveries_total\{state="(\w+)"\} (\S+)$', page, re.MULTILINE)
    return {state: float(number) for state, number in found}


def test_what_became_of_deliveries_is_in_the_statistics_and_the_metrics(server: ServerClient, acme: Workspace) -> None:
    offer(acme)
    journey = journey_of(acme, OFFER)
    people = CustomerFactory.create_batch(3, workspace=acme)
    data(trigger(server, journey, {"external_ids": [one.external_id for one in people]}))
    let_workers_walk()
    before = _counted()
    acted, closed, expired = InAppDelivery.objects.order_by("id")
    do(acted, State.SHOWN)
    do(acted, State.ACTED)
    do(closed, State.CLOSED)  # whose `shown` was lost
    InAppDelivery.objects.filter(id=expired.id).update(expires_at=timezone.now() - timedelta(hours=1))
    expire(seconds=1)
    became = {"shown": 2, "acted": 1, "closed": 1, "expired": 1}
    stats = data(server.get(f"/api/v1/journeys/{acme.id}/{journey.id}/stats"), status=200)
    assert stats["steps"]["offer"]["inApp"] == became
    assert {state: number - before[state] for state, number in _counted().items()} == became


def test_what_is_over_is_kept_for_a_while_and_what_is_due_until_it_is_over(ada: Customer) -> None:
    now, due = timezone.now(), deliver(ada)
    deliver(ada, state="closed", ended_at=now)
    lately = deliver(ada, state="acted", ended_at=now + timedelta(days=2))
    with time_machine.travel(now + timedelta(days=91)):
        call_command("prune", stdout=StringIO())
    assert set(InAppDelivery.objects.values_list("id", flat=True)) == {due.id, lately.id}
