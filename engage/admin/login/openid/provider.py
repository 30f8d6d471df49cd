"""What the provider says of itself, and of who has come back from it: believed only if it is for us, and for now.

The library fetches tokens and compares nonces. It does not ask for whom a token was made, or by whom, and looks for its
key by a `kid` that need not be there: that is done here.
"""

import math
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import RLock
from typing import Any

import jwt
import requests
import structlog
from django.conf import settings
from django.core.exceptions import SuspiciousOperation
from django.http import HttpRequest
from django.urls import reverse
from mozilla_django_oidc.auth import OIDCAuthenticationBackend

from engage.errors import Refusal

Claims = Mapping[str, Any]
CALLBACK = "openid_callback"  # the name of the page to which the provider sends a browser back
_SECONDS = 5
_AWAY_SECONDS = 30  # for which nobody is kept waiting for a provider that has just not answered
_KEYS_SECONDS = 300  # for which its keys are believed to be its keys
_CLOCKS_DIFFER_SECONDS = 30
_KEYS_OF = {"RS256": "RSA", "ES256": "EC"}  # the kind of key for each algorithm
_CLAIMS = ["iss", "aud", "exp", "iat", "sub"]
_AWAY = (requests.ConnectionError, requests.Timeout)
# What an answer that is none of a provider's leads to, here and in the library.
_UNFIT = (requests.RequestException, jwt.PyJWTError, SuspiciousOperation, LookupError, TypeError, ValueError)
log = structlog.get_logger(__name__)


class ProviderUnavailable(Refusal):
    """The provider cannot be reached, or is not what OIDC_ISSUER names."""

    status = 503
    code = "provider_away"

    def __init__(self) -> None:
        super().__init__("The OpenID Connect provider does not answer as it should. The log tells more.")


class InvalidIdToken(Refusal):
    """What came back does not prove who it is."""

    status = 403
    code = "not_proven"

    def __init__(self) -> None:
        super().__init__("The OpenID Connect provider has not proven who you are. Log in once more.")


class LoginsUnderWay(Refusal):
    """A process asks the provider about one person at a time: it may be slow, and the threads serve calls, too."""

    status = 503
    code = "login_busy"


_asking = RLock()
_away_until: dict[str, float] = {}  # by issuer
_kept: dict[str, Mapping[str, Any]] = {}  # by issuer, until the process ends
_kept_keys: dict[str, tuple[float, list[dict[str, Any]]]] = {}  # by address: since when


@contextmanager
def asking() -> Iterator[None]:
    """In the block, and nowhere else, the provider is waited for: by one thread of a process.

    Others are refused at once, and so is everybody for a while after it has not answered. Raises LoginsUnderWay and
    ProviderUnavailable.
    """
    issuer = settings.OIDC_ISSUER
    if time.monotonic() < _away_until.get(issuer, 0):
        raise ProviderUnavailable
    if not _asking.acquire(blocking=False):
        raise LoginsUnderWay("Somebody else is logging in, or the provider does not answer. Try again.")
    try:
        yield
    except ProviderUnavailable:
        _away_until[issuer] = time.monotonic() + _AWAY_SECONDS
        raise
    finally:
        _asking.release()


def _discovered(issuer: str) -> Mapping[str, Any]:
    """The provider's endpoints, as it publishes them."""
    answer = requests.get(f"{issuer.rstrip('/')}/.well-known/openid-configuration", timeout=_SECONDS)
    answer.raise_for_status()
    told: dict[str, Any] = answer.json()
    if told["issuer"] != issuer:
        raise ValueError("another issuer")
    named = [told.get(name) for name in ("authorization_endpoint", "token_endpoint", "jwks_uri", "userinfo_endpoint")]
    scheme = "https://" if settings.PRODUCTION else "http"
    if not all(named[:3]) or not all(str(url).startswith(scheme) for url in named if url):
        raise ValueError("an endpoint that is missing or insecure")
    return told


def discovered() -> Mapping[str, Any]:
    """What the provider says of itself, kept until the process ends. Raises LoginsUnderWay and ProviderUnavailable."""
    issuer = settings.OIDC_ISSUER
    if issuer not in _kept:
        with asking():
            try:
                _kept[issuer] = _discovered(issuer)
            except _UNFIT as unfit:
                log.warning("openid_provider_away", exc_info=unfit)
                raise ProviderUnavailable from unfit
    return _kept[issuer]


