"""What is not shown of a request: a journey's headers and its query may carry credentials of the receiver."""

import re
from collections.abc import Mapping

HIDDEN = "***"
# Words that speak of a credential wherever they stand in a name, and those that do so only as words of their own.
_NAME = re.compile(
    r"auth|cookie|token|secret|passw|passphrase|credential|session|signature|api[-_]?key|access[-_]?key"
    r"|(?<![a-z])(?:key|sig|pwd|pass|jwt|bearer|hmac)(?![a-z])",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"(?<=[?&])([^=&]+)=[^&]+")


def without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers; the value of one whose name speaks of a credential is hidden."""
    return {name: HIDDEN if _NAME.search(name) else value for name, value in headers.items()}


def url_without_secrets(url: str) -> str:
    """The URL; the value of a query parameter whose name speaks of a credential is hidden."""
    return _PARAMETER.sub(lambda found: f"{found[1]}={HIDDEN}" if _NAME.search(found[1]) else found[0], url)
