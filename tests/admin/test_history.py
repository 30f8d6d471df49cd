"""What staff did to a record can be read on its history page."""

import pytest
from django.contrib.auth.models import User
from django.db.models import Model
from django.test import Client

from engage.admin.parts.columns import page_url
from engage.audit.recording import change, record
from engage.models import ApiKey, App, AuditEntry, Workspace
from journeys.models import Journey, WebhookSecret
from tests.admin.forms import edit, form_of
from tests.admin.records import NO_CHECKS
from tests.support.audit import told, written
from tests.support.factories import ApiKeyFactory, AppFactory


@pytest.fixture
def app(acme: Workspace) -> App:
    return AppFactory.create(workspace=acme)


def history_of(client: Client, record: Model, *, page: int = 1) -> str:
    return client.get(page_url(record).replace("/change/", "/history/"), {"p": page}).content.decode()


def note(app: App, *messages: str) -> None:
    """Entries of the audit, in their order."""
    for message in messages:
        record(change(AuditEntry.Action.CHANGED, app, note=message))


def test_a_short_history_has_one_page(staff: Client, app: App) -> None:
    note(app, "Did this.", "Did that.")
    page = history_of(staff, app)
    assert "Did this." in page
    assert "2 entries" in page
    assert "?p=" not in page


def test_a_long_history_is_paged_and_every_page_has_entries(staff: Client, app: App) -> None:
    note(app, *(f"Change {number}." for number in range(101)))
    assert "?p=2" in history_of(staff, app)
    last = history_of(staff, app, page=2)
    assert "101 entries" in last
    assert "Change 100." in last
    assert "?p=3" not in last


def revoke(staff: Client, key: ApiKey) -> list[str]:
    """Presses the button; the messages that follow."""
    answer = staff.post(page_url(key).replace("/change/", "/revoke/"), follow=True)
    return [str(message) for message in answer.context["messages"]]


def test_revoking_a_key_is_said_once_and_leaves_who_did_it(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme)
    assert revoke(staff, key) == [f"{key} is revoked."]
    assert told() == [("root", key.pk, "Revoked.")]
    page = history_of(staff, key)
    assert "Revoked." in page
    assert "root" in page


def test_a_key_is_revoked_once(staff: Client, acme: Workspace) -> None:
    key = ApiKeyFactory.create(workspace=acme)
    revoke(staff, key)
    assert revoke(staff, key) == [f"{key} was revoked before."]
    assert told() == [("root", key.pk, "Revoked.")]


def test_a_switch_is_noted_with_what_it_was_set_to(staff: Client, journey: Journey, app: App) -> None:
    for enabled in ({}, {"enabled": "on"}):
        staff.post(page_url(app), {"name": app.name, "allowed_origins": "", **NO_CHECKS, **enabled})
    said = {"name": "Renamed", "trigger_type": "api", "event_from_bridge": "on", "steps": "[]", "exit_on": "[]"}
    staff.post(page_url(journey), said)
    assert Journey.objects.get().active is False
    assert told() == [
        ("root", app.pk, "Changed Enabled (off)."),
        ("root", app.pk, "Changed Enabled (on)."),
        ("root", journey.pk, "Changed Name and Active (off)."),
        ("root", journey.pk, "Close."),
    ]


def test_other_origins_of_an_app_are_noted(staff: Client, app: App) -> None:
    staff.post(
        page_url(app), {"name": app.name, "allowed_origins": "https://shop.example", "enabled": "on", **NO_CHECKS}
    )
    assert told() == [("root", app.pk, "Changed Allowed origins.")]


def test_saving_what_was_not_changed_leaves_no_entry(staff: Client, app: App) -> None:
    staff.post(page_url(app), {"name": app.name, "allowed_origins": "", "enabled": "on", **NO_CHECKS})
    assert told() == []


def test_rotating_a_webhook_secret_is_noted_at_the_new_one(staff: Client, acme: Workspace) -> None:
    for _ in range(2):
        staff.post("/admin/journeys/webhooksecret/add/", {"workspace": acme.id})
    made = WebhookSecret.objects.order_by("pk").values_list("pk", flat=True)
    assert told() == [("root", str(pk), "Created.") for pk in made]


def test_what_is_changed_of_a_colleague_is_noted_as_it_is_elsewhere(staff: Client, db: None) -> None:
    bob = User.objects.create_user("bob", is_staff=True)
    form = form_of(staff, bob)
    assert staff.post(page_url(bob), form).status_code == 302
    assert told() == []
    edit(staff, bob, {name: value for name, value in form.items() if name != "is_active"}, is_superuser="on")
    assert told() == [("root", str(bob.pk), "Changed Active (off) and Superuser status (on).")]
    password = {"password1": "a long new one", "password2": "a long new one", "usable_password": "true"}
    assert staff.post(page_url(bob).replace("/change/", "/password/"), password).status_code == 302
    assert told()[1] == ("root", str(bob.pk), "Changed Password.")
    assert "a long new one" not in written()


@pytest.mark.django_db(transaction=True)
def test_a_journeys_history_takes_no_lock(staff: Client, journey: Journey) -> None:
    assert staff.post(page_url(journey).replace("/change/", "/history/")).status_code == 200
