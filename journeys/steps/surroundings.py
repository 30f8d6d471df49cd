"""What steps read that belongs to their workspace, not to the enrollment."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from journeys.steps.provider import Provider


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Variables by name, and connections by key. What is here holds at the moment, for those inside as well."""

    variables: Mapping[str, Any] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)


NOTHING = Surroundings()
