"""Two members of staff have the same page open: what the one did not edit is as the other left it."""

from collections.abc import Callable
from datetime import UTC, datetime
from html.parser import HTMLParser
from typing import Any

import pytest
from django.contrib.auth.models import Group, Permission, User
from django.db import transaction
from django.db.models import Model
from django.test import Client
from django.utils import timezone

from customers.models import Segment
from engage.admin.columns import page_url
from engage.models import Workspace
from journeys.design.authoring import save_journey
from journeys.models import JourneyRevision
from tests.factories import ApiKeyFactory, AppFactory, JourneyFactory, SegmentFactory
from tests.simultaneous import PATIENCE_SECONDS, made_to_wait

DAY = [{"id": "wait", "type": "delay", "for": "P1D"}]
PRO = {"field": "customer.plan", "op": "eq", "value": "pro"}
FREE = {"field": "customer.plan", "op": "eq", "value": "free"}


class _Form(HTMLParser):
    """The fields of the page's form, with the values that a browser would send."""

    def __init__(self) -> None:
        super().__init__()
        self.values: dict[str, str] = {}
        self._within = False
        self._text = self._choice = ""

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        given = dict(attrs)
        name, value = given.get("name") or "", given.get("value") or ""
        if tag == "form":
            self._within = (given.get("id") or "").endswith("_form")
        elif not self._within:
            return
        elif tag == "input" and name and given.get("type") == "checkbox":
            if "checked" in given:
                self.values[name] = value or "on"
        elif tag == "input" and name and given.get("type") not in {"submit", "button"}:
            self.values[name] = value
        elif tag == "textarea":
            self._text, self.values[name] = name, ""
        elif tag == "select":
            self._choice = name
        elif tag == "option" and "selected" in given:
            self.values[self._choice] = value

    def handle_endtag(self, tag: str) -> None:
        if tag == "textarea":
            self._text = ""

    def handle_data(self, data: str) -> None:
        if self._text:
            self.values[self._text] += data


def form_of(staff: Client, record: Model) -> dict[str, str]:
    return _read(staff.get(page_url(record)))


def _read(page: Any) -> dict[str, str]:
    form = _Form()
    form.feed(page.content.decode())
    return {name: value.removeprefix("\r\n").removeprefix("\n") for name, value in form.values.items()}


def edit(staff: Client, record: Model, form: dict[str, str], **fields: Any) -> None:
    """Sends the form with these fields in the place of its own; one that is None is left out."""
    sent = {name: value for name, value in {**form, **fields}.items() if value is not None}
    assert staff.post(page_url(record), sent).status_code == 302
    record.refresh_from_db()


def test_a_journey_that_was_switched_off_and_mended_stays_so(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, active=True, entry_conditions=PRO, steps=DAY)
    form = form_of(staff, journey)
    mended = '[{"id": "wait", "type": "delay", "for": "P2D"}]'
    edit(staff, journey, form, active=None, steps=mended, max_entries_per_customer="7")
    edit(staff, journey, form, name="Another name", exit_on='[{"event": "left"}]')
    assert (journey.name, journey.active, journey.max_entries_per_customer) == ("Another name", False, 7)
    assert journey.entry_conditions == PRO
    current = JourneyRevision.objects.get(journey=journey, number=journey.revision)
    assert (current.steps, current.exit_on) == ([{**DAY[0], "for": "P2D"}], [{"event": "left"}])


def test_an_edit_may_change_everything(staff: Client, acme: Workspace) -> None:
    journey = JourneyFactory.create(workspace=acme, active=True, entry_conditions=PRO, steps=DAY)
    edit(staff, journey, form_of(staff, journey), active=None, entry_conditions="", steps="[]", name="New")
    assert (journey.name, journey.active, journey.entry_conditions, journey.revision) == ("New", False, None, 2)


def test_an_app_that_was_switched_off_stays_so(staff: Client, acme: Workspace) -> None:
    app = AppFactory.create(workspace=acme, enabled=True, allowed_origins=["https://a.example", "https://b.example"])
    form = form_of(staff, app)
    edit(staff, app, form, enabled=None)
    edit(staff, app, form, name="Another name")
    assert (app.name, app.enabled, app.allowed_origins) == (
        "Another name",
        False,
        ["https://a.example", "https://b.example"],
    )


def test_a_limit_that_was_lowered_stays_so(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, rate_limit="1000/m")
    form = form_of(staff, key)
    edit(staff, key, form, rate_limit="10/m")
    edit(staff, key, form, name="Another name")
    assert (key.name, key.rate_limit) == ("Another name", "10/m")


@pytest.mark.parametrize("again", [FREE, None])
def test_conditions_that_were_changed_stay_so(staff: Client, acme: Workspace, again: Any) -> None:
    segment = SegmentFactory.create(workspace=acme, conditions=PRO)
    form = form_of(staff, segment)
    segment.conditions = again
    segment.save(update_fields=["conditions"])
    edit(staff, segment, form, name="Another name")
    assert (segment.name, segment.conditions) == ("Another name", again)


@pytest.mark.parametrize("before", [datetime(2031, 1, 1, 12, tzinfo=UTC), None])
def test_an_expiry_that_was_set_or_brought_forward_stays_so(
    staff: Client, acme: Workspace, before: datetime | None
) -> None:
    key = ApiKeyFactory.create(workspace=acme, expires_at=before)
    form = form_of(staff, key)
    edit(staff, key, form, expires_at_0="2026-11-23", expires_at_1="12:00:00")
    assert key.expires_at == datetime(2026, 11, 23, 12, tzinfo=UTC)
    edit(staff, key, form, name="Another name")
    assert (key.name, key.expires_at) == ("Another name", datetime(2026, 11, 23, 12, tzinfo=UTC))


