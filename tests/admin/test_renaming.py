"""A name that is taken in the workspace is refused on the form, when a record is made and when one is renamed."""

from typing import Any

import pytest
from django.contrib.admin.models import LogEntry
from django.test import Client

from engage.admin.columns import page_url
from engage.models import Workspace
from tests.admin.records import list_of
from tests.factories import ApiKeyFactory, AppFactory, SegmentFactory

KINDS = pytest.mark.parametrize(
    ("factory", "field", "rest"),
    [
        pytest.param(SegmentFactory, "key", {"name": "VIP", "conditions": ""}, id="segment"),
        pytest.param(AppFactory, "name", {"enabled": "on", "allowed_origins": ""}, id="app"),
        pytest.param(ApiKeyFactory, "name", {"rate_limit": "5/s", "expires_at_0": "", "expires_at_1": ""}, id="key"),
    ],
)


@KINDS
def test_a_name_that_is_taken_is_refused_and_nothing_is_written(
    staff: Client, acme: Workspace, factory: Any, field: str, rest: dict[str, str]
) -> None:
    taken = factory.create(workspace=acme, **{field: "taken"})
    record = factory.create(workspace=acme, **{field: "own"})
    model = type(taken)
    for url in (page_url(record), f"{list_of(model)}add/"):
        answer = staff.post(url, {"workspace": acme.id, **rest, field: "taken"})
        page = answer.content.decode()
        assert answer.status_code == 200
        assert f"with this Workspace and {field.title()} already exists." in page
        assert "engage-refused" not in page  # the list of what is wrong at which field would be empty
    assert set(model.objects.values_list("pk", field)) == {(taken.pk, "taken"), (record.pk, "own")}
    assert not LogEntry.objects.exists()


@KINDS
def test_a_name_that_another_workspace_has_may_be_taken(
    staff: Client, acme: Workspace, rival: Workspace, factory: Any, field: str, rest: dict[str, str]
) -> None:
    factory.create(workspace=rival, **{field: "taken"})
    record = factory.create(workspace=acme, **{field: "own"})
    assert staff.post(page_url(record), {**rest, field: "taken"}).status_code == 302
    record.refresh_from_db()
    assert (getattr(record, field), record.workspace) == ("taken", acme)
