"""What is stored encrypted: receivers' credentials and the secrets that sign webhooks.

A copy of the database or of a backup alone does not give them away. ENCRYPTION_KEYS holds the keys: the first one
encrypts, and all of them decrypt, so that a new key can be put before the old one. `manage.py encrypt` then writes
everything anew, and the old key may go. What was stored before there were keys is read as it is.
"""

import base64
import hashlib
import json
from collections.abc import Callable, Hashable, Sequence
from functools import cache
from typing import Any

from cryptography.fernet import Fernet, InvalidToken, MultiFernet
from django.conf import settings

from engage.credentials.sealed import MARK, UnknownEncryptionKey, is_sealed
from engage.process.bounded_cache import BoundedCache

_known: BoundedCache[Hashable, str] = BoundedCache(most=4_000_000)  # characters

__all__ = [
    "UnknownEncryptionKey", "decrypted", "decrypted_json", "encrypted", "encrypted_json", "key_of", "opened",
    "token_of",
]  # fmt: skip


def key_of(text: str) -> bytes:
    """A key of 32 bytes, in the form that Fernet takes, from a text of any length."""
    return base64.urlsafe_b64encode(hashlib.sha256(f"engage encryption {text}".encode()).digest())


@cache
def _fernet(keys: Sequence[str]) -> MultiFernet:
    return MultiFernet([Fernet(key_of(key)) for key in keys])


def _encrypt(text: str, keys: Sequence[str]) -> str:
    return MARK + _fernet(keys).encrypt(text.encode()).decode()


def _decrypt(stored: str, keys: Sequence[str]) -> str:
    try:
        return _fernet(keys).decrypt(stored.removeprefix(MARK)).decode()
    except InvalidToken:
        raise UnknownEncryptionKey from None


def _once(work: Callable[[str, Sequence[str]], str], text: str) -> str:
    """What `work` makes of the text with the keys of the settings; the same headers are sent to many."""
    keys = tuple(settings.ENCRYPTION_KEYS)
    made = _known.get((work, text, keys))
    if made is None:
        made = work(text, keys)
        _known.keep((work, text, keys), made, size=len(text) + len(made))
    return made


def encrypted(text: str) -> str:
    """The text as it is to be stored. What could not be decrypted stays as it is."""
    return text if is_sealed(text) else _once(_encrypt, text)


def decrypted(stored: str) -> str:
    """The text that was stored. Raises UnknownEncryptionKey."""
    return _once(_decrypt, stored) if is_sealed(stored) else stored


def encrypted_json(value: Any) -> str:
    """A JSON value as a text that holds it encrypted."""
    return encrypted(json.dumps(value))


def decrypted_json(stored: Any) -> Any:
    """The value that a column of JSON holds, encrypted or not. Raises UnknownEncryptionKey."""
    return json.loads(decrypted(stored)) if is_sealed(stored) else stored


def token_of(text: str, *, purpose: str) -> str:
    """The text encrypted, as a part of a URL that only `opened` reads, for the same purpose. No two are the same."""
    return _fernet(_keys_for(purpose)).encrypt(text.encode()).decode().rstrip("=")


def opened(token: str, *, purpose: str) -> str | None:
    """The text in a token of `token_of`, by any of the keys that are left; None if it is not whole, or is no such."""
    try:
        return _fernet(_keys_for(purpose)).decrypt(token + "=" * (-len(token) % 4)).decode()
    except (InvalidToken, ValueError):  # letters beyond ASCII
        return None


def _keys_for(purpose: str) -> Sequence[str]:
    """Keys of their own: what is stored encrypted is no token, and no token is read where that is stored."""
    return tuple(f"{purpose} {key}" for key in settings.ENCRYPTION_KEYS)
