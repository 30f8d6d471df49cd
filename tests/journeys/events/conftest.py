"""Who waits for an event."""

import pytest

from customers.models import Customer
from engage.models import Workspace
from journeys.models import Enrollment
from tests.journeys.events.reporting import THANK, WAIT
from tests.journeys.walking.stories import enter
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory


@pytest.fixture
def waiting(acme: Workspace, server: ServerClient, ada: Customer) -> Enrollment:
    """Ada waits for an order."""
    enrollment = enter(server, JourneyFactory.create(workspace=acme, steps=[WAIT, THANK]), ada)
    let_workers_walk()
    enrollment.refresh_from_db()
    assert (enrollment.step_id, enrollment.awaits_event) == ("wait", "ordered")
    return enrollment
