"""What a message's definition has against a call."""

from collections.abc import Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from engage.errors import FailureDetail, Refusal

_MOST_TOLD = 20
_TELLS_NOTHING = 3  # characters: of a shorter text, the first one is much


class Reason(StrEnum):
    """Under these names problems are counted."""

    NOT_REGISTERED = "message_not_registered"
    ACTION = "action_not_listed"
    EVENT = "event_not_listed"
    PROPERTY = "property_not_listed"
    ATTRIBUTE = "attribute_not_listed"
    FIELD = "field_not_listed"
    SUBMIT = "submit_action_not_listed"
    VALUE = "value_not_allowed"
    MISSING = "value_missing"


@dataclass(frozen=True, kw_only=True)
class Problem:
    """One thing that the definition does not allow: the request's field, why, and what little is shown of the value."""

    reason: Reason
    field: str
    why: str
    value: str = ""


def masked(value: Any) -> str:
    """Tells what a value looks like, and not what it is: `a… (15 characters)`."""
    match value:
        case bool() | None:
            return str(value).lower()
        case str() if len(value) > _TELLS_NOTHING:
            return f"{value[0]}… ({len(value)} characters)"
        case str():
            return f"… ({len(value)} characters)"
        case int() | float():
            return f"{str(value)[:1]}… (a number)"
        case list():
            return f"a list of {len(value)}"
    return "an object"


class MessageNotRegistered(Refusal):
    """The app takes only messages that are registered and active, and this one is not."""

    status = 403
    error = "Message not registered"
    says = "messageId must be the key of an active message of this app's workspace."


class NotInMessage(Refusal):
    """The call asks for something that the message's definition does not list."""

    status = 422
    error = "Not in the message"
    code = "not_in_message"

    def __init__(self, problems: Sequence[Problem]) -> None:
        first = problems[0]
        super().__init__(
            f"The message does not allow this: {first.field} {first.why}",
            details=[FailureDetail(field=one.field, message=one.why) for one in problems[:_MOST_TOLD]],
        )
