"""A workspace as a file, and what a file would do: exact, without secrets, and the same each time."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command
from django.utils import timezone

from customers.models import Customer
from engage.models import ApiKey, Workspace
from journeys.journey.opening import close
from journeys.models import Connection, Journey
from tests.interface.tenants import everything_of
from tests.journeys.seeding.descriptions import DESCRIPTION, Seed, described

CALL: dict[str, Any] = {
    "id": "call",
    "type": "webhook",
    "url": "https://mail.example/send",
    "headers": {"X-Token": "hush-1", "Content-Type": "application/json"},
    "body": {"z": 1, "a": "{{ vars.shop }}"},
}
GOALS = [{"key": "called", "event": "answered", "within": "P1D"}]
FULL: dict[str, Any] = {
    **DESCRIPTION,
    "apiKeys": [
        {"name": "server", "rateLimit": "100/m"},
        {"name": "shop", "scopes": ["trigger"], "journeys": ["welcome"], "networks": ["203.0.113.0/24"],
         "expiresAt": "2031-01-01T00:00:00Z"},
    ],
    "apps": [{"name": "web", "allowedOrigins": ["https://shop.example"], "identity": "off"}],
    "variables": {"shop": "Gärten", "colours": ["green"]},
    "connections": [
        {"key": "mail", "url": "https://mail.example/", "headers": {"X-Token": "hush-2"}, "perSecond": 2,
         "auth": {"basic": {"user": "u", "password": "hush-3"}}},
        {"key": "chat", "url": "https://chat.example/hush-4", "secretUrl": True},
    ],
    "journeys": [
        *DESCRIPTION["journeys"], {"key": "calls", "steps": [CALL], "goals": GOALS, "holdOut": {"share": 0.1}},
    ],
    "subscriptions": [{"key": "crm", "url": "https://crm.example/", "types": ["job.decided"], "journeys": ["calls"]}],
    "messages": [{"key": "sale", "status": "active", "actions": [{"id": "x", "type": "close"}], "forms": []}],
}  # fmt: skip
SECRETS = {
    "ENGAGE_CALLS_CALL_X_TOKEN": "hush-1",
    "ENGAGE_MAIL_X_TOKEN": "hush-2",
    "ENGAGE_MAIL_AUTH_BASIC_USER": "u",
    "ENGAGE_MAIL_AUTH_BASIC_PASSWORD": "hush-3",
    "ENGAGE_CHAT_URL": "https://chat.example/hush-4",
}
DEFINED = {
    "apiKeys", "apps", "connections", "journeys", "messages", "segments", "subscriptions", "variables", "workspace"
}  # fmt: skip


def export(key: str = "acme") -> str:
    printed = io.StringIO()
    call_command("export_workspace", key, stdout=printed)
    return printed.getvalue()


@pytest.fixture
def full(seed: Seed, monkeypatch: pytest.MonkeyPatch) -> str:
    for name, value in SECRETS.items():
        monkeypatch.setenv(name, value)
    seed(FULL)
    return export()


def plan(tmp_path: Path, description: Any) -> tuple[int, dict[str, Any]]:
    """The exit code, and what was printed."""
    file, printed = tmp_path / "plan.json", io.StringIO()
    file.write_text(description if isinstance(description, str) else json.dumps(description))
    try:
        call_command("seed_workspace", str(file), "--plan", "--json", stdout=printed)
    except SystemExit as ended:
        return int(str(ended.code)), json.loads(printed.getvalue())
    return 0, json.loads(printed.getvalue())


@pytest.mark.django_db
def test_exporting_seeding_and_exporting_again_changes_nothing(seed: Seed, full: str, tmp_path: Path) -> None:
    acme = Workspace.objects.get()
    before = everything_of(acme)
    code, planned = plan(tmp_path, full)
    assert (code, planned["create"], planned["change"], planned["drift"]) == (0, [], {}, [])
    seed(json.loads(full))
    assert export() == full
    after = everything_of(acme)
    assert [t for t in after if after[t] != before[t]] == []
    told = json.loads(full)
    assert (set(told), "hush" in full, "ada" in full) == (DEFINED, False, False)
    assert told["journeys"][0]["steps"][0]["headers"] == {
        "X-Token": {"env": "ENGAGE_CALLS_CALL_X_TOKEN"},
        "Content-Type": "application/json",
    }
    assert list(told["journeys"][0]["steps"][0]["body"]) == ["z", "a"]


@pytest.mark.django_db
def test_a_second_workspace_becomes_the_same(seed: Seed, full: str) -> None:
    second = json.loads(full)
    second["workspace"]["key"] = "production"
    seed(second)
    assert json.loads(export("production")) == second
    assert Connection.objects.get(workspace__key="production", key="mail").definition["headers"] == {
        "X-Token": "hush-2"
    }
    assert not Customer.objects.filter(workspace__key="production").exists()


@pytest.mark.django_db
def test_what_a_file_cannot_say_is_not_in_it(full: str) -> None:
    acme, now = Workspace.objects.get(), timezone.now()
    unsaid: dict[str, dict[str, Any]] = {
        "powerless": {"scopes": []},
        "of nothing": {"journeys": ["f" * 24]},
        "revoked": {"revoked_at": now},
    }
    for name, changes in unsaid.items():
        ApiKey.objects.create(workspace=acme, name=name, prefix="p", digest=name.encode(), **changes)
    Journey.objects.create(workspace=acme, key="old", name="Old", active=False, archived_at=now)
    assert export() == full


@pytest.mark.django_db
def test_a_plan_says_what_would_change_and_changes_nothing(full: str, tmp_path: Path) -> None:
    acme = Workspace.objects.get()
    close(Journey.objects.get(key="welcome"), reason="Enough.", actor="staff", dry_run=False, now=timezone.now())
    before = everything_of(acme)
    file = described(
        customers=[{"external_id": "ada", "attributes": {"plan": "free"}}, {"external_id": "bob"}],
        segments=[{"key": "vip", "members": ["bob"]}, {"key": "pro", "name": "Pro"}],
        variables={"shop": "Garden", "colours": None, "new": 1},
        connections=[{"key": "mail", "headers": {"X-Token": "another"}, "url": "https://mail.example/"}],
        journeys=[{"key": "welcome", "active": True}, {"key": "calls", "name": "Calls"}],
    )
    code, planned = plan(tmp_path, file)
    assert (code, sorted(planned["create"])) == (2, ["customers bob", "variables new"])
    assert planned["change"] == {
        "customers ada": ["attributes"],
        "segments pro": ["name"],
        "segments vip": ["members"],
        "variables colours": ["value"],
        "variables shop": ["value"],
        "connections mail": ["headers", "auth"],
        "journeys calls": ["name"],
    }
    assert (planned["stay"], list(planned["stayClosed"])) == (2, ["welcome"])
    assert sorted(planned["drift"]) == [
        "apiKeys server", "apiKeys shop", "apps web", "connections chat", "journeys won-back", "messages sale",
        "subscriptions crm",
    ]  # fmt: skip
    assert everything_of(acme) == before
    code, planned = plan(tmp_path, {"workspace": {"key": "new"}})
    assert (code, planned["create"], Workspace.objects.count()) == (2, ["workspace new"], 1)