def setting(name: str, *default: Any) -> Any:
    """The library's settings, which it asks for one by one. Raises ProviderUnavailable."""
    told = discovered()
    known = {
        "OIDC_OP_AUTHORIZATION_ENDPOINT": told["authorization_endpoint"],
        "OIDC_OP_TOKEN_ENDPOINT": told["token_endpoint"],
        "OIDC_OP_USER_ENDPOINT": told.get("userinfo_endpoint"),
        "OIDC_OP_JWKS_ENDPOINT": told["jwks_uri"],
        "OIDC_AUTHENTICATION_CALLBACK_URL": CALLBACK,
        "OIDC_RP_CLIENT_ID": settings.OIDC_CLIENT_ID,
        "OIDC_RP_CLIENT_SECRET": settings.OIDC_CLIENT_SECRET,
        "OIDC_RP_SCOPES": settings.OIDC_SCOPES,
        "OIDC_RP_SIGN_ALGO": "RS256",  # that is, by the provider's keys
        "OIDC_USE_PKCE": True,
        "OIDC_TIMEOUT": _SECONDS,
        "OIDC_TOKEN_USE_BASIC_AUTH": "client_secret_post" not in told.get("token_endpoint_auth_methods_supported", ()),
    }
    return known.get(name, *default)


class Provider(OIDCAuthenticationBackend):  # type: ignore[misc] # it has no types
    """The library's client. Django knows it as no backend: it would be asked about passwords and permissions, too."""

    get_settings = staticmethod(setting)

    def retrieve_matching_jwk(self, token: str) -> jwt.PyJWK:
        """The provider's key for this token: of those kept, or else as they are now. Raises PyJWTError."""
        header = jwt.get_unverified_header(token)
        if header["alg"] not in _KEYS_OF:
            raise jwt.InvalidAlgorithmError
        since, keys = _kept_keys.get(self.OIDC_OP_JWKS_ENDPOINT, (-math.inf, []))
        is_fresh = time.monotonic() - since < _KEYS_SECONDS and header.get("kid") is not None
        key = (_fitting(keys, header) if is_fresh else None) or _fitting(self._fetched_keys(), header)
        if key is None:
            raise jwt.InvalidKeyError
        return jwt.PyJWK(key, algorithm=header["alg"])

    def _fetched_keys(self) -> list[dict[str, Any]]:
        answer = requests.get(self.OIDC_OP_JWKS_ENDPOINT, timeout=_SECONDS)
        answer.raise_for_status()
        keys: list[dict[str, Any]] = answer.json()["keys"]
        _kept_keys[self.OIDC_OP_JWKS_ENDPOINT] = (time.monotonic(), keys)
        return keys

    def get_payload_data(self, token: str, key: Any) -> dict[str, Any]:
        """What a token of this provider says that was made for this service, and holds. Raises PyJWTError."""
        said: dict[str, Any] = jwt.decode(
            token,
            key,
            algorithms=list(_KEYS_OF),
            audience=settings.OIDC_CLIENT_ID,
            issuer=settings.OIDC_ISSUER,
            leeway=_CLOCKS_DIFFER_SECONDS,
            options={"require": _CLAIMS},
        )
        if said.get("azp", settings.OIDC_CLIENT_ID) != settings.OIDC_CLIENT_ID:
            raise jwt.InvalidAudienceError
        return said

    def claims(self, request: HttpRequest, *, code: str, nonce: str, code_verifier: str) -> Claims:
        """What the provider says of who has brought this code: by the ID token, and where that is silent, beside it."""
        tokens = self.get_token(
            {
                "client_id": settings.OIDC_CLIENT_ID,
                "client_secret": settings.OIDC_CLIENT_SECRET,
                "grant_type": "authorization_code",
                "code": code,
                "redirect_uri": request.build_absolute_uri(reverse(CALLBACK)),
                "code_verifier": code_verifier,
            }
        )
        said: dict[str, Any] = self.verify_token(tokens["id_token"], nonce=nonce)
        if not self.OIDC_OP_USER_ENDPOINT:
            return said
        beside: dict[str, Any] = self.get_userinfo(tokens["access_token"], tokens["id_token"], said)
        if beside["sub"] != said["sub"]:
            raise SuspiciousOperation("userinfo of somebody else")
        return beside | said


def _fitting(keys: list[dict[str, Any]], header: Mapping[str, Any]) -> dict[str, Any] | None:
    """The first key that can have signed a token with this header."""
    for key in keys:
        fits = key["kty"] == _KEYS_OF[header["alg"]] and key.get("use", "sig") == "sig"
        if fits and header.get("kid") in {None, key.get("kid")}:
            return key
    return None


def claims_of(request: HttpRequest, *, code: str, nonce: str, code_verifier: str) -> Claims:
    """What the provider says of who has brought this code. Raises ProviderUnavailable and InvalidIdToken."""
    provider = Provider()
    try:
        return provider.claims(request, code=code, nonce=nonce, code_verifier=code_verifier)
    except _AWAY as away:
        log.warning("openid_provider_away", exc_info=away)
        raise ProviderUnavailable from away
    except _UNFIT as unfit:
        log.warning("openid_not_proven", exc_info=unfit)
        raise InvalidIdToken from unfit
