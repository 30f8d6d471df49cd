"""What pages ask for: what a button does, and what is to become of a form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

from bridge.models import Interaction


@dataclass(frozen=True, kw_only=True)
class Action:
    """What the button does. The event is only for `track_event`, the attributes are only for `update_profile`.

    `type` is None if the page leaves it to the message's definition.
    """

    type: Interaction.Kind | None
    event_name: str = ""
    event_properties: Mapping[str, Any] = field(default_factory=dict)
    profile_attributes: Mapping[str, Any] = field(default_factory=dict)


class SubmitType(StrEnum):
    TRACK_EVENT = "track_event"
    UPDATE_PROFILE = "update_profile"
    BOTH = "both"

    @property
    def makes_event(self) -> bool:
        return self is not SubmitType.UPDATE_PROFILE

    @property
    def writes_attributes(self) -> bool:
        return self is not SubmitType.TRACK_EVENT


@dataclass(frozen=True, kw_only=True)
class SubmitAction:
    """What to do with a form. The maps go from a name to a form field's name; None means every field."""

    type: SubmitType
    event_name: str = ""
    event_properties: Mapping[str, Any] | None = None
    profile_attributes: Mapping[str, Any] | None = None
