"""The calls about messages: what the buttons and forms of a message may write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, ClassVar, Literal

from bridge.messages.authoring import (
    MessageChanges,
    MessageNotFound,
    message_with_key,
    messages_after,
    save_message,
)
from bridge.messages.authoring import (
    delete_message as delete_known,
)
from bridge.messages.definition import MAX_ACTIONS, MAX_FORMS, InvalidMessage
from bridge.models import Message
from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId, delete, get, put
from engage.calls.queries import CURSOR, PageQuery
from engage.errors import MissingParameter
from engage.http.paging import DEPRECATED, NEXT, NEXT_CURSOR, begin_of, cursor_of, page_of
from engage.http.preconditions import PreconditionFailed, Seen
from engage.json.fields import Items, Text, filled
from engage.json.keywords import Keywords
from engage.json.reading import ArraySizeExceeded, AtLeastOne
from engage.schema.bodies import choice_of
from engage.scopes import Scope
from journeys.api.definitions.calls import IF_NEW

# A key with a slash cannot be named in a path: seed files and staff can.
_KEY = PathId(name="key", description="The message's key: the `messageId` in the page's calls.", example="spring-sale")
_NOTHING = "At least one of status, actions, forms, content must be present."
_OBJECTS = Keywords(items={"type": "object", "additionalProperties": True})


@dataclass(frozen=True, kw_only=True)
class MessagesQuery(PageQuery):
    """Which page of the messages."""

    cursor: Annotated[str | None, CURSOR, DEPRECATED, cursor_of(str)] = None


@dataclass(frozen=True, kw_only=True)
class MessageBody:
    """A message: what is absent stays as it is, or is empty in a new one."""

    one_of: ClassVar = AtLeastOne(("status", "actions", "forms", "content"), _NOTHING)

    status: Annotated[
        str | None,
        f"One of {', '.join(Message.Status.values)}.",
        Text(longest=None, blank_is_absent=True),
        Keywords(**choice_of(Message.Status.values)),
    ] = None
    actions: Annotated[
        list[Any] | None,
        "The buttons: each has an `id` and a `type`; `track_event` an `eventName` and rules for its `properties`, "
        "`update_profile` rules for its `attributes`.",
        Items(most=MAX_ACTIONS),
        _OBJECTS,
    ] = None
    forms: Annotated[
        list[Any] | None,
        "The forms: each has an `id`, rules for its `fields`, and a `submitAction` as in `captureForm`; without one, "
        "every field becomes an attribute.",
        Items(most=MAX_FORMS),
        _OBJECTS,
    ] = None
    content: Annotated[
        dict[str, Any] | None,
        "What is shown where a journey delivers the message: a `kind` (`banner`, `modal`, `card` or `custom`), and "
        "`title`, `text`, `image`, `buttons`, `form` and `data` as far as there is any; `{}` takes it away.",
    ] = None

    def changes(self) -> MessageChanges:
        changes = MessageChanges()
        if self.status is not None:
            changes["status"] = self.status
        if self.actions is not None:
            changes["actions"] = self.actions
        if self.forms is not None:
            changes["forms"] = self.forms
        if self.content is not None:
            changes["content"] = self.content or None
        return changes


@dataclass(frozen=True, kw_only=True)
class MessageRecord:
    """A message that the service knows."""

    key: Annotated[str, "The `messageId` in the page's calls."]
    status: Message.Status
    revision: Annotated[int, "Counts the definitions that it has had."]
    actions: Annotated[Sequence[Mapping[str, Any]], "The buttons, and what they may write."]
    forms: Annotated[Sequence[Mapping[str, Any]], "The forms, their fields, and what becomes of them."]
    content: Annotated[Mapping[str, Any] | None, "What is shown where a journey delivers it; null: no journey can."]
    created_at: datetime
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class MessagesPage:
    """Messages in the order of their keys."""

    messages: Sequence[MessageRecord]
    next: Annotated[str | None, NEXT]
    next_cursor: Annotated[str | None, NEXT_CURSOR, DEPRECATED]


@dataclass(frozen=True, kw_only=True)
class MessageDeleted:
    """The message was deleted."""

    key: Annotated[str, "The key of the deleted message."]
    deleted: Literal[True] = True


_ACTIONS: list[Mapping[str, Any]] = [
    {
        "id": "cta",
        "type": "track_event",
        "eventName": "clicked",
        "properties": {"n": {"type": "number", "max": 10}},
    },
    {
        "id": "opt",
        "type": "update_profile",
        "attributes": {"plan": {"type": "string", "values": ["free", "pro"]}},
    },
]
_FORMS: list[Mapping[str, Any]] = [
    {
        "id": "nps",
        "fields": {"score": {"type": "number", "required": True, "max": 10}},
        "submitAction": {
            "type": "both",
            "eventName": "answered",
            "eventProperties": {"score": "score"},
            "profileAttributes": {"lastScore": "score"},
        },
    }
]
_CONTENT: Mapping[str, Any] = {
    "kind": "banner",
    "title": "Hello {{ customer.name }}",
    "text": "Your coupon is {{ values.coupon }}.",
    "buttons": [{"action": "cta", "text": "To the sale", "href": "https://shop.example/sale"}],
    "form": "nps",
}
_RECORD = MessageRecord(
    key="spring-sale",
    status=Message.Status.ACTIVE,
    revision=1,
    actions=_ACTIONS,
    forms=_FORMS,
    content=_CONTENT,
    created_at=datetime(2026, 11, 20, 19, 8, tzinfo=UTC),
    updated_at=datetime(2026, 11, 20, 19, 8, tzinfo=UTC),
)
_CREATED = "Message created."

_messages: dict[str, Any] = {"scope": Scope.MESSAGES, "policy": "messages", "tag": "Messages"}
_with_key: dict[str, Any] = {**_messages, "path": "messages/{workspaceId}/{key}", "ids": [_KEY]}


@get(
    path="messages/{workspaceId}",
    **_messages,
    says="Messages listed.",
    answer="A page of messages.",
    examples={"One": MessagesPage(messages=[_RECORD], next=None, next_cursor=None)},
)
def list_messages(asked: Asked[None, MessagesQuery]) -> MessagesPage:
    """List the messages

    Lists the workspace's messages in the order of their keys, 50 at a time, or up to 200 (`limit`).
    """
    limit = asked.query.limit
    found = messages_after(workspace_id=asked.workspace_id, key=begin_of(asked.query) or "", limit=limit + 1)
    shown, following = page_of(found, limit, lambda one: one.key)
    return MessagesPage(
        messages=[filled(MessageRecord, message) for message in shown],
        next=following,
        next_cursor=following,
    )


@put(
    **_with_key,
    says="Message updated.",
    answer={
        HTTPStatus.OK: "The message already existed, and is now as the call says.",
        HTTPStatus.CREATED: "The message was created.",
    },
    requests={
        "Two buttons and a form": {"status": "active", "actions": _ACTIONS, "forms": _FORMS},
        "What it shows": {"content": _CONTENT},
        "Take it off": {"status": "archived"},
    },
    examples={"Updated": _RECORD, "Created": Answered(data=_RECORD, says=_CREATED, status=HTTPStatus.CREATED)},
    parameters=[IF_NEW],
    refuses=[
        MissingParameter(_NOTHING),
        PreconditionFailed(),
        InvalidMessage("actions[0].properties.n.max must be a number, but a string came."),
        ArraySizeExceeded("actions holds 51 items; its maximum is 50."),
    ],
)
def put_message(asked: Asked[MessageBody, None], key: str) -> Answered[MessageRecord]:
    """Create or change a message

    Says what the buttons and forms of a message may write, and what is shown where a journey delivers it. Apps whose
    message policy is `report` count what else their pages ask for, and those with `enforce` refuse it.

    A rule is an object with a `type` (`string`, `number`, `boolean` or `date`), and optionally `required`, `max` (of a
    number, or of a string's length), `values` (one of these), `pattern` (of the whole string, in RE2's syntax) and
    `many` (a list, each of whose items follows the rule). Send at least one of the fields; what is absent stays as it
    is.
    """
    seen = Seen.by(asked.request._request)
    saved = save_message(workspace_id=asked.workspace_id, key=key, seen=seen, **asked.body.changes())
    record = filled(MessageRecord, saved.message)
    return Answered(data=record, says=_CREATED, status=HTTPStatus.CREATED) if saved.created else Answered(data=record)


@get(
    **_with_key, says="Message found.", answer="The message.", examples={"Found": _RECORD}, refuses=[MessageNotFound()]
)
def get_message(asked: Asked[None, None], key: str) -> MessageRecord:
    """Read a message

    Returns the message with its definition.
    """
    return filled(MessageRecord, message_with_key(workspace_id=asked.workspace_id, key=key))


@delete(
    **_with_key,
    says="Message deleted.",
    answer="The message was deleted.",
    examples={"Deleted": MessageDeleted(key=_KEY.example)},
    refuses=[MessageNotFound()],
)
def delete_message(asked: Asked[None, None], key: str) -> MessageDeleted:
    """Delete a message

    Deletes the message's definition. What was recorded of it stays.
    """
    delete_known(workspace_id=asked.workspace_id, key=key)
    return MessageDeleted(key=key)
