"""`messages` and an app's checks in a seed file."""

from typing import Any

import pytest
from django.utils import timezone

from bridge.models import Message
from engage.models import App, IdentityKey
from journeys.definitions.reading import InvalidSeed
from journeys.seeding.seed import read_seed, seed_workspace
from tests.bridge.identity.tokens import SECRET
from tests.bridge.messages import sale

KEY = {"kid": "k1", "alg": "HS256", "secret": SECRET}
WHOLE: dict[str, Any] = {
    "workspace": {"key": "acme"},
    "apps": [
        {
            "name": "web",
            "messagePolicy": "enforce",
            "identity": "report",
            "anonymous": "deny",
            "identityKeys": [KEY, {**KEY, "kid": "k2", "expiresAt": "2027-01-01T00:00:00Z"}],
        }
    ],
    "messages": [{"key": "sale", "status": "active", "actions": sale.ACTIONS, "forms": sale.FORMS}],
}


def seed(**parts: Any) -> None:
    seed_workspace(seed=read_seed({**WHOLE, **parts}), crowd_size=0, renew_keys=False, now=timezone.now())


@pytest.mark.django_db
def test_a_seed_file_makes_messages_and_says_what_an_app_checks() -> None:
    seed()
    seed()

    message, app = Message.objects.get(), App.objects.get()
    assert (message.key, message.status, message.revision, message.actions) == ("sale", "active", 1, sale.ACTIONS)
    assert (app.message_policy, app.identity, app.anonymous) == ("enforce", "report", "deny")
    assert [(key.kid, key.secret) for key in IdentityKey.objects.order_by("kid")] == [("k1", SECRET), ("k2", SECRET)]

    seed(apps=[{"name": "web", "identityKeys": [KEY]}], messages=[{"key": "sale", "forms": []}])
    app.refresh_from_db()
    message.refresh_from_db()
    assert app.message_policy == "enforce"
    assert IdentityKey.objects.count() == 1
    assert (message.revision, message.forms, message.actions) == (2, [], sale.ACTIONS)


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ({"apps": [{"name": "web", "identity": "on"}]}, "apps[0].identity must be one of off, report, enf"),
        ({"apps": [{"name": "web", "identityKeys": [KEY] * 2}]}, "apps[0].identityKeys[1].kid is the same as"),
        (
            {"apps": [{"name": "web", "identityKeys": [{**KEY, "secret": "short"}]}]},
            "apps[0].identityKeys[0].secret must be a secret of at least 32 bytes.",
        ),
        (
            {"apps": [{"name": "web", "identityKeys": [{**KEY, "alg": "ES256"}]}]},
            "apps[0].identityKeys[0].secret must be the public key of a P-256 key, in PEM.",
        ),
        (
            {"apps": [{"name": "web", "identityKeys": [{**KEY, "kid": str(n)} for n in range(4)]}]},
            "apps[0].identityKeys holds 4 items; its maximum is 3.",
        ),
        ({"messages": [{"key": "sale", "actions": [{"id": "a"}]}]}, "messages[0].actions[0].type is required."),
    ],
)
def test_a_bad_part_is_refused_with_its_place(parts: dict[str, Any], message: str) -> None:
    with pytest.raises(InvalidSeed) as refusal:
        seed(**parts)
    assert str(refusal.value).startswith(message)
    assert not Message.objects.exists()
