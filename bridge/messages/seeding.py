"""The `messages` of a seed file."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, cast

from bridge.messages.authoring import MessageChanges, check_key, save_message
from bridge.messages.definition import InvalidMessage
from engage.json.documents import Part
from engage.models import Workspace
from journeys.seeding.reading import InvalidSeed, refuse_duplicates
from journeys.seeding.sections import Section

_READERS: Mapping[str, Callable[[Part], Any]] = {
    "status": Part.text,
    "actions": lambda part: part.value,
    "forms": lambda part: part.value,
}


@dataclass(frozen=True, kw_only=True)
class SeedMessage:
    """A message as described at `place`."""

    place: str
    key: str
    changes: MessageChanges


def read_messages(part: Part) -> list[SeedMessage]:
    """`[{"key": "sale", "status": "active", "actions": […], "forms": […]}]`. Raises InvalidSeed."""
    items = part.items()
    messages = [item.fields(required=["key"], optional=_READERS) for item in items]
    refuse_duplicates(fields["key"] for fields in messages)
    return [
        SeedMessage(place=item.place, key=fields["key"].text(), changes=_changes(fields))
        for item, fields in zip(items, messages, strict=True)
    ]


def _changes(fields: Mapping[str, Part]) -> MessageChanges:
    read = {name: reader(fields[name]) for name, reader in _READERS.items() if name in fields}
    return cast("MessageChanges", read)


def seed_messages(workspace: Workspace, messages: Sequence[SeedMessage]) -> dict[str, str]:
    """Creates or changes the messages; the id of each by its key. Raises InvalidSeed."""
    return {one.key: _seed(workspace, one) for one in messages}


def _seed(workspace: Workspace, described: SeedMessage) -> str:
    try:
        check_key(described.key)
        saved = save_message(workspace_id=workspace.id, key=described.key, **described.changes)
    except InvalidMessage as refusal:
        raise InvalidSeed(f"{described.place}.{refusal.message}") from None
    return saved.message.id


SECTION = Section(read=read_messages, seed=seed_messages)
