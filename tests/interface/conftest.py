"""Who is in a journey that several modules steer."""

import pytest

from engage.models import Workspace
from journeys.models import Enrollment
from tests.interface.steered import NOTE
from tests.journeys.walking.stories import enter
from tests.support.calls import let_workers_walk
from tests.support.clients import ServerClient
from tests.support.factories import DAY, CustomerFactory, JourneyFactory


@pytest.fixture
def inside(acme: Workspace, server: ServerClient) -> Enrollment:
    """Ada waits for a day, then something is noted of her."""
    journey = JourneyFactory.create(workspace=acme, steps=[DAY, NOTE])
    enrollment = enter(server, journey, CustomerFactory.create(workspace=acme, external_id="ada"))
    let_workers_walk()
    return enrollment
