"""The calls about messages: what the buttons and forms of a message may write."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from http import HTTPStatus
from typing import Annotated, Any, Literal

from bridge.messages.definition import InvalidMessage
from bridge.messages.saving import MESSAGES, NOTHING, MessageFields, MessageNotFound, messages_after
from bridge.models import Message
from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId, delete, get, put
from engage.calls.queries import CURSOR, DryRun, PageQuery
from engage.errors import MissingParameter
from engage.http.paging import DEPRECATED, NEXT, NEXT_CURSOR, begin_of, cursor_of, page_of
from engage.http.preconditions import PreconditionFailed
from engage.json.documents import one_of
from engage.json.fields import LEFT_OUT, filled
from engage.json.reading import ArraySizeExceeded
from engage.resources.definitions import DefinitionInvalid, PutDefinition, get_definition
from engage.resources.resource import CallTexts, DefinitionWarning
from journeys.definitions.calls import FOUND, FOUND_PARAMETERS, IF_NEW, Calls, etag_of
from journeys.definitions.each import define_patch

# A key with a slash cannot be named in a path: seed files and staff can.
_KEY = PathId(name="key", description="The message's key: the `messageId` in the page's calls.", example="spring-sale")


@dataclass(frozen=True, kw_only=True)
class MessagesQuery(PageQuery):
    """Which page of the messages."""

    cursor: Annotated[str | None, CURSOR, DEPRECATED, cursor_of(str)] = None


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
    dry_run: Annotated[bool | None, "`true` where this is only what a PUT would do.", LEFT_OUT] = None
    warnings: Annotated[Sequence[DefinitionWarning] | None, "What a PUT has left out, and stays.", LEFT_OUT] = None


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
_KEPT = {
    name: DefinitionWarning(place=name, message=f"{name} was left out, and stays as it is.")
    for name in ("status", "actions", "forms", "content")
}
_CREATED = "Message created."
_REQUESTS: Mapping[str, Any] = {
    "Two buttons and a form": {"status": "active", "actions": _ACTIONS, "forms": _FORMS},
    "What it shows": {"content": _CONTENT},
    "Take it off": {"status": "archived"},
}
_ITEM = {name: getattr(_RECORD, name) for name in ("key", "status", "actions", "forms", "content")}
_CALLS = Calls(
    kind=MESSAGES,
    texts=CallTexts(
        example=_ITEM,
        example_id="68a1f0c2e4b0a1d2c3e4f5f1",
        requests=_REQUESTS,
        changed=["status"],
        refuses=[MessageNotFound(), DefinitionInvalid("actions[0].type is required.")],
    ),
    id=_KEY,
    policy="messages",
    tag="Messages",
)


@get(
    **_CALLS.shared | {"path": "messages/{workspaceId}", "ids": []},
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
        messages=[_record(message) for message in shown],
        next=following,
        next_cursor=following,
    )


@put(
    **_CALLS.shared,
    says="Message updated.",
    answer={
        HTTPStatus.OK: "The message already existed, and is now as the call says.",
        HTTPStatus.CREATED: "The message was created.",
    },
    requests=_REQUESTS,
    examples={
        "Updated": replace(_RECORD, warnings=[_KEPT["forms"]]),
        "Created": Answered(data=_RECORD, says=_CREATED, status=HTTPStatus.CREATED),
    },
    parameters=[_CALLS.if_match, IF_NEW, etag_of(HTTPStatus.OK, HTTPStatus.CREATED)],
    refuses=[
        MissingParameter(NOTHING),
        PreconditionFailed(),
        InvalidMessage("actions[0].properties.n.max must be a number, but a string came."),
        ArraySizeExceeded("actions holds 51 items; its maximum is 50."),
        MessageNotFound(),
    ],
)
def put_message(asked: Asked[MessageFields, DryRun], key: str) -> Answered[MessageRecord]:
    """Create or change a message

    Says what the buttons and forms of a message may write, and what is shown where a journey delivers it. Apps whose
    message policy is `report` count what else their pages ask for, and those with `enforce` refuse it.

    A rule is an object with a `type` (`string`, `number`, `boolean` or `date`), and optionally `required`, `max` (of a
    number, or of a string's length), `values` (one of these), `pattern` (of the whole string, in RE2's syntax) and
    `many` (a list, each of whose items follows the rule). Send at least one of the fields; what is absent stays as it
    is, and `warnings` says so.
    """
    given, dry_run = asked.body.given(), asked.query.dry_run
    try:
        done = _CALLS.written(asked, key, given)
    except DefinitionInvalid as invalid:
        each = [InvalidMessage(one["message"]).at(one["place"]) for one in invalid.details]
        raise one_of(each, more=invalid.more) from None
    record = replace(_record(done.definition.row), dry_run=dry_run or None, warnings=_kept(done, given) or None)
    if dry_run:
        return Answered(data=record)
    made: Mapping[str, Any] = {"says": _CREATED, "status": HTTPStatus.CREATED} if done.outcome == "created" else {}
    return Answered(data=record, headers={"ETag": done.definition.etag}, **made)


def _kept(done: PutDefinition, given: Mapping[str, Any]) -> list[DefinitionWarning]:
    """What is there of what was left out."""
    if done.outcome == "created":
        return []
    default = MESSAGES.defaults("")
    item = done.definition.item
    return [one for name, one in _KEPT.items() if name not in given and item[name] != default[name]]


define_patch(_CALLS, Asked[MessageFields, DryRun])


@get(
    **_CALLS.shared,
    says="Message found.",
    answer=FOUND,
    parameters=FOUND_PARAMETERS,
    examples={"Found": _RECORD},
    refuses=[MessageNotFound()],
)
def get_message(asked: Asked[None, None], key: str) -> Answered[MessageRecord]:
    """Read a message

    Returns the message with its definition.
    """
    found = get_definition(MESSAGES, workspace_id=asked.workspace_id, named=key)
    return Answered(data=_record(found.row), headers={"ETag": found.etag})


@delete(
    **_CALLS.shared,
    says="Message deleted.",
    answer="The message was deleted.",
    examples={"Deleted": MessageDeleted(key=_KEY.example)},
    parameters=[_CALLS.if_match],
    refuses=[MessageNotFound(), PreconditionFailed()],
)
def delete_message(asked: Asked[None, None], key: str) -> MessageDeleted:
    """Delete a message

    Deletes the message's definition. What was recorded of it stays.
    """
    _CALLS.take_away(asked, key)
    return MessageDeleted(key=key)


def _record(message: Message) -> MessageRecord:
    return filled(MessageRecord, message, dry_run=None, warnings=None)
