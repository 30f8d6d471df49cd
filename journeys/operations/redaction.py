"""What is hidden when a request is shown: a journey's headers and query may carry credentials of the receiver."""

import re
from collections.abc import Mapping
from typing import Any

from journeys.steps.secrets import MASK, is_open, masked_steps

# Words that indicate a credential anywhere in a name, and those that do so only as whole words.
_NAME = re.compile(
    r"auth|cookie|token|secret|passw|passphrase|credential|session|signature|api[-_]?key|access[-_]?key"
    r"|(?<![a-z])(?:key|sig|pwd|pass|jwt|bearer|hmac)(?![a-z])",
    re.IGNORECASE,
)
_PARAMETER = re.compile(r"(?<=[?&])([^=&]+)=[^&]+")


def without_values(headers: Mapping[str, str]) -> dict[str, str]:
    """The headers, with every value hidden but that of the content type."""
    return {name: value if is_open(("headers", name)) else MASK for name, value in headers.items()}


def steps_without_credentials(steps: Any) -> Any:
    """A journey's steps as they are stored, without their secrets and what is secret in their URLs.

    Steps that no longer can be read are shown as they are otherwise.
    """
    return [_with_a_plain_url(step) for step in masked_steps(steps)] if isinstance(steps, list) else steps


def _with_a_plain_url(step: Any) -> Any:
    if not isinstance(step, dict) or not isinstance(step.get("url"), str):
        return step
    return {**step, "url": url_without_secrets(step["url"])}


def url_without_secrets(url: str) -> str:
    """The URL, with the values of query parameters hidden where the name indicates a credential."""
    return _PARAMETER.sub(lambda found: f"{found[1]}={MASK}" if _NAME.search(found[1]) else found[0], url)
