"""Identity tokens, as an app's server makes them."""

import time
from typing import Any

import jwt

SECRET = "a-secret-of-at-least-thirty-two-bytes"


def token(*, key: Any = SECRET, alg: str = "HS256", kid: Any = "k1", **claims: Any) -> str:
    """Of Ada, for an hour, unless said; a claim None is left out."""
    said = {"sub": "ada", "exp": int(time.time()) + 3600, **claims}
    payload = {name: value for name, value in said.items() if value is not None}
    return jwt.encode(payload, key, algorithm=alg, headers={"kid": kid} if kid else {})
