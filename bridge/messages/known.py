"""The definitions of active messages, by workspace and messageId."""

import json
from dataclasses import dataclass
from functools import lru_cache

from bridge.messages.definition import Definition, parse_definition
from engage.database.sql import Statement
from engage.http.credential_memory import CredentialMemory

# Written as SQL because every call of an app that enforces needs it.
_ACTIVE = Statement("""
SELECT id, actions, forms FROM bridge_message WHERE workspace_id = {workspace_id} AND key = {key} AND status = 'active'
""")
_messages: CredentialMemory["KnownMessage"] = CredentialMemory()


@dataclass(frozen=True, kw_only=True)
class KnownMessage:
    """An active message: its row's id, and its definition."""

    id: str
    definition: Definition


def active_message(*, workspace_id: str, message_id: str) -> KnownMessage | None:
    """The workspace's active message with this messageId; None if there is none.

    It is remembered as credentials are: an edit holds after `CREDENTIALS_KEPT_SECONDS` at the latest.
    """
    return _messages.recall((workspace_id, message_id), lambda: _look_up(workspace_id, message_id))


def _look_up(workspace_id: str, message_id: str) -> KnownMessage | None:
    for id_, actions, forms in _ACTIVE.rows(workspace_id=workspace_id, key=message_id):
        return KnownMessage(id=id_, definition=_parsed(actions, forms))
    return None


@lru_cache(maxsize=256)
def _parsed(actions: str, forms: str) -> Definition:
    """Of a message that is looked up again, nothing has changed as a rule."""
    return parse_definition(actions=json.loads(actions), forms=json.loads(forms))
