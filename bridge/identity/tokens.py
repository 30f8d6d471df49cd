"""Identity tokens: JSON Web Tokens that the app's own server signs.

`sub` is the person's `external_id` (or with `"idt": "userId"` their `userId`), `email`, `phone` and `userId` may be
there too, and `attributes` names the attributes that the call may write, if not all. `exp` is at most 24 hours ahead.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from functools import lru_cache
from typing import Any

import jwt

from bridge.identity.keyring import Key, Keyring
from bridge.identity.problems import IdentityTokenExpired, IdentityTokenInvalid
from customers.identity.identifiers import Identifiers, identifiers
from engage.errors import InvalidRequest
from engage.models import App
from engage.notations.sizes import KIB

MAX_TOKEN_BYTES = 4 * KIB
LONGEST_LIFE = timedelta(hours=24)
LEEWAY = timedelta(seconds=60)  # the two machines' clocks may differ
_MOST_REMEMBERED = 1000
_ALSO = {"email": "email", "phone": "phone", "user_id": "userId"}
_OPTIONS: dict[str, Any] = {"require": ["exp", "sub"], "verify_aud": False}


@dataclass(frozen=True, kw_only=True)
class Identity:
    """What a token proves: identifiers in their stored form, and the attributes that may be written (None: all)."""

    known_by: Identifiers
    attributes: frozenset[str] | None
    expires_at: float


_verified: dict[tuple[str, str], tuple[Key, Identity]] = {}


def verify_token(token: str, *, app: App, keyring: Keyring, now: datetime) -> Identity:
    """Raises IdentityTokenExpired, IdentityTokenInvalid. What one process has verified it remembers."""
    known = _verified.get((app.id, token))
    if known is not None and keyring.get(known[0].kid) == known[0]:
        key, identity = known
    else:
        key, identity = _verify(token, app_id=app.id, keyring=keyring)
        if len(_verified) >= _MOST_REMEMBERED:
            _verified.clear()
        _verified[app.id, token] = key, identity
    if not key.is_valid_at(now):
        raise IdentityTokenInvalid("its key has ended.")
    if now.timestamp() >= identity.expires_at + LEEWAY.total_seconds():
        raise IdentityTokenExpired
    known_by = identity.known_by.in_country(app.default_country)
    return identity if known_by is identity.known_by else replace(identity, known_by=known_by)


def _verify(token: str, *, app_id: str, keyring: Keyring) -> tuple[Key, Identity]:
    if len(token) > MAX_TOKEN_BYTES:
        raise IdentityTokenInvalid(f"it is longer than {MAX_TOKEN_BYTES} characters.")
    try:
        kid = _kid_in(token.partition(".")[0])
        key = keyring.get(kid) if isinstance(kid, str) else None
        if key is None:
            raise IdentityTokenInvalid("its kid names none of the app's keys.")
        claims = jwt.decode(token, key.verifies, algorithms=[key.alg], leeway=LEEWAY, options=_OPTIONS)  # type: ignore[arg-type]
    except jwt.ExpiredSignatureError:
        raise IdentityTokenExpired from None
    except (jwt.PyJWTError, ValueError, RecursionError):
        raise IdentityTokenInvalid("it is malformed, of the future, or not signed by the key that it names.") from None
    return key, _identity(claims, app_id=app_id)


@lru_cache(maxsize=100)
def _kid_in(header: str) -> Any:
    """Of a token's first part, which is the same for all that a key has signed: nothing else of it is parsed here."""
    return jwt.get_unverified_header(f"{header}..").get("kid")


def _identity(claims: Mapping[str, Any], *, app_id: str) -> Identity:
    expires_at = int(claims["exp"])  # as it was verified; a float has no room for the largest
    if expires_at > time.time() + (LONGEST_LIFE + LEEWAY).total_seconds():
        raise IdentityTokenInvalid("its exp must be at most 24 hours ahead.")
    audience = claims.get("aud", app_id)
    if app_id not in (audience if isinstance(audience, list) else [audience]):
        raise IdentityTokenInvalid("its aud is another app.")
    named = claims.get("idt", "external_id")
    texts = {field: claims.get(name) for field, name in _ALSO.items()}
    if named not in ("external_id", "userId") or not all(isinstance(text, str | None) for text in texts.values()):
        raise IdentityTokenInvalid("idt must be external_id or userId, and email, phone and userId must be strings.")
    subject = "user_id" if named == "userId" else "external_id"
    try:
        known_by = identifiers(**{**texts, subject: claims["sub"]})
    except InvalidRequest as refusal:
        raise IdentityTokenInvalid(refusal.message) from None
    if subject not in known_by.present():
        raise IdentityTokenInvalid("its sub is blank.")
    return Identity(known_by=known_by, attributes=_attributes(claims.get("attributes")), expires_at=expires_at)


def _attributes(listed: Any) -> frozenset[str] | None:
    if listed is None:
        return None
    if not isinstance(listed, list) or not all(isinstance(name, str) for name in listed):
        raise IdentityTokenInvalid("its attributes must be a list of names.")
    return frozenset(listed)
