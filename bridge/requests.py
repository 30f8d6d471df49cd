"""What pages ask for: the call, what a button does, and what is to become of a form."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum
from typing import Any

from bridge.models import Interaction
from customers.identity.identifiers import Identifiers

MAX_ORIGIN_LENGTH = 255  # of an origin that is stored


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


@dataclass(frozen=True, kw_only=True)
class Marks:
    """What the checks of the app found about a call that they let through; stored with its interaction.

    `verified` is None where nobody asks for a token. `identity_problem` and `message_problems` are what would have been
    refused; `origin` is the page of such a call.
    """

    action_id: str = ""
    message_problems: list[dict[str, str]] | None = None
    verified: bool | None = None
    identity_problem: str = ""
    origin: str = ""


NO_MARKS = Marks()


@dataclass(frozen=True, kw_only=True)
class BridgeCall:
    """What every bridge call has: its message, its customer's identifiers, the form's values and the client address.

    `action_id` names a button or a form of the message's definition, `delivery_id` what delivered the message to the
    person; empty: nothing did. `identity_token` says who the person is, signed;
    `proven` are the identifiers that it proves. `origin` is the calling page's, "" outside browsers. With
    `must_be_anonymous` it leads to nobody but who is anonymous (customers/identity/claims.py): no token proves that
    it is them. `occurred_at` is None if it was sent when it happened.
    """

    message_id: str
    known_by: Identifiers
    form_data: Mapping[str, Any]
    address: str
    action_id: str = ""
    delivery_id: str = ""
    occurred_at: datetime | None = None
    identity_token: str | None = None
    origin: str = ""
    marks: Marks = NO_MARKS
    proven: Mapping[str, str] = field(default_factory=dict)
    must_be_anonymous: bool = False

    @property
    def is_proven(self) -> bool:
        """Whether a token proves all identifiers of the call."""
        return self.proven.items() >= self.known_by.present().items()
