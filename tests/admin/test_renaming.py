"""A name that is taken in the workspace is refused on the form, when a record is made and when one is renamed."""

from typing import Any

from django.contrib.auth.models import Group, User
from django.test import Client
from django.utils.html import strip_tags

from engage.admin.parts.columns import page_url
from engage.models import Workspace
from tests.admin.records import ALL_SCOPES, NO_CHECKS, list_of
from tests.support.audit import told
from tests.support.cases import each
from tests.support.factories import ApiKeyFactory, AppFactory, JourneyFactory, SegmentFactory

KINDS = each(
    "factory, field, rest",
    [
        (SegmentFactory, "key", {"name": "VIP", "conditions": ""}),
        (AppFactory, "name", {"enabled": "on", "allowed_origins": "", **NO_CHECKS}),
        (ApiKeyFactory, "name", {"rate_limit": "5/s", **ALL_SCOPES}),
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
    assert told() == []


def names_above(page: str) -> str:
    """What stands above the form, in the title and in the links."""
    return strip_tags(page[: page.index("_form")])


def test_a_name_that_was_refused_does_not_stand_above_the_form(staff: Client, acme: Workspace) -> None:
    group, user = Group.objects.create(name="own"), User.objects.create_user("own", is_staff=True)
    segment, journey = (
        SegmentFactory.create(workspace=acme, name="own"),
        JourneyFactory.create(workspace=acme, name="own"),
    )
    for record, said in (
        (segment, {"name": "renamed", "key": ""}),
        (journey, {"name": "renamed", "steps": "[1]"}),
        (group, {"name": "renamed" * 50}),
        (user, {"username": "renamed?"}),
    ):
        answer = staff.post(page_url(record), said)
        page = answer.content.decode()
        assert answer.context["adminform"].form.errors
        assert "renamed" in page
        assert "renamed" not in names_above(page)
        assert "own" in names_above(page)


@KINDS
def test_a_name_that_another_workspace_has_may_be_taken(
    staff: Client, acme: Workspace, rival: Workspace, factory: Any, field: str, rest: dict[str, str]
) -> None:
    factory.create(workspace=rival, **{field: "taken"})
    record = factory.create(workspace=acme, **{field: "own"})
    assert staff.post(page_url(record), {**rest, field: "taken"}).status_code == 302
    record.refresh_from_db()
    assert (getattr(record, field), record.workspace) == ("taken", acme)
