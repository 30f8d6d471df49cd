"""The definitions of active messages, by workspace and messageId."""

import json
from collections.abc import Collection
from dataclasses import dataclass

from bridge.messages.definition import Definition, parse_definition
from engage.database.sql import Rows, Statement
from engage.http.credential_memory import CredentialMemory
from engage.notations.sizes import KIB
from engage.process.bounded_cache import BoundedCache
from journeys.engine.connections.messages import Named

# Written as SQL because every call of an app that enforces needs it.
_ACTIVE = Statement("""
SELECT id, actions, forms FROM bridge_message WHERE workspace_id = {workspace_id} AND key = {key} AND status = 'active'
""")
_MOST_BYTES = 16 * 1024 * KIB
_MOST_OFFERED = 200
_BYTES_OF_JSON = 12  # what a character of a definition comes to when it is parsed, about


@dataclass(frozen=True, kw_only=True)
class KnownMessage:
    """An active message: its row's id, its key, its definition, and about how many bytes of memory that takes."""

    id: str
    key: str
    definition: Definition
    size: int


_messages: CredentialMemory[KnownMessage] = CredentialMemory(most=_MOST_BYTES, size_of=lambda known: known.size)
_definitions: BoundedCache[tuple[str, str], Definition] = BoundedCache(most=_MOST_BYTES)


def active_message(*, workspace_id: str, message_id: str) -> KnownMessage | None:
    """The workspace's active message with this messageId; None if there is none.

    It is remembered as credentials are: an edit holds after `CREDENTIALS_KEPT_SECONDS` at the latest.
    """
    return _messages.recall((workspace_id, message_id), lambda: _look_up(workspace_id, message_id))


def _look_up(workspace_id: str, message_id: str) -> KnownMessage | None:
    for id_, actions, forms in _ACTIVE.rows(workspace_id=workspace_id, key=message_id):
        size = _BYTES_OF_JSON * (len(actions) + len(forms))
        return KnownMessage(id=id_, key=message_id, definition=_parsed(actions, forms, size), size=size)
    return None


def _parsed(actions: str, forms: str, size: int) -> Definition:
    """Of a message that is looked up again, nothing has changed as a rule."""
    known = _definitions.get((actions, forms))
    if known is None:
        known = parse_definition(actions=json.loads(actions), forms=json.loads(forms))
        _definitions.keep((actions, forms), known, size=size)
    return known


_SHOWN = Statement(
    """
SELECT known.workspace_id, known.key FROM {named} JOIN bridge_message known
  ON known.workspace_id = named.workspace_id AND known.key = named.key
WHERE known.status = 'active' AND known.content IS NOT NULL
""",
    named=Rows("named", {"workspace_id": "text", "key": "text"}),
)


def shown_messages(named: Collection[Named]) -> Collection[Named]:
    """Those of the named messages that are active and have content, as they are at this moment."""
    return _SHOWN.rows(named=list(named))


_OFFERED = Statement(f"""
SELECT key, actions, forms, content IS NOT NULL AS shown FROM bridge_message
WHERE workspace_id = {{workspace_id}} AND status = 'active' ORDER BY key LIMIT {_MOST_OFFERED}
""")  # noqa: S608


def offered_messages(workspace_id: str) -> tuple[list[str], list[str]]:
    """The keys of the active messages that have content, and the events that active ones may record."""
    rows = _OFFERED.rows(workspace_id=workspace_id)
    events: set[str] = set()
    for _, actions, forms, _ in rows:
        known = parse_definition(actions=json.loads(actions), forms=json.loads(forms))
        events |= {action.event_name for action in known.actions}
        events |= {form.submit.event_name for form in known.forms if form.submit}
    return [key for key, _, _, shown in rows if shown], sorted(events - {""})
