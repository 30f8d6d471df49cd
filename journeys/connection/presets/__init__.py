"""Providers that many use, as connections without their secrets: a file each, by what the provider's pages document.

`null` stands where a secret is to be given. Not among them are providers whose requests must be signed anew each time
(Amazon SES, Firebase Cloud Messaging v1): a template cannot do that.
"""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any


@cache
def presets() -> Mapping[str, Mapping[str, Any]]:
    """The presets by their keys: `name`, `channel`, `documentation`, and the members of a connection's definition."""
    found = [json.loads(file.read_text()) for file in sorted(Path(__file__).parent.glob("*.json"))]
    return {one["key"]: one for one in found}
