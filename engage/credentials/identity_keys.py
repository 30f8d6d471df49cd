"""The keys that verify identity tokens: shared secrets, and public keys in PEM."""

from base64 import urlsafe_b64encode
from functools import lru_cache
from typing import Any

from cryptography.exceptions import UnsupportedAlgorithm
from cryptography.hazmat.primitives.asymmetric.ec import SECP256R1, EllipticCurvePublicKey
from cryptography.hazmat.primitives.asymmetric.ed25519 import Ed25519PublicKey
from cryptography.hazmat.primitives.asymmetric.rsa import RSAPublicKey
from cryptography.hazmat.primitives.serialization import load_pem_public_key
from jwt import PyJWK
from jwt.algorithms import HMACAlgorithm

MAX_KEYS = 3
LEAST_SECRET_BYTES = 32
_LEAST_RSA_BITS = 2048
_NAMED = {"RS256": "an RSA key of at least 2048 bits", "ES256": "a P-256 key", "EdDSA": "an Ed25519 key"}


class _SharedSecret(HMACAlgorithm):
    """Looks once at what a secret is made of (whether it is a public key, say), and not for each token."""

    prepare_key = lru_cache(maxsize=1000)(HMACAlgorithm.prepare_key)


_shared_secret = _SharedSecret(HMACAlgorithm.SHA256)


class InvalidIdentityKey(ValueError):
    """The text is no key for this algorithm; the message says what it must be."""


def verifying_key(alg: str, text: str) -> Any:
    """What verifies signatures of this algorithm. Raises InvalidIdentityKey."""
    if alg == "HS256":
        if len(text.encode()) < LEAST_SECRET_BYTES:
            raise InvalidIdentityKey(f"must be a secret of at least {LEAST_SECRET_BYTES} bytes.")
        secret = PyJWK({"kty": "oct", "k": urlsafe_b64encode(text.encode()).rstrip(b"=").decode()}, alg)
        secret.Algorithm = _shared_secret
        return secret
    try:
        key = load_pem_public_key(text.encode())
    except (ValueError, UnsupportedAlgorithm):
        raise InvalidIdentityKey(f"must be the public key of {_NAMED[alg]}, in PEM.") from None
    if not _suits(alg, key):
        raise InvalidIdentityKey(f"must be the public key of {_NAMED[alg]}.")
    return key


def _suits(alg: str, key: Any) -> bool:
    match alg:
        case "RS256":
            return isinstance(key, RSAPublicKey) and key.key_size >= _LEAST_RSA_BITS
        case "ES256":
            return isinstance(key, EllipticCurvePublicKey) and isinstance(key.curve, SECP256R1)
        case _:
            return isinstance(key, Ed25519PublicKey)
