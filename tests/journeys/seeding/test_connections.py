"""The connections of a seed file."""

import io
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from journeys.models import Connection
from tests.journeys.connections.made import BODY, INPUTS, STEP
from tests.journeys.seeding.descriptions import Seed, described
from tests.support.audit import written
from tests.support.cases import each

pytestmark = pytest.mark.django_db
MAILER: dict[str, Any] = {
    "key": "mailer", "name": "Our mailer", "channel": "email", "perSecond": 10, "url": "https://mail.example/send",
    "headers": {"X-Token": {"env": "ENGAGE_MAIL_TOKEN"}}, "body": BODY, "inputs": INPUTS,
}  # fmt: skip


def file(*connections: Any, **parts: Any) -> dict[str, Any]:
    return described(connections=[*connections], **parts)


def stored() -> Any:
    return Connection.objects.get(key="mailer").definition["headers"]


def test_a_file_makes_them_before_its_journeys_with_secrets_of_the_environment(
    seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("ENGAGE_MAIL_TOKEN", "hush")
    journeys = [{"key": "welcome", "steps": [STEP]}]
    printed = seed(file(MAILER, journeys=journeys))
    made = Connection.objects.get()
    assert printed["connections"] == {"mailer": made.id}
    assert (made.name, made.channel, made.per_second, made.host) == ("Our mailer", "email", 10, "mail.example:443")
    assert stored() == {"X-Token": "hush"}
    monkeypatch.delenv("ENGAGE_MAIL_TOKEN")
    seed(file(MAILER))
    seed(file({**MAILER, "headers": {"X-Token": "***"}}))
    seed(file({"key": "mailer", "name": "Renamed"}))
    assert stored() == {"X-Token": "hush"}
    assert "hush" not in written()


def test_one_whose_secret_is_missing_is_incomplete_and_the_output_warns(seed: Seed, tmp_path: Path) -> None:
    printed = seed(file(MAILER))
    assert printed["warnings"] == [
        {
            "place": "connections[0]",
            "message": "The connection mailer is incomplete, so its steps fail: there is no value for headers.X-Token.",
        }
    ]
    assert stored() == {"X-Token": None}
    moved = {**MAILER, "url": "https://other.example/"}
    assert seed(file(moved))["warnings"]


def test_a_url_of_the_environment_is_a_secret(seed: Seed, monkeypatch: pytest.MonkeyPatch) -> None:
    slack = {"key": "slack", "url": {"env": "ENGAGE_SLACK"}, "body": {"text": "{{ inputs.text }}"}}
    assert "no value for url." in seed(file(slack))["warnings"][0]["message"]
    monkeypatch.setenv("ENGAGE_SLACK", "https://hooks.example/hush")
    seed(file(slack))
    made = Connection.objects.get(key="slack")
    assert (made.definition["url"], made.definition["secretUrl"]) == ("https://hooks.example/hush", True)
    seed(file({**slack, "url": "***"}))
    assert Connection.objects.get(key="slack").definition["url"] == "https://hooks.example/hush"


def test_one_that_would_break_journeys_is_changed_only_if_that_is_confirmed(seed: Seed, tmp_path: Path) -> None:
    seed(file(MAILER, journeys=[{"key": "welcome", "steps": [STEP]}]))
    narrow = {**MAILER, "inputs": {**INPUTS, "required": ["to", "text", "n", "cc"]}}
    with pytest.raises(CommandError, match=r"^connections\[0\]: By this, .* welcome, step mail: cc is required"):
        seed(file(narrow))
    assert Connection.objects.get().definition["inputs"] == INPUTS
    seed(file(narrow), "--confirm")
    fixed = {**STEP, "inputs": {**STEP["inputs"], "cc": "x"}}
    with pytest.raises(CommandError, match=r"inputs\.cc is no input"):
        seed(file(MAILER, journeys=[{"key": "welcome", "steps": [fixed]}]))
    wider = {**INPUTS, "properties": {**INPUTS["properties"], "cc": {}}, "required": ["cc"]}
    seed(file({**MAILER, "inputs": wider}, journeys=[{"key": "welcome", "steps": [fixed]}]))


def test_the_output_names_them(tmp_path: Path) -> None:
    (tmp_path / "seed.json").write_text(json.dumps(file(MAILER)))
    printed = io.StringIO()
    call_command("seed_workspace", str(tmp_path / "seed.json"), stdout=printed)
    assert f"Connection mailer: {Connection.objects.get().id}" in printed.getvalue()
    assert "Warning: connections[0]: The connection mailer is incomplete" in printed.getvalue()


@each(
    "connection, message",
    [
        ({}, "connections[0].key is required."),
        ({**MAILER, "tls": 1}, "connections[0].tls is not known; what may stand here is key, name, channel, perSecond"),
        (
            {**MAILER, "channel": "fax"},
            "connections[0].channel must be one of email, sms, push, chat, other, not 'fax'.",
        ),
        ({**MAILER, "perSecond": "10"}, "connections[0].perSecond must be a number, but a string came."),
        ({**MAILER, "url": "ftp://x"}, "connections[0].url must begin with http:// or https://."),
        ({"key": "mailer"}, "connections[0].url is required."),
        (
            {**MAILER, "headers": {"X": {"env": "SECRET_KEY"}}},
            "connections[0].headers.X.env is SECRET_KEY; a file may only name variables that begin with ENGAGE_.",
        ),
        ({**MAILER, "headers": {"X": "***"}}, "connections[0].headers.X needs its value"),
    ],
)
def test_what_is_wrong_names_the_place(seed: Seed, connection: Any, message: str) -> None:
    with pytest.raises(CommandError) as refused:
        seed(file(connection, journeys=[{"key": "a"}]))
    assert str(refused.value).startswith(message)
    assert not Connection.objects.exists()
