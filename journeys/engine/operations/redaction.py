"""What is hidden when a request is shown: a journey's headers and query may carry credentials of the receiver."""

from collections.abc import Mapping
from typing import Any

from journeys.steps.secrets import MASK, is_open, masked_steps, url_without_secrets


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
