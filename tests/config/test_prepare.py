"""`manage.py prepare`: the demo and the administrator, made once and noted beside the data."""

from pathlib import Path

import pytest
from django.contrib.auth.models import User
from django.core.management import call_command

from config.demo import ADMIN, Demo, read_demo
from engage.models import ApiKey, Workspace

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
