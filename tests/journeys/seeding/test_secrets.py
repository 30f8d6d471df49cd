"""A seed file takes secrets from the environment, so that it need not hold any."""

from typing import Any

import pytest
from django.core.management import CommandError

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
    monkeypatch.setenv("MAIL_TOKEN", "Bearer hush")
    seed(calling(Authorization={"env": "MAIL_TOKEN"}))
    assert stored_headers() == {"Authorization": "Bearer hush"}
    seed(calling(Authorization="***"))
    assert stored_headers() == {"Authorization": "Bearer hush"}
    place = r"^journeys\[0\]\.steps\[0\]\.headers\.Authorization"
    for name, why in (
        ("NOT_THERE", r"\.env is NOT_THERE, which the environment does not have"),
        ("SECRET_KEY", r"\.env is SECRET_KEY, which is the service's own"),
        (7, r"\.env must be a string"),
    ):
        with pytest.raises(CommandError, match=place + why):
            seed(calling(Authorization={"env": name}))
    with pytest.raises(CommandError, match=r"^journeys\[0\]\.steps\[0\]\.headers\.Other needs its value"):
        seed(calling(Other="***"))
    assert stored_headers() == {"Authorization": "Bearer hush"}
    assert "hush" not in written()
