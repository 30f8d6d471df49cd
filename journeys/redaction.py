"""What is not shown of a request: a journey's headers and its query may carry credentials of the receiver."""

import re
from collections.abc import Mapping

HIDDEN = "***"
_SPEAKING = r"auth|cookie|token|secret|passw|credential|session|signature|api[-_]?key|access[-_]?key"
_NAME = re.compile(_SPEAKING, re.IGNORECASE)
_PARAMETER = re.compile(rf"([?&][^=&]*(?:{_SPEAKING})[^=&]*=)[^&]+", re.IGNORECASE)


def without_secrets(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers; the value of one whose name speaks of a credential is hidden."""
    return {name: HIDDEN if _NAME.search(name) else value for name, value in headers.items()}


def url_without_secrets(url: str) -> str:
    """The URL; the value of a query parameter whose name speaks of a credential is hidden."""
    return _PARAMETER.sub(rf"\1{HIDDEN}", url)
