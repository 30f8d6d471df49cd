"""The definitions of active messages, by workspace and messageId."""

import json
from dataclasses import dataclass

from django.db import connection

from bridge.messages.definition import Definition, parse_definition
from engage.http.credential_memory import CredentialMemory

# Written as SQL because every call of an app that enforces needs it.
_ACTIVE = "SELECT id, actions, forms FROM bridge_message WHERE workspace_id = %s AND key = %s AND status = 'active'"
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
    with connection.cursor() as cursor:
        cursor.execute(_ACTIVE, [workspace_id, message_id])
        row = cursor.fetchone()
    if row is None:
        return None
    definition = parse_definition(actions=json.loads(row[1]), forms=json.loads(row[2]))
    return KnownMessage(id=row[0], definition=definition)
