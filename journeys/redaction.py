"""What is hidden when a request is shown: a journey's headers and query may carry credentials of the receiver."""

import re
from collections.abc import Mapping

HIDDEN = "***"
# Words that indicate a credential anywhere in a name, and those that do so only as whole words.
_NAME = re.compile(
    r"auth|cookie|token|secret|passw|passphrase|credential|session|signature|api[-_]?key|access[-_]?key"
    r"|(?<![a-z])(?:key|sig|pwd|pass|jwt|bearer|hmac)(?![a-z])",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"(?<=[?&])([^=&]+)=[^&]+")


def without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, with the value hidden where the name indicates a credential."""
    return {name: HIDDEN if _NAME.search(name) else value for name, value in headers.items()}


def url_without_secrets(url: str) -> str:
    """The URL, with the values of query parameters hidden where the name indicates a credential."""
    return _PARAMETER.sub(lambda found: f"{found[1]}={HIDDEN}" if _NAME.search(found[1]) else found[0], url)
