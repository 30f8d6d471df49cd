"""A key stands wherever the id may, and no new key can be taken for something else."""

from typing import Any

import pytest
from django.core.exceptions import ValidationError
from django.db import connection
from django.test.utils import CaptureQueriesContext
from django.utils import timezone

from customers.models import Customer, Segment
from engage.models import Workspace
from engage.resources.resource import InvalidDefinition
from journeys.connection.resource import CONNECTIONS
from journeys.definitions.reading import InvalidSeed
from journeys.journey.authoring import InvalidJourney, save_journey
from journeys.models import Journey
from journeys.seeding.seed import read_seed, seed_workspace
from tests.support.calls import data
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory, SegmentFactory

AMBIGUOUS = ["6b00b1b1aa4223798a14fee1", "jobs", "triggers", "enrollments", "batch", "merge", "events"]


@pytest.mark.ada
def test_a_trigger_by_keys_answers_with_ids(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme, key="welcome")
    vip, other = (SegmentFactory.create(workspace=acme, key=key, members=[ada]) for key in ("vip", "other"))
    path = f"/api/v1/journeys/{acme.key}/welcome/trigger"
    answer = data(server.post(path, {"segment_ids": ["vip", other.id, vip.id]}))
    assert (answer["journeyId"], answer["customerIds"]) == (journey.id, [ada.id])
    assert answer["jobIds"][0].startswith(f"enroll-{journey.id}-{ada.id}-")
    sent = data(server.get(f"/api/v1/journeys/{acme.key}/triggers/{answer['triggerId']}"), status=200)
    assert sorted(sent["call"]["segmentIds"]) == sorted([vip.id, other.id])


@pytest.mark.ada
def test_an_id_costs_no_statement_more_and_a_key_one(acme: Workspace, server: ServerClient, ada: Customer) -> None:
    journey = JourneyFactory.create(workspace=acme, key="welcome")
    statements = []
    for workspace, named in ((acme.id, journey.id), (acme.id, journey.id), (acme.key, "welcome")):
        with CaptureQueriesContext(connection) as executed:
            data(server.post(f"/api/v1/journeys/{workspace}/{named}/trigger", {"external_id": "ada"}))
        statements.append([query["sql"] for query in executed if "journeys_" in query["sql"]])
    _, by_id, by_key = statements
    assert len(by_id) == 1
    assert len(by_key) == 2


def test_a_key_for_certain_journeys_takes_their_keys_alone(acme: Workspace, server: ServerClient) -> None:
    mine = JourneyFactory.create(workspace=acme, key="mine")
    JourneyFactory.create(workspace=acme, key="other")
    type(server.key).objects.filter(id=server.key.id).update(journeys=[mine.id])
    for key, status in (("mine", 200), ("other", 403), ("nobodys", 403)):
        assert server.get(f"/api/v1/journeys/{acme.key}/{key}/graph").status_code == status


def seed_file(described: dict[str, Any]) -> None:
    seed_workspace(seed=read_seed(described), crowd_size=0, renew_keys=False, now=timezone.now())


def made(workspace: Workspace, key: str) -> dict[str, Any]:
    """Each way to make something with this key, and what refuses it."""

    def seed(**described: Any) -> None:
        seed_file({"workspace": {"key": workspace.key}, **described})

    return {
        "journey": lambda: save_journey(workspace=workspace, key=key, now=timezone.now()),
        "journey of a file": lambda: seed(journeys=[{"key": key}]),
        "segment of a file": lambda: seed(segments=[{"key": key}]),
        "workspace of a file": lambda: seed(workspace={"key": key}),
        "connection": lambda: CONNECTIONS.save(
            workspace=workspace, key=key, now=timezone.now(), definition={"url": "https://mail.example/"}
        ),
        "segment of the admin": lambda: Segment(workspace=workspace, key=key, name="x").full_clean(),
        "workspace of the admin": lambda: Workspace(key=key, name="x").full_clean(),
    }


@each("key", AMBIGUOUS)
def test_a_key_that_could_be_taken_for_something_else_is_refused(acme: Workspace, key: str) -> None:
    for way, make in made(acme, key).items():
        with pytest.raises((InvalidJourney, InvalidDefinition, InvalidSeed, ValidationError)) as refusal:
            make()
        assert "choose another" in str(refusal.value), way
    assert not Journey.objects.exists()
    assert not Segment.objects.exists()


def test_what_has_such_a_key_already_goes_on_by_its_id(acme: Workspace, server: ServerClient) -> None:
    like_an_id = "6b00b1b1aa4223798a14fee1"
    journey = JourneyFactory.create(workspace=acme, key=like_an_id)
    JourneyFactory.create(workspace=acme, key="jobs")
    SegmentFactory.create(workspace=acme, key="events")
    Workspace.objects.filter(id=acme.id).update(key="batch")
    acme.refresh_from_db()
    for key in (like_an_id, "jobs"):
        assert save_journey(workspace=acme, key=key, now=timezone.now(), name="Renamed").outcome == "changed"
    seed_file({"workspace": {"key": "batch", "name": "B"}, "segments": [{"key": "events", "name": "E"}]})
    assert server.get(f"/api/v1/journeys/{acme.id}/{journey.id}/graph").status_code == 200
    assert server.get(f"/api/v1/journeys/{acme.id}/{like_an_id}/graph").status_code == 404
