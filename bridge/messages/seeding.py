"""The `messages` of a seed file."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Any, cast

from bridge.messages.authoring import MessageChanges, check_key, save_message
from bridge.messages.definition import InvalidMessage
from bridge.models import Message
from engage.json.documents import Part
from engage.json.fields import members
from engage.models import Workspace
from engage.resources.fields import Described, Fields
from journeys.seeding.reading import InvalidSeed, read_described
from journeys.seeding.sections import Section


@dataclass(frozen=True, kw_only=True)
class MessageFields(Fields):
    """An in-app message; the values are checked when it is saved."""

    key: Annotated[str, "Its key."] = ""
    status: Annotated[str, "`draft`, `active` or `archived`."] = ""
    actions: Annotated[Any, "What it lets its buttons do."] = None
    forms: Annotated[Any, "What its forms may write."] = None
    content: Annotated[Any, "What it shows."] = None


def read_messages(part: Part) -> list[Described]:
    """`[{"key": "sale", "status": "active", "actions": […], "forms": […], "content": {…}}]`. Raises InvalidSeed."""
    return read_described(part, MessageFields)


def seed_messages(workspace: Workspace, messages: Sequence[Described]) -> dict[str, str]:
    """Creates or changes the messages; the id of each by its key. Raises InvalidSeed."""
    return {one.key: _seed(workspace, one) for one in messages}


def _seed(workspace: Workspace, described: Described) -> str:
    changes = cast("MessageChanges", described.changes)
    try:
        check_key(described.key)
        saved = save_message(workspace_id=workspace.id, key=described.key, **changes)
    except InvalidMessage as refusal:
        raise InvalidSeed(f"{described.place}.{refusal.message}") from None
    return saved.message.id


def write_messages(workspace: Workspace) -> list[dict[str, Any]]:
    """The workspace's messages as items."""
    messages = Message.objects.filter(workspace=workspace).order_by("key")
    return [{member.spelling: getattr(one, member.name) for member in members(MessageFields)} for one in messages]


SECTION = Section(read=read_messages, seed=seed_messages, write=write_messages)
