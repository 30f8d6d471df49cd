"""The tour of every step, as the guide to journeys prints it."""

import re
from dataclasses import replace
from datetime import datetime

from config import ROOT
from config.local.tour import MAILER, tour_connection, tour_steps
from engage.json.writing import written
from journeys.management.commands.walk_through import _step_in_words
from journeys.steps.provider import parse_provider
from journeys.steps.rehearsal import rehearse
from journeys.steps.surroundings import Surroundings
from journeys.trigger.dry_runs import RehearsalData
from tests.customers.facts import NOBODY
from tests.journeys.steps.contexts import context, course


def test_the_guide_prints_the_tour_as_it_is() -> None:
    """The ids that are printed decide which half of the customers this one belongs to."""
    _, _, printed = (ROOT / "docs" / "journeys.md").read_text().partition("walk_through tour ")
    journey_id, customer_id = re.findall(r"\b[0-9a-f]{24}\b", printed)[:2]
    (began,) = re.findall(r'touredAt = "(.+)"', printed)
    grace = replace(NOBODY, id=customer_id, external_id="grace", email="grace@example.com", attributes={"plan": "pro"})
    mailer = parse_provider(tour_connection(receiver="http://127.0.0.1:8001"), connection_id="", key=MAILER)
    in_context = replace(
        context(customer=grace, now=datetime.fromisoformat(began)),
        journey_id=journey_id,
        surroundings=Surroundings(providers={MAILER: mailer}),
    )
    way = written(RehearsalData.of(rehearse(course(*tour_steps(receiver="http://127.0.0.1:8001")), in_context)))
    assert re.findall(r"^2026.*", printed, re.MULTILINE) == [next(_step_in_words(step)) for step in way["steps"]]
