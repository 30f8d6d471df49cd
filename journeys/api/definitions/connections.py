"""Connections, as the item of a seed file; their secrets are never read again."""

from engage.calls.asked import Asked
from engage.calls.call import Answered, PathId
from engage.scopes import Scope
from journeys.api.definitions.bodies import (
    ConnectionBody,
    ConnectionQuery,
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
)
from journeys.api.definitions.calls import UNKNOWN_SECRET, Calls
from journeys.design.connections import BreaksJourneys, ConnectionInUse
from journeys.seeding import kinds
from journeys.seeding.definitions import DefinitionInvalid

_CONNECTION_ID = PathId(
    name="connectionId",
    description="The connection's id, or its key.",
    example="68a1f0c2e4b0a1d2c3e4f5c1",
    missing=kinds.ConnectionNotFound,
)
_CONNECTION = {
    "key": "mail",
    "name": "Our mailer",
    "channel": "email",
    "perSecond": 10,
    "url": "https://mail.example/send",
    "headers": {"X-Token": "***"},
    "body": {"to": "{{ inputs.to }}"},
    "inputs": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
}

_CONNECTIONS = Calls(
    kind=kinds.CONNECTIONS,
    path="connections/{workspaceId}/{connectionId}",
    id=_CONNECTION_ID,
    scope=Scope.CONNECTIONS,
    example_id=_CONNECTION_ID.example,
    item=_CONNECTION,
)


@_CONNECTIONS.put(
    requests={
        "A mailer": {
            "name": "Our mailer",
            "channel": "email",
            "url": "https://mail.example/send",
            "headers": {"X-Token": "hush"},
            "body": {"to": "{{ inputs.to }}"},
            "inputs": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
        }
    },
    changed=["headers"],
    refuses=[
        DefinitionInvalid("url must begin with https:// or http://."),
        UNKNOWN_SECRET,
        BreaksJourneys("Journeys could not send by mail any more: welcome."),
    ],
)
def put_connection(asked: Asked[ConnectionBody, ConnectionQuery], connection_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a connection

    The body is the connection's item of a seed file, whole; beside the fields here it takes all that a connection has
    (`form`, `html`, `accept`, …). It holds at once, also for those inside. What journeys could not
    send by any more is refused, unless `confirm=true`. `***` keeps a secret that is stored, as long as the URL leads to
    the same host.
    """
    return _CONNECTIONS.write(asked, connection_id, confirmed=asked.query.confirm)


@_CONNECTIONS.get()
def get_connection(asked: Asked[None, None], connection_id: str) -> Answered[DefinitionRecord]:
    """Read a connection

    Returns the connection. Nobody reads a secret again: it is shown as `***`.
    """
    return _CONNECTIONS.read(asked, connection_id)


@_CONNECTIONS.delete(ConnectionInUse("Journeys send by mail: welcome. It cannot be deleted."))
def delete_connection(asked: Asked[None, None], connection_id: str) -> DefinitionDeleted:
    """Delete a connection

    Deletes the connection with its secrets, unless journeys send by it.
    """
    return _CONNECTIONS.take_away(asked, connection_id)
