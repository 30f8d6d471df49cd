"""A seed file takes secrets from the environment, so that it need not hold any."""

import re
from typing import Any

import pytest
from django.core.management import CommandError

from config import ROOT
from journeys.models import JourneyRevision
from tests.journeys.seeding.descriptions import Seed, described
from tests.support.audit import written

CALL: dict[str, Any] = {"id": "call", "type": "webhook", "url": "https://mail.example/send"}


def calling(**headers: Any) -> dict[str, Any]:
    return described(journeys=[{"key": "welcome", "steps": [{**CALL, "headers": headers}]}])


def stored_headers() -> Any:
    return JourneyRevision.objects.latest("number").steps[0]["headers"]


@pytest.mark.django_db
def test_a_seed_file_takes_secrets_from_the_environment(seed: Seed, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ENGAGE_MAIL_TOKEN", "Bearer hush")
    seed(calling(Authorization={"env": "ENGAGE_MAIL_TOKEN"}))
    assert stored_headers() == {"Authorization": "Bearer hush"}
    seed(calling(Authorization="***"))
    assert stored_headers() == {"Authorization": "Bearer hush"}
    place = r"^journeys\[0\]\.steps\[0\]\.headers\.Authorization"
    for name, why in (
        ("ENGAGE_NOT_THERE", r"\.env is ENGAGE_NOT_THERE, which the environment does not have"),
        ("MAIL_TOKEN", r"\.env is MAIL_TOKEN; a file may only name variables that begin with ENGAGE_"),
        (7, r"\.env must be a string"),
    ):
        with pytest.raises(CommandError, match=place + why):
            seed(calling(Authorization={"env": name}))
    with pytest.raises(CommandError, match=r"^journeys\[0\]\.steps\[0\]\.headers\.Other needs its value"):
        seed(calling(Other="***"))
    assert stored_headers() == {"Authorization": "Bearer hush"}
    assert "hush" not in written()


@pytest.mark.django_db
def test_a_file_names_nothing_that_the_service_or_its_platform_is_run_with(
    seed: Seed, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = "\n".join((ROOT / name).read_text() for name in ("config/settings.py", "deploy/env", "compose.yaml"))
    own = set(re.findall(r"\b[A-Z]+(?:_[A-Z]+)+\b", files)) - {"ENGAGE_VERSION"}
    assert not [name for name in own if name.startswith("ENGAGE_")], "a setting that a file could name"
    assert {"SECRET_KEY", "POSTGRES_PASSWORD", "VALKEY_PASSWORD", "EMAIL_URL", "DATABASE_DIRECT_URL"} <= own
    for name in [*sorted(own), "PATH", "engage_token", "XENGAGE_TOKEN", " ENGAGE_TOKEN"]:
        monkeypatch.setenv(name, "hush")
        with pytest.raises(CommandError, match="a file may only name variables that begin with ENGAGE_"):
            seed(calling(Authorization={"env": name}))
    assert not JourneyRevision.objects.exists()
