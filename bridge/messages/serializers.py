"""The body that defines a message, and the query that lists them."""

from typing import ClassVar

from django.http import QueryDict

from bridge.messages.authoring import MessageChanges
from bridge.messages.definition import MAX_ACTIONS, MAX_FORMS
from bridge.models import Message
from engage.http.fields import ArrayField, BodySerializer, optional_text
from engage.http.paging import read_cursor, read_limit

MESSAGES, MOST_MESSAGES = 50, 200
NOTHING = "At least one of status, actions, forms must be present."


class MessageBody(BodySerializer):
    """A message: what is absent stays as it is, or is empty in a new one."""

    one_of: ClassVar = ("status", "actions", "forms")
    none_of: ClassVar = NOTHING

    status = optional_text(f"One of {', '.join(Message.Status.values)}.")
    actions = ArrayField(
        max_items=MAX_ACTIONS,
        required=False,
        help_text="The buttons: each has an `id` and a `type`; `track_event` an `eventName` and rules for its "
        "`properties`, `update_profile` rules for its `attributes`.",
    )
    forms = ArrayField(
        max_items=MAX_FORMS,
        required=False,
        help_text="The forms: each has an `id`, rules for its `fields`, and a `submitAction` as in `captureForm`; "
        "without one, every field becomes an attribute.",
    )


def read_message(body: object) -> MessageChanges:
    """Raises MissingParameter, ArraySizeExceeded or InvalidRequest."""
    changes: MessageChanges = MessageBody.read(body)  # type: ignore[assignment] # its fields are those of the changes
    return changes


def read_messages_query(query: QueryDict) -> tuple[str, int]:
    """The key after which the page begins, and how many messages it has. Raises InvalidCursor, InvalidRequest."""
    place = read_cursor(query, str)
    return place[0] if place else "", read_limit(query, default=MESSAGES, at_most=MOST_MESSAGES)
