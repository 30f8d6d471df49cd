"""Secrets of a seed file: `{"env": "ENGAGE_NAME"}` stands for what the environment of the command has."""

import os
from typing import Any

from engage.json.documents import Part
from journeys.steps.secrets import Path, with_secrets

# As exports name them. What the service itself, its database and its platform are run with has other names: a file that
# somebody else has written must not send these anywhere. No setting of the service may begin with this.
ENV_PREFIX = "ENGAGE_"


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
        if not name.startswith(ENV_PREFIX):
            named.refuse(f"is {name}; a file may only name variables that begin with {ENV_PREFIX}.")
        found = os.environ.get(name) or None
        return found if found or may_lack else named.refuse(f"is {name}, which the environment does not have.")

    request = part.value
    if may_lack and isinstance(request, dict) and isinstance(request.get("url"), dict):
        request = {**request, "secretUrl": True}
    return with_secrets(request, given)
