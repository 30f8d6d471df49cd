"""Saving a message, whoever does it: the API, a seed file, or staff."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NotRequired, TypedDict, Unpack

from django.db import transaction
from django.db.models.functions import Now

from bridge.messages.content import parse_content
from bridge.messages.definition import MAX_DEFINITION_BYTES, InvalidMessage, check_definition
from bridge.models import Message
from customers.event_rules import MAX_MESSAGE_ID_LENGTH
from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import change, record, saved
from engage.errors import Refusal
from engage.http.preconditions import Seen
from engage.json.compact import json_bytes
from engage.json.storable import unstorable
from engage.models import AuditEntry


class MessageNotFound(Refusal):
    """The workspace has no message with this key."""

    status = 404
    error = "Message not found"
    says = "The workspace has no message with this key."


class MessageChanges(TypedDict):
    """What to change; what is absent stays, or is empty in a new message."""

    status: NotRequired[str]
    actions: NotRequired[Any]
    forms: NotRequired[Any]
    content: NotRequired[Any]


@dataclass(frozen=True, kw_only=True)
class SavedMessage:
    """The message as it is stored now, and whether it is new."""

    message: Message
    created: bool


def save_message(
    *, workspace_id: str, key: str, seen: Seen | None = None, **changes: Unpack[MessageChanges]
) -> SavedMessage:
    """Creates or changes the message. Another definition or content is a new revision.

    Raises InvalidMessage, or PreconditionFailed if it is there and must not be.
    """
    check_key(key)
    with transaction.atomic():
        locked = Message.objects.select_for_update(no_key=True)
        message, created = locked.get_or_create(workspace_id=workspace_id, key=key)
        before = facts_of(message)
        for name, value in changes.items():
            setattr(message, name, value)
        check_message(message)
        if seen and not created:
            seen.require_unseen()
        if not created and any(getattr(message, name) != before[name] for name in ("actions", "forms", "content")):
            message.revision += 1
        if created or facts_of(message) != before:
            message.updated_at = Now()
            message.save()
        message.keep_order_of(message)
        record(*saved(message, before=None if created else before, after=facts_of(message)))
    message.refresh_from_db()
    return SavedMessage(message=message, created=created)


def check_key(key: str) -> None:
    """Raises InvalidMessage for a key that no messageId can be."""
    if not key.strip():
        raise InvalidMessage("key must not be blank.")
    if problem := unstorable(key):
        raise InvalidMessage(f"key holds {problem}, which cannot be stored.")
    if len(key) > MAX_MESSAGE_ID_LENGTH:
        raise InvalidMessage(f"key must be at most {MAX_MESSAGE_ID_LENGTH} characters long, not {len(key)}.")


def check_message(message: Message) -> None:
    """Raises InvalidMessage, which names the place."""
    if message.status not in Message.Status.values:
        raise InvalidMessage(f"status must be one of {', '.join(Message.Status.values)}.")
    size = json_bytes([message.actions, message.forms])
    if size > MAX_DEFINITION_BYTES:
        raise InvalidMessage(f"actions and forms are {size} bytes of JSON; their maximum is {MAX_DEFINITION_BYTES}.")
    parse_content(message.content, definition=check_definition(actions=message.actions, forms=message.forms))


def message_with_key(*, workspace_id: str, key: str, locked: bool = False) -> Message:
    """`locked` holds its row until the transaction ends. Raises MessageNotFound."""
    messages = Message.objects.select_for_update() if locked else Message.objects.all()
    found = None if unstorable(key) else messages.filter(workspace_id=workspace_id, key=key).first()
    if found is None:
        raise MessageNotFound
    return found


def delete_message(*, workspace_id: str, key: str) -> None:
    """What was recorded of it stays. Raises MessageNotFound."""
    with transaction.atomic():
        message = message_with_key(workspace_id=workspace_id, key=key, locked=True)
        record(change(AuditEntry.Action.DELETED, message, changes=changes_between(facts_of(message), {})))
        message.delete()


def messages_after(*, workspace_id: str, key: str, limit: int) -> Sequence[Message]:
    """The workspace's messages in the order of their keys, from the one after `key` on."""
    return list(Message.objects.filter(workspace_id=workspace_id, key__gt=key).order_by("key")[:limit])
