"""API keys: how they are created, recognised and stored. `engage_` + 32 random characters + a 6-character checksum.

The prefix lets secret scanners recognise a leaked key; the checksum lets a mistyped one be refused without a query.
"""

import hashlib
import secrets
import zlib
from dataclasses import dataclass, field

_ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
KEY_PREFIX = "engage_"
_RANDOM_LENGTH = 32
_CHECKSUM_LENGTH = 6
_SHOWN_LENGTH = len(KEY_PREFIX) + 6


@dataclass(frozen=True)
class FreshKey:
    """A new key, with its secret, which is not stored."""

    secret: str = field(repr=False)

    @property
    def prefix(self) -> str:
        return self.secret[:_SHOWN_LENGTH]

    @property
    def digest(self) -> bytes:
        return digest(self.secret)


def new_key() -> FreshKey:
    """A new random key."""
    random = "".join(secrets.choice(_ALPHABET) for _ in range(_RANDOM_LENGTH))
    return FreshKey(KEY_PREFIX + random + _checksum(random))


def is_well_formed(secret: str) -> bool:
    """Whether the text has the form of a key, its checksum included."""
    random = secret[len(KEY_PREFIX) : -_CHECKSUM_LENGTH]
    return secret.startswith(KEY_PREFIX) and len(random) == _RANDOM_LENGTH and secret.endswith(_checksum(random))


def digest(secret: str) -> bytes:
    """What is stored of a key: the SHA-256 of the whole secret, which is random enough to need no slow hash."""
    return hashlib.sha256(secret.encode("utf-8", "surrogateescape")).digest()


def _checksum(random: str) -> str:
    number, letters = zlib.crc32(random.encode("utf-8", "surrogateescape")), ""
    for _ in range(_CHECKSUM_LENGTH):
        number, index = divmod(number, len(_ALPHABET))
        letters += _ALPHABET[index]
    return letters
