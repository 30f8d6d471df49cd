"""Who belongs to a segment."""

from typing import Any

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Journey
from tests.calls import data, trigger
from tests.clients import ServerClient
from tests.factories import CustomerFactory, JourneyFactory, SegmentFactory

PRO: dict[str, Any] = {"field": "customer.plan", "op": "eq", "value": "pro"}


@pytest.fixture
def journey(acme: Workspace) -> Journey:
    return JourneyFactory.create(workspace=acme)


@pytest.fixture
def ada(acme: Workspace) -> Customer:
    return CustomerFactory.create(workspace=acme, external_id="ada", attributes={"plan": "pro"})


@pytest.fixture
def bob(acme: Workspace) -> Customer:
    return CustomerFactory.create(workspace=acme, external_id="bob", attributes={"plan": "free"})


def test_a_segment_holds_who_meets_its_conditions(
    server: ServerClient, journey: Journey, ada: Customer, bob: Customer, rival: Workspace
) -> None:
    CustomerFactory.create(workspace=rival, attributes={"plan": "pro"})
    segment = SegmentFactory.create(workspace=journey.workspace, conditions=PRO)
    assert data(trigger(server, journey, {"segment_ids": [segment.id]}))["customerIds"] == [ada.id]
