"""`manage.py prepare`: the demo and the administrator, made once and noted beside the data."""

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.core.management import CommandError, call_command
from django.utils import timezone

from bridge.models import Message
from config.local.demo import ADMIN, Demo, read_demo
from config.local.offer import MESSAGE, OFFER, STEPS
from config.local.tour import TOUR
from customers.models import Customer
from engage.credentials.api_keys import digest
from engage.models import ApiKey, AuditEntry, Workspace
from journeys.engine.entering.walk_through import walk_through
from journeys.models import Connection, Journey
from journeys.steps.definition import STEP_TYPES
from tests.support.audit import told
from tests.support.cases import each

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def notes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("EMBEDDED_DATA", str(tmp_path))
    return tmp_path / "demo.json"


def prepared() -> Demo:
    call_command("prepare")
    demo = read_demo()
    assert demo
    return demo


def test_the_notes_hold_what_is_shown_only_once(notes: Path) -> None:
    demo = prepared()
    assert demo["adminPassword"]
    assert User.objects.get(username=ADMIN, is_superuser=True).check_password(demo["adminPassword"])
    secret = demo["workspace"]["apiKeys"]["server"]
    assert secret
    assert ApiKey.objects.get().workspace_id == demo["workspace"]["workspaceId"]
    assert notes.stat().st_mode & 0o777 == 0o600


def test_what_it_makes_and_changes_is_in_the_audit_under_its_name(monkeypatch: pytest.MonkeyPatch) -> None:
    """What the seed makes is there under the seed's."""

    def by_prepare() -> list[tuple[str, str]]:
        return [(which, what) for who, which, what in told() if who == "prepare"]

    monkeypatch.setenv("DEMO_RECEIVER_PORT", "8123")
    tour = prepared()["workspace"]["journeys"][TOUR]
    mailer = Connection.objects.get().pk
    offer = (Message.objects.get(key=MESSAGE).pk, Journey.objects.get(key=OFFER).pk)
    made = [(each, "Created.") for each in (str(User.objects.get().pk), mailer, tour, *offer)]
    assert by_prepare() == made
    prepared()
    assert by_prepare() == made
    ApiKey.objects.update(revoked_at=timezone.now())
    monkeypatch.setenv("DEMO_RECEIVER_PORT", "8124")
    prepared()
    another = ApiKey.objects.get(name="make run")
    moved = [(mailer, "Changed Definition."), (tour, "Changed Steps and Revision.")]
    assert by_prepare() == [*made, (another.pk, "Created."), *moved]
    assert set(AuditEntry.objects.values_list("actor_kind", flat=True)) == {"command"}


def test_a_second_start_changes_nothing() -> None:
    first = prepared()
    assert prepared() == first
    assert (Workspace.objects.count(), ApiKey.objects.count(), User.objects.count()) == (1, 1, 1)


def test_where_the_notes_are_lost_there_is_a_new_key_and_the_password_stays(notes: Path) -> None:
    first = prepared()
    before = User.objects.get().password
    notes.unlink()
    second = prepared()
    assert second["workspace"]["workspaceId"] == first["workspace"]["workspaceId"]
    assert second["workspace"]["apiKeys"]["server"] not in {None, first["workspace"]["apiKeys"]["server"]}
    assert second["adminPassword"] is None
    assert User.objects.get().password == before


def test_notes_of_another_database_are_replaced() -> None:
    first = prepared()
    Workspace.objects.all().delete()
    User.objects.all().delete()
    second = prepared()
    assert second["workspace"]["workspaceId"] != first["workspace"]["workspaceId"]
    assert second["adminPassword"] != first["adminPassword"]


def works(secret: str | None) -> bool:
    return ApiKey.objects.get(digest=digest(secret or "")).is_valid_at(timezone.now())


def test_a_key_that_was_replaced_is_noted_no_longer_and_its_successor_goes_on() -> None:
    first = prepared()["workspace"]["apiKeys"]["server"]
    printed = StringIO()
    call_command("seed_workspace", "--new-keys", "--json", stdout=printed)
    second = prepared()
    noted = second["workspace"]["apiKeys"]["server"]
    assert noted != first
    assert works(noted)
    assert works(json.loads(printed.getvalue())["apiKeys"]["server"])
    assert prepared() == second


def test_the_tour_shows_every_type_of_step_and_calls_the_receiver(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("DEMO_RECEIVER_PORT", "8123")
    workspace = prepared()["workspace"]
    tour = Journey.objects.get(id=workspace["journeys"][TOUR])
    grace, alan = (
        walk_through(
            journey=tour,
            customer=Customer.objects.get(id=workspace["customers"][name]),
            payload={"coupon": "TOUR20"},
            now=timezone.now(),
        )
        for name in ("grace", "alan")
    )
    steps = [step.step_record for step in grace.rehearsal.steps]
    assert {step.type for step in steps} | {"in_app"} == set(STEP_TYPES)
    assert "in_app" in {step["type"] for step in STEPS}, "which the journey of an offer shows"
    assert [step.missing for step in steps if step.missing] == []
    assert [step.detail for step in steps if step.state == "failed"] == []
    hello = next(step.request for step in steps if step.request)
    assert hello.url == "http://127.0.0.1:8123/hello?who=grace"
    assert "Hello Grace, your coupon is TOUR20." in str(hello.body)
    assert {step.request.host for step in steps if step.request} == {"127.0.0.1:8123"}
    assert (grace.enters, grace.rehearsal.ending) == (True, "There was no click within 15 seconds.")
    assert alan.rehearsal.ending == "The tour is for the plans pro and team."


@each("change", ["revoked_at", "expires_at"])
def test_a_key_that_is_over_is_noted_no_longer(change: str) -> None:
    first = prepared()["workspace"]["apiKeys"]["server"]
    ApiKey.objects.update(**{change: timezone.now()})
    second = prepared()["workspace"]["apiKeys"]["server"]
    assert second != first
    assert works(second)


def test_a_password_that_was_changed_is_noted_no_longer() -> None:
    assert prepared()["adminPassword"]
    user = User.objects.get()
    user.set_password("another one")
    user.save()
    assert prepared()["adminPassword"] is None
    assert User.objects.get().check_password("another one")


def test_in_production_nothing_is_made(settings: Any, notes: Path) -> None:
    settings.PRODUCTION = True
    with pytest.raises(CommandError, match=r"prepare is for development"):
        call_command("prepare")
    assert not Workspace.objects.exists()
    assert not User.objects.exists()
    assert not notes.exists()
