"""`manage.py identity_token`."""

from datetime import UTC, datetime
from io import StringIO

import jwt
import pytest
from django.core.management import CommandError, call_command

from engage.models import IdentityKey, Workspace
from tests.bridge.identity.tokens import SECRET
from tests.support.bridge_calls import ACTION, call
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory


def test_it_prints_a_token_that_the_app_takes(acme: Workspace) -> None:
    app = AppFactory.create(workspace=acme, identity="enforce")
    IdentityKey.objects.create(workspace=acme, app=app, kid="k1", alg="HS256", secret=SECRET)
    printed = StringIO()

    call_command("identity_token", app.id, "ada", "--email", "ada@example.com", stdout=printed)

    about = {
        "userId": None,
        "external_id": "ada",
        "email": "ada@example.com",
        "identityToken": printed.getvalue().strip(),
    }
    assert call(SdkClient(app), ACTION, about).status_code == 200


def test_it_says_if_no_key_can_sign(acme: Workspace) -> None:
    with pytest.raises(CommandError, match="no such key"):
        call_command("identity_token", AppFactory.create(workspace=acme).id, "ada")


def test_it_signs_with_a_key_that_has_not_ended_for_as_long_as_is_taken(acme: Workspace) -> None:
    app = AppFactory.create(workspace=acme, identity="enforce")
    ended = datetime(2026, 1, 1, tzinfo=UTC)
    for kid, expires_at in (("good", None), ("next", ended)):
        IdentityKey.objects.create(workspace=acme, app=app, kid=kid, alg="HS256", secret=SECRET, expires_at=expires_at)
    printed = StringIO()
    call_command("identity_token", app.id, "ada", stdout=printed)
    assert jwt.get_unverified_header(printed.getvalue().strip())["kid"] == "good"
    for seconds in (0, 86_401, 10**20):
        with pytest.raises(CommandError, match="from 1 to 86400"):
            call_command("identity_token", app.id, "ada", "--seconds", str(seconds))
