"""Secrets of a seed file: `{"env": "NAME"}` stands for what the environment of the command has."""

import os
from typing import Any

from engage.json.documents import Part
from journeys.steps.secrets import Path, with_secrets

# What the service itself is run with: a file that somebody else has written must not send it anywhere.
_OWN = frozenset({"SECRET_KEY", "ENCRYPTION_KEYS", "DATABASE_URL", "REDIS_URL", "METRICS_TOKEN", "OIDC_CLIENT_SECRET"})


def read_steps(part: Part) -> Any:
    """Steps of any form, with the secrets that they name. Raises InvalidSeed for one that is not there."""
    return [read_request(item) for item in part.items()] if isinstance(part.value, list) else part.value


def read_request(part: Part, *, may_lack: bool = False) -> Any:
    """A step, or a connection, with the secrets that it names: of one that may lack them, None if it is not there.

    Raises InvalidSeed.
    """

    def given(path: Path, value: Any) -> Any:
        if not (isinstance(value, dict) and set(value) == {"env"}):
            return value
        named = Part(value["env"], ".".join((part.place, *path, "env")), part.refusal)
        name = named.text()
        if name in _OWN:
            named.refuse(f"is {name}, which is the service's own.")
        found = os.environ.get(name) or None
        return found if found or may_lack else named.refuse(f"is {name}, which the environment does not have.")

    request = part.value
    if may_lack and isinstance(request, dict) and isinstance(request.get("url"), dict):
        request = {**request, "secretUrl": True}
    return with_secrets(request, given)
