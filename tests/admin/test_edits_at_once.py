"""Two members of staff have the same page open: the second to save is told what the first has changed."""

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from customers.models import Segment
from engage.admin.parts.columns import page_url
from engage.models import ApiKey, Workspace
from journeys.journey.authoring import save_journey
from tests.admin.forms import _read, edit, form_of
from tests.support.factories import PRO, ApiKeyFactory, AppFactory, JourneyFactory, SegmentFactory
from tests.support.simultaneous import PATIENCE_SECONDS, made_to_wait

DAY = [{"id": "wait", "type": "delay", "for": "P1D"}]


def refused(staff: Client, record: Model, form: dict[str, str], **fields: Any) -> Any:
    """The answer to an edit of what somebody else has changed meanwhile; nothing is written."""
    before = type(record)._default_manager.filter(pk=record.pk).values().get()
    answer = staff.post(
        page_url(record), {name: value for name, value in {**form, **fields}.items() if value is not None}
    )
    assert answer.status_code == 200
    assert "Somebody has changed this meanwhile." in answer.content.decode()
    assert type(record)._default_manager.filter(pk=record.pk).values().get() == before
    return answer


def told(answer: Any) -> dict[str, list[str]]:
    """What the refused form says at each of its fields."""
    return {name: list(errors) for name, errors in answer.context["adminform"].form.errors.items() if name != "__all__"}


def test_an_edit_may_change_everything(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, active=True, entry_conditions=PRO, steps=DAY)
    edit(staff, journey, form_of(staff, journey), active=None, entry_conditions="", steps="[]", name="New")
    assert (journey.name, journey.active, journey.entry_conditions, journey.revision) == ("New", False, None, 2)


def test_who_edits_a_journey_that_was_changed_meanwhile_is_told_what_is_stored(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, name="Old", active=True, entry_conditions=PRO, steps=DAY)
    form = form_of(staff, journey)
    edit(staff, journey, form, active=None, steps="[]", max_entries_per_customer="7")
    answer = refused(staff, journey, form, name="Another name")
    steps = told(answer).pop("steps")
    assert told(answer) == {
        "name": ["Stored now: Old"],
        "active": ["Stored now: off"],
        "max_entries_per_customer": ["Stored now: 7"],
        "steps": ["Stored now: []"],
    }
    assert steps
    edit(staff, journey, _read(answer), active=None, steps="[]")  # what they chose after they had seen it
    assert (journey.name, journey.active, journey.revision) == ("Another name", False, 2)
    assert journey.max_entries_per_customer is None


def test_who_has_typed_what_is_stored_by_now_is_not_refused(staff: Client, acme: Workspace) -> None:
    app = AppFactory.create(workspace=acme, enabled=True)
    form = form_of(staff, app)
    for _ in range(2):
        edit(staff, app, form, enabled=None, allowed_origins="https://a.example")
    assert (app.enabled, app.allowed_origins) == (False, ["https://a.example"])


def test_what_the_page_does_not_show_may_change_meanwhile(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, expires_at=datetime(2031, 1, 1, 12, tzinfo=UTC))
    form = form_of(staff, key)
    ApiKey.objects.update(last_used_at=datetime(2026, 11, 23, tzinfo=UTC))
    edit(staff, key, form, name="Another name")
    assert (key.name, key.last_used_at) == ("Another name", datetime(2026, 11, 23, tzinfo=UTC))


def test_each_kind_of_value_is_told_as_it_is_stored(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, expires_at=None)
    app = AppFactory.create(workspace=acme, allowed_origins=[])
    segment = SegmentFactory.create(workspace=acme, conditions=PRO)
    shown = [form_of(staff, record) for record in (key, app, segment)]
    edit(staff, key, shown[0], expires_at_0="2026-11-23", expires_at_1="12:00:00")
    edit(staff, app, shown[1], allowed_origins="https://a.example\nhttps://b.example")
    edit(staff, segment, shown[2], conditions="")
    assert told(refused(staff, key, shown[0])) == {"expires_at": ["Stored now: 2026-11-23 12:00:00 UTC"]}
    origins = "Stored now: https://a.example\nhttps://b.example"
    assert told(refused(staff, app, shown[1])) == {"allowed_origins": [origins]}
    assert told(refused(staff, segment, shown[2])) == {"conditions": ["Stored now: nothing"]}


def test_a_form_with_a_mistake_is_sent_again_without_it(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, expires_at=datetime(2031, 1, 1, tzinfo=UTC))
    form = {**form_of(staff, key), "expires_at_0": "2026-11-23", "expires_at_1": "12:00:00", "name": ""}
    answer = staff.post(page_url(key), form)
    assert answer.status_code == 200
    edit(staff, key, _read(answer), name="Mended")
    assert (key.name, key.expires_at) == ("Mended", datetime(2026, 11, 23, 12, tzinfo=UTC))


