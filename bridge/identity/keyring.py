"""An app's keys, ready to verify."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from engage.identity_keys import verifying_key
from engage.models import App, IdentityKey


@dataclass(frozen=True, kw_only=True)
class Key:
    """A key with its one algorithm; `secret` is what is stored, `verifies` what is made of it."""

    kid: str
    alg: str
    secret: str
    verifies: Any = field(compare=False)
    expires_at: datetime | None

    def is_valid_at(self, now: datetime) -> bool:
        return self.expires_at is None or now < self.expires_at


Keyring = Mapping[str, Key]


def keyring_of(app: App) -> Keyring:
    """The app's keys by `kid`: read once, and kept as long as the app is remembered."""
    kept: Keyring | None = vars(app).get("keyring")
    if kept is None:
        kept = {row.kid: _key(row) for row in IdentityKey.objects.filter(app=app, workspace=app.workspace_id)}
        vars(app)["keyring"] = kept
    return kept


def _key(row: IdentityKey) -> Key:
    return Key(
        kid=row.kid,
        alg=row.alg,
        secret=row.secret,
        verifies=verifying_key(row.alg, row.secret),
        expires_at=row.expires_at,
    )
