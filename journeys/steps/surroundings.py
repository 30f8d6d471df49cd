"""What steps read that belongs to their workspace, not to the enrollment."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import Any

from journeys.steps.links import Links
from journeys.steps.provider import Provider


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """Variables by name, connections by key, the keys of messages that can be shown, and what makes links in messages.

    What is here holds at the moment, for those inside as well.
    """

    variables: Mapping[str, Any] = field(default_factory=dict)
    providers: Mapping[str, Provider] = field(default_factory=dict)
    messages: Collection[str] = ()
    links: Links | None = None


NOTHING = Surroundings()