def test_a_colleague_who_was_switched_off_meanwhile_is_not_switched_on_unseen(staff: Client, db: None) -> None:
    support, sales = Group.objects.create(name="Support"), Group.objects.create(name="Sales")
    bob = User.objects.create_user("bob", is_staff=True, is_superuser=True)
    bob.groups.set([support])
    form, joined = form_of(staff, bob), bob.date_joined
    edit(staff, bob, form, is_active=None, is_superuser=None, groups=str(sales.pk))
    assert told(refused(staff, bob, form, first_name="Bob")) == {
        "first_name": ["Stored now: nothing"],
        "is_active": ["Stored now: off"],
        "is_superuser": ["Stored now: off"],
        "groups": ["Stored now: Sales"],
    }
    User.objects.filter(pk=bob.pk).update(last_login=timezone.now())
    edit(staff, bob, form_of(staff, bob), first_name="Bob")
    assert (bob.first_name, bob.is_active, bob.is_superuser, list(bob.groups.all())) == ("Bob", False, False, [sales])
    assert (bob.date_joined, bob.last_login is None) == (joined, False)


@pytest.mark.slow
def test_a_permission_that_was_taken_away_meanwhile_is_not_given_unseen(staff: Client, db: None) -> None:
    taken, kept, given = Permission.objects.filter(content_type__app_label="journeys")[:3]
    group = Group.objects.create(name="Support")
    group.permissions.set([taken, kept])
    form = form_of(staff, group)
    edit(staff, group, form, permissions=[kept.pk, given.pk])
    refused(staff, group, form, permissions=[taken.pk, kept.pk])
    assert set(group.permissions.all()) == {kept, given}
    edit(staff, group, form_of(staff, group), permissions=[])
    assert not group.permissions.exists()


def test_the_browser_warns_who_leaves_a_form_with_what_they_typed(staff: Client, acme: Workspace) -> None:
    for path in ("customers/segment", "journeys/journey", "engage/app", "engage/apikey", "auth/user", "auth/group"):
        assert 'class="warn-unsaved-form"' in staff.get(f"/admin/{path}/add/").content.decode()


def test_a_page_does_not_bring_a_password_along(staff: Client, db: None) -> None:
    bob = User.objects.create_user("bob", password="correct horse battery staple", is_staff=True)
    page = staff.get(page_url(bob)).content.decode()
    assert bob.password not in page
    assert bob.password.rpartition("$")[2] not in page


@pytest.mark.django_db(transaction=True)
def test_an_edit_that_waited_for_another_is_checked_against_it(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, trigger_type="event", event_name="bought")
    form = form_of(staff, journey)
    with transaction.atomic():
        save_journey(workspace=acme, key=journey.key, now=timezone.now(), trigger_type="api")
        waiting = made_to_wait(lambda: staff.post(page_url(journey), {**form, "event_name": "sold"}))
    answer = waiting.result(PATIENCE_SECONDS)
    assert answer.status_code == 200
    assert "Stored now: api" in told(answer)["trigger_type"]


@pytest.mark.django_db(transaction=True)
def test_an_edit_that_waited_for_a_deletion_finds_the_record_gone(staff: Client, acme: Workspace) -> None:
    segment = SegmentFactory.create(workspace=acme)
    form = form_of(staff, segment)
    with transaction.atomic():
        Segment.objects.filter(pk=segment.pk).delete()
        waiting = made_to_wait(lambda: staff.post(page_url(segment), {**form, "name": "Another name"}, follow=True))
    answer = waiting.result(PATIENCE_SECONDS)
    assert answer.redirect_chain == [("/admin/", 302)]
    assert "Perhaps it was deleted?" in answer.content.decode()


def _make_a_segment(workspace: Workspace) -> Model:
    return SegmentFactory.create(workspace=workspace, key="vip", name="Ours")


def _make_a_journey(workspace: Workspace) -> Model:
    return save_journey(workspace=workspace, key="vip", name="Ours", now=timezone.now()).journey


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("make", [_make_a_segment, _make_a_journey])
def test_of_two_who_make_the_same_at_once_the_second_is_told(
    staff: Client, acme: Workspace, make: Callable[[Workspace], Model]
) -> None:
    with transaction.atomic():
        made = make(acme)
        url = page_url(made).replace(f"{made.pk}/change", "add")
        form = {**_read(staff.get(url)), "workspace": acme.pk, "key": "vip", "name": "Theirs"}
        waiting = made_to_wait(lambda: staff.post(url, form))
    answer = waiting.result(PATIENCE_SECONDS)
    assert answer.status_code == 200
    assert "with this Workspace and Key already exists" in answer.content.decode()
    made.refresh_from_db()
    assert (str(made), type(made)._default_manager.count()) == ("Ours", 1)
