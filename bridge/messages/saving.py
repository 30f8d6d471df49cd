"""Messages as definitions: what one says, and the rules by which it is saved, whoever does it."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Annotated, Any, ClassVar

from bridge.messages.content import parse_content
from bridge.messages.definition import (
    MAX_ACTIONS,
    MAX_DEFINITION_BYTES,
    MAX_FORMS,
    InvalidMessage,
    check_definition,
)
from bridge.models import Message
from customers.event_rules import MAX_MESSAGE_ID_LENGTH
from engage.errors import Refusal
from engage.json.compact import json_bytes, same_json
from engage.json.documents import Part
from engage.json.fields import Items, Text
from engage.json.keywords import Keywords, choice_of
from engage.json.mistakes import none_of
from engage.json.reading import AtLeastOne
from engage.resources.fields import ReadBy
from engage.resources.resource import Resource

NOTHING = "At least one of status, actions, forms, content must be present."
_OBJECTS = Keywords(items={"type": "object", "additionalProperties": True})
_AS_WRITTEN = ReadBy(lambda part: part.value)  # what is wrong in it is found when it is saved


class MessageNotFound(Refusal):
    """The workspace has no message with this key."""

    status = 404
    error = "Message not found"
    says = "The workspace has no message with this key."


@dataclass(frozen=True, kw_only=True)
class MessageFields:
    """A message: what is absent stays as it is, or is empty in a new one."""

    one_of: ClassVar = AtLeastOne(("status", "actions", "forms", "content"), NOTHING)

    status: Annotated[
        str | None,
        f"One of {', '.join(Message.Status.values)}.",
        Text(longest=None, blank_is_absent=True),
        Keywords(**choice_of(Message.Status.values)),
        ReadBy(Part.text),
    ] = None
    actions: Annotated[
        list[Any] | None,
        "The buttons: each has an `id` and a `type`; `track_event` an `eventName` and rules for its `properties`, "
        "`update_profile` rules for its `attributes`.",
        Items(most=MAX_ACTIONS),
        _OBJECTS,
        _AS_WRITTEN,
    ] = None
    forms: Annotated[
        list[Any] | None,
        "The forms: each has an `id`, rules for its `fields`, and a `submitAction` as in `captureForm`; without one, "
        "every field becomes an attribute.",
        Items(most=MAX_FORMS),
        _OBJECTS,
        _AS_WRITTEN,
    ] = None
    content: Annotated[
        dict[str, Any] | None,
        "What is shown where a journey delivers the message: a `kind` (`banner`, `modal`, `card` or `custom`), and "
        "`title`, `text`, `image`, `buttons`, `form` and `data` as far as there is any; `{}` takes it away.",
        _AS_WRITTEN,
    ] = None

    def given(self) -> dict[str, Any]:
        """What a body says; content that is taken away is None."""
        given = {name: value for name, value in vars(self).items() if value is not None}
        return given | ({"content": None} if self.content == {} else {})


class Messages(Resource[Message]):
    """In-app messages. Another definition or content is a new revision."""

    model, fields, section = Message, MessageFields, "messages"
    checked_apart = frozenset({"key", "status", "actions", "forms", "content"})
    named_by_journeys = as_in_1_0 = True

    @staticmethod
    def missing(named: str) -> MessageNotFound:
        return MessageNotFound()

    def is_id(self, named: str) -> bool:
        """Its key is whatever a page calls it."""
        return False

    def defaults(self, key: str) -> dict[str, Any]:
        return {"status": Message.Status.DRAFT.value, "actions": [], "forms": [], "content": None}

    def before_saving(self, row: Message, stored: Message | None) -> None:
        if stored and any(not same_json(getattr(row, name), getattr(stored, name)) for name in Message.WRITTEN):
            row.revision += 1

    def mistakes(self, row: Message) -> Iterator[Refusal]:
        if not row.key.strip():
            yield InvalidMessage("key must not be blank.").at("key")
        if len(row.key) > MAX_MESSAGE_ID_LENGTH:
            message = f"key must be at most {MAX_MESSAGE_ID_LENGTH} characters long, not {len(row.key)}."
            yield InvalidMessage(message).at("key")
        if mistake := none_of(Message.Status.values, row.status):
            yield InvalidMessage(f"status {mistake}").at("status")
        if (size := json_bytes([row.actions, row.forms])) > MAX_DEFINITION_BYTES:
            message = f"actions and forms are {size} bytes of JSON; their maximum is {MAX_DEFINITION_BYTES}."
            yield InvalidMessage(message).at("actions")
        try:
            parse_content(row.content, definition=check_definition(actions=row.actions, forms=row.forms))
        except InvalidMessage as refusal:
            yield from refusal.all_found()


MESSAGES = Messages()


def messages_after(*, workspace_id: str, key: str, limit: int) -> Sequence[Message]:
    """The workspace's messages in the order of their keys, from the one after `key` on."""
    return list(MESSAGES.own(workspace_id).filter(key__gt=key).order_by("key")[:limit])
