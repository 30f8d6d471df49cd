"""What an author may begin with: each is seeded as it stands, has nothing to be warned of, and is walked to its end."""

from datetime import UTC, datetime

import pytest

from engage.models import Workspace
from journeys.engine.entering.walk_through import walk_through
from journeys.journey.authoring import refusals_of
from journeys.journey.starters import STARTERS
from journeys.journey.warnings import warnings_of
from journeys.models import Journey
from journeys.seeding.seed import read_seed, seed_workspace
from tests.support.cases import each
from tests.support.factories import CustomerFactory

NOW = datetime(2026, 11, 26, 12, tzinfo=UTC)


@each("name", STARTERS)
@pytest.mark.django_db
def test_it_is_seeded_and_walked(name: str) -> None:
    starter = STARTERS[name]
    seed_workspace(seed=read_seed(starter.seed), crowd_size=0, renew_keys=False, now=NOW)
    journey = Journey.objects.get()
    content = starter.content
    assert list(refusals_of(journey, steps=content["steps"], exit_on=content["exitOn"])) == []
    assert warnings_of(journey, steps=content["steps"], exit_on=content["exitOn"]) == []
    ada = CustomerFactory.create(workspace=Workspace.objects.get(), email="ada@example.com")
    walk = walk_through(journey=journey, customer=ada, payload={"endsAt": "2027-01-31", "items": ["a"]}, now=NOW)
    assert walk.enters
    assert walk.rehearsal.ended is not None
    assert "failed" not in {step.step_record.state for step in walk.rehearsal.steps}
