"""What is defined, page by page: in the order of keys, once each, whatever is written meanwhile."""

from typing import Any

import pytest
from django.utils import timezone

from engage.models import Workspace
from journeys.models import Journey
from tests.support.calls import data
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import ApiKeyFactory, JourneyFactory, SegmentFactory


@each("path, factory", [("journeys", JourneyFactory), ("segments", SegmentFactory)])
@pytest.mark.django_db
def test_each_is_listed_once_whatever_is_written_meanwhile(
    acme: Workspace, rival: Workspace, server: ServerClient, path: str, factory: Any
) -> None:
    for key in "bdfh":
        factory.create(workspace=acme, key=key)
    factory.create(workspace=rival, key="theirs")
    first = data(server.get(f"/api/v1/{path}/acme?limit=2"), status=200)
    for key in "ae":
        factory.create(workspace=acme, key=key)
    second = data(server.get(f"/api/v1/{path}/acme?limit=3&after={first['next']}"), status=200)
    assert [one["key"] for page in (first, second) for one in page[path]] == ["b", "d", "e", "f", "h"]
    assert second["next"] is None
    assert server.get(f"/api/v1/{path}/acme?after=x").status_code == 400


@pytest.mark.django_db
def test_archived_journeys_and_those_of_other_keys_are_not_listed(acme: Workspace) -> None:
    shown, _ = (JourneyFactory.create(workspace=acme, key=key) for key in ("shown", "other"))
    old = JourneyFactory.create(workspace=acme, key="old")
    Journey.objects.filter(id=old.id).update(active=False, archived_at=timezone.now())
    for allowed, listed in ((None, ["other", "shown"]), ([shown.id, old.id], ["shown"]), ([], [])):
        caller = ServerClient(ApiKeyFactory.create(workspace=acme, journeys=allowed))
        told = data(caller.get("/api/v1/journeys/acme"), status=200)
        assert [one["key"] for one in told["journeys"]] == listed
