"""The API's answers about messages."""

from collections.abc import Mapping, Sequence
from typing import Annotated, Any, Literal, TypedDict

from bridge.models import Message
from engage.http.paging import NEXT_CURSOR, written_cursor
from engage.http.spelling import spelled
from engage.json.instants import Instant

CREATED_MESSAGE = "Message created."
UPDATED_MESSAGE = "Message updated."
FOUND_MESSAGE = "Message found."
LISTED_MESSAGE = "Messages listed."
DELETED_MESSAGE = "Message deleted."


class MessageRecord(TypedDict):
    """A message that the service knows."""

    key: Annotated[str, "The `messageId` in the page's calls."]
    status: Literal["draft", "active", "archived"]
    revision: Annotated[int, "Counts the definitions that it has had."]
    actions: Annotated[list[Mapping[str, Any]], "The buttons, and what they may write."]
    forms: Annotated[list[Mapping[str, Any]], "The forms, their fields, and what becomes of them."]
    createdAt: Instant
    updatedAt: Instant


class MessagesPage(TypedDict):
    """Messages in the order of their keys."""

    messages: list[MessageRecord]
    nextCursor: Annotated[str | None, NEXT_CURSOR]


class MessageDeleted(TypedDict):
    """The message was deleted."""

    key: Annotated[str, "The key of the deleted message."]
    deleted: Literal[True]


def message_record(message: Message) -> MessageRecord:
    return spelled(MessageRecord, message)


def messages_page(found: Sequence[Message], *, limit: int) -> MessagesPage:
    """`found` has one message more than `limit` if another page follows."""
    shown = found[:limit]
    more = written_cursor([shown[-1].key]) if len(found) > limit else None
    return MessagesPage(messages=[message_record(message) for message in shown], nextCursor=more)