def test_what_was_edited_is_known_after_a_refusal_too(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme, expires_at=datetime(2031, 1, 1, tzinfo=UTC))
    form = {**form_of(staff, key), "expires_at_0": "2026-11-23", "expires_at_1": "12:00:00", "name": ""}
    refused = staff.post(page_url(key), form)
    assert refused.status_code == 200
    edit(staff, key, _read(refused), name="Mended")
    assert (key.name, key.expires_at) == ("Mended", datetime(2026, 11, 23, 12, tzinfo=UTC))


def test_a_colleague_who_was_switched_off_or_taken_out_of_a_group_stays_so(staff: Client, db: None) -> None:
    support, sales = Group.objects.create(name="Support"), Group.objects.create(name="Sales")
    bob = User.objects.create_user("bob", is_staff=True, is_superuser=True)
    bob.groups.set([support])
    form, joined = form_of(staff, bob), bob.date_joined
    edit(staff, bob, form, is_active=None, is_superuser=None, groups=str(sales.pk))
    assert (bob.is_active, bob.is_superuser, list(bob.groups.all())) == (False, False, [sales])
    edit(staff, bob, form, first_name="Bob")
    assert (bob.first_name, bob.is_active, bob.is_superuser, list(bob.groups.all())) == ("Bob", False, False, [sales])
    assert bob.date_joined == joined  # with its microseconds, which the page does not show


def test_a_permission_that_a_colleague_took_away_or_gave_stays_so(staff: Client, db: None) -> None:
    taken, kept, given, more = Permission.objects.filter(content_type__app_label="journeys")[:4]
    group = Group.objects.create(name="Support")
    group.permissions.set([taken, kept])
    form = form_of(staff, group)
    edit(staff, group, form, permissions=[kept.pk, given.pk])
    edit(staff, group, form, permissions=[taken.pk, kept.pk, more.pk])
    assert set(group.permissions.all()) == {kept, given, more}
    edit(staff, group, form_of(staff, group), permissions=[])
    assert not group.permissions.exists()


def test_a_group_is_joined_from_a_page_that_showed_none(staff: Client, db: None) -> None:
    support, sales = Group.objects.create(name="Support"), Group.objects.create(name="Sales")
    bob = User.objects.create_user("bob", is_staff=True)
    form = form_of(staff, bob)
    bob.groups.set([support])
    edit(staff, bob, form, first_name="Bob")
    assert list(bob.groups.all()) == [support]
    edit(staff, bob, form, groups=str(sales.pk))
    assert set(bob.groups.all()) == {support, sales}


def test_the_browser_warns_who_leaves_a_form_with_what_they_typed(staff: Client, acme: Workspace) -> None:
    for path in ("customers/segment", "journeys/journey", "engage/app", "engage/apikey", "auth/user", "auth/group"):
        assert 'class="warn-unsaved-form"' in staff.get(f"/admin/{path}/add/").content.decode()


def test_a_page_does_not_bring_a_password_along(staff: Client, db: None) -> None:
    bob = User.objects.create_user("bob", password="correct horse battery staple", is_staff=True)
    page = staff.get(page_url(bob)).content.decode()
    assert bob.password not in page
    assert bob.password.rpartition("$")[2] not in page


def test_the_steps_of_a_journey_are_sent_once(staff: Client, acme: Workspace) -> None:
    """A form may have 2.5 MiB."""
    mail = {"type": "webhook", "url": "https://mail.example/send", "body": {"html": "x" * 15_000}}
    journey = JourneyFactory.create(workspace=acme, steps=[{"id": f"mail-{n}", **mail} for n in range(100)])
    form = form_of(staff, journey)
    edit(staff, journey, form, name="Another name")
    assert (journey.name, journey.revision) == ("Another name", 1)
    edit(staff, journey, form, steps="[]")
    assert journey.revision == 2


@pytest.mark.django_db(transaction=True)
def test_an_edit_that_waited_for_another_is_checked_against_it(acme: Workspace) -> None:
    staff = Client(raise_request_exception=False)
    staff.force_login(User.objects.create_superuser("root"))
    journey = JourneyFactory.create(workspace=acme, trigger_type="event", event_name="bought")
    form = form_of(staff, journey)
    with transaction.atomic():
        save_journey(workspace=acme, key=journey.key, now=timezone.now(), trigger_type="api")
        waiting = made_to_wait(lambda: staff.post(page_url(journey), {**form, "event_name": "sold"}))
    answer = waiting.result(PATIENCE_SECONDS)
    assert answer.status_code == 200
    assert "Leave this empty where the trigger type is API" in answer.content.decode()


@pytest.mark.django_db(transaction=True)
def test_an_edit_that_waited_for_a_deletion_finds_the_record_gone(acme: Workspace) -> None:
    staff = Client(raise_request_exception=False)
    staff.force_login(User.objects.create_superuser("root"))
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
    acme: Workspace, make: Callable[[Workspace], Model]
) -> None:
    staff = Client(raise_request_exception=False)
    staff.force_login(User.objects.create_superuser("root"))
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
