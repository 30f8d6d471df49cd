"""Standard Webhooks: secrets, and the headers that show a receiver who sent a request, and when.

The tests verify our signatures with its library. The library does not sign here: that takes one line, and it handles
one secret at a time, while a request is signed with two during a rotation.
"""

import base64
import hashlib
import hmac
import secrets
from collections.abc import Sequence

_PREFIX = "whsec_"
_BYTES = 32


def new_secret() -> str:
    """`whsec_` and 32 random bytes in base64."""
    return _PREFIX + base64.b64encode(secrets.token_bytes(_BYTES)).decode()


def signed_headers(*, webhook_id: str, timestamp: int, body: bytes, signing_secrets: Sequence[str]) -> dict[str, str]:
    """The three headers. `timestamp` is in seconds; there is one signature per secret."""
    content = b".".join([webhook_id.encode(), str(timestamp).encode(), body])
    return {
        "webhook-id": webhook_id,
        "webhook-timestamp": str(timestamp),
        "webhook-signature": " ".join(_signature(content, secret) for secret in signing_secrets),
    }


def _signature(content: bytes, secret: str) -> str:
    key = base64.b64decode(secret.removeprefix(_PREFIX))
    return "v1," + base64.b64encode(hmac.new(key, content, hashlib.sha256).digest()).decode()
