"""Identity tokens, as an app's server makes them."""

import time
from typing import Any

import jwt

from engage.models import App, IdentityKey, Workspace
from tests.support.clients import SdkClient
from tests.support.factories import AppFactory

SECRET = "a-secret-of-at-least-thirty-two-bytes"


def token(*, key: Any = SECRET, alg: str = "HS256", kid: Any = "k1", **claims: Any) -> str:
    """Of Ada, for an hour, unless said; a claim None is left out."""
    said = {"sub": "ada", "exp": int(time.time()) + 3600, **claims}
    payload = {name: value for name, value in said.items() if value is not None}
    return jwt.encode(payload, key, algorithm=alg, headers={"kid": kid} if kid else {})


def proving(workspace: Workspace, identity: str = "enforce") -> SdkClient:
    """An app that looks at tokens, which are signed with its secret."""
    app: App = AppFactory.create(workspace=workspace, identity=identity)
    IdentityKey.objects.create(workspace=workspace, app=app, kid="k1", alg="HS256", secret=SECRET)
    return SdkClient(app)
