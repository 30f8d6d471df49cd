"""An app's keys, ready to verify."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from functools import lru_cache
from typing import Any

from engage.credentials.encryption import decrypted
from engage.credentials.identity_keys import verifying_key
from engage.models import App

_prepared = lru_cache(maxsize=1000)(verifying_key)


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


class _Keys(Keyring):
    """Each key is decrypted when a token names it: one that cannot be decrypted fails no token of another."""

    def __init__(self, stored: Mapping[str, Any]) -> None:
        self._stored, self._opened = stored, dict[str, Key]()

    def __getitem__(self, kid: str) -> Key:
        """Raises UnknownEncryptionKey."""
        if kid not in self._opened:
            self._opened[kid] = _key(kid, *self._stored[kid])
        return self._opened[kid]

    def __iter__(self) -> Iterator[str]:
        return iter(self._stored)

    def __len__(self) -> int:
        return len(self._stored)


def keyring_of(app: App) -> Keyring:
    """The keys of an app that called, by `kid`: they came with it, and are kept as long as it is remembered."""
    kept: Keyring | None = vars(app).get("keyring")
    if kept is None:
        stored = json.loads(vars(app)["stored_keys"] or "[]")
        kept = vars(app)["keyring"] = _Keys({kid: columns for kid, *columns in stored})
    return kept


def _key(kid: str, alg: str, stored: str, expires_at: str | None) -> Key:
    secret = decrypted(stored)
    return Key(
        kid=kid,
        alg=alg,
        secret=secret,
        verifies=_prepared(alg, secret),
        expires_at=None if expires_at is None else datetime.fromisoformat(expires_at),
    )
