"""What a repository manages is shown as that, and is saved over only if staff say so."""

from typing import Any

import pytest
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from engage.models import Workspace
from journeys.journey.keeping import duplicate_journey
from tests.admin.forms import form_of
from tests.support.calls import data
from tests.support.cases import each
from tests.support.clients import ServerClient
from tests.support.factories import JourneyFactory, SegmentFactory

GIT = "git:shop/definitions"


@pytest.mark.django_db
@each("factory", [JourneyFactory, SegmentFactory])
def test_staff_are_asked_before_they_save_over_it(staff: Client, acme: Workspace, factory: Any) -> None:
    managed, free = (factory.create(workspace=acme, managed_by=by) for by in (GIT, None))
    for record, asked in ((free, False), (managed, True)):
        url = f"/admin/{record._meta.app_label}/{record._meta.model_name}/{record.pk}/change/"
        page = staff.get(url).content.decode()
        assert (GIT in page, 'name="save_over"' in page) == (asked, asked)
        fields = form_of(staff, record) | {"name": "By hand"}
        answer = staff.post(url, fields)
        assert (answer.status_code, name_of(record)) == ((200, record.name) if asked else (302, "By hand"))
        assert staff.post(url, fields | {"save_over": "on"}).status_code == 302
        assert name_of(record) == "By hand"
    managed.refresh_from_db()
    assert managed.managed_by == GIT


def name_of(record: Model) -> str:
    return str(type(record).objects.get(pk=record.pk).name)  # type: ignore[attr-defined]


@pytest.mark.django_db
def test_calls_say_what_manages_it_and_a_copy_is_managed_by_nobody(acme: Workspace, server: ServerClient) -> None:
    copy = duplicate_journey(JourneyFactory.create(workspace=acme, managed_by=GIT), key="copy", now=timezone.now())
    assert copy.managed_by is None
    for path in ("journeys/acme/one", "segments/acme/one"):
        server.headers.pop("If-Match", None)
        data(server.put(f"/api/v1/{path}", {"managedBy": GIT}), status=201)
        server.headers["If-Match"] = "*"
        told = data(server.get(f"/api/v1/{path}"), status=200)
        assert told["definition"]["managedBy"] == GIT
        assert server.put(f"/api/v1/{path}", {"managedBy": "x" * 201}).json()["details"][0]["place"] == "managedBy"
        assert data(server.put(f"/api/v1/{path}", {"name": "one"}), status=200)["changed"] == ["managedBy"]
