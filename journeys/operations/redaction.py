"""What is hidden when a request is shown: a journey's headers and query may carry credentials of the receiver."""

import re
from collections.abc import Mapping
from typing import Any

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


def without_values(headers: Mapping[str, Any]) -> dict[str, Any]:
    """The headers, with every value hidden."""
    return dict.fromkeys(headers, HIDDEN)


def steps_without_credentials(steps: Any) -> Any:
    """A journey's steps as they are stored, without the values of webhooks' headers and what is secret in their URLs.

    Steps that no longer can be read are shown as they are otherwise.
    """
    return [_step_without_credentials(step) for step in steps] if isinstance(steps, list) else steps


def _step_without_credentials(step: Any) -> Any:
    if not isinstance(step, dict):
        return step
    shown = dict(step)
    if "headers" in step:
        shown["headers"] = without_values(step["headers"]) if isinstance(step["headers"], dict) else HIDDEN
    if isinstance(step.get("url"), str):
        shown["url"] = url_without_secrets(step["url"])
    return shown


def url_without_secrets(url: str) -> str:
    """The URL, with the values of query parameters hidden where the name indicates a credential."""
    return _PARAMETER.sub(lambda found: f"{found[1]}={HIDDEN}" if _NAME.search(found[1]) else found[0], url)
