"""Connections, as the item of a seed file; their secrets are never read again."""

from typing import Any

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
from journeys.api.definitions.calls import (
    REFUSED,
    UNKNOWN_SECRET,
    UNSEEN,
    delete_call,
    get_call,
    put_call,
    put_examples,
    read,
    record_of,
    take_away,
    write,
)
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

_of_connections: dict[str, Any] = {
    "path": "connections/{workspaceId}/{connectionId}",
    "scope": Scope.CONNECTIONS,
    "ids": [_CONNECTION_ID],
}


@put_call(
    **_of_connections,
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
    examples=put_examples(_CONNECTION_ID.example, _CONNECTION, changed=["headers"], inside=None),
    refuses=[
        *REFUSED,
        DefinitionInvalid("url must begin with https:// or http://."),
        UNKNOWN_SECRET,
        BreaksJourneys("Journeys could not send by mail any more: welcome."),
        *UNSEEN,
    ],
)
def put_connection(asked: Asked[ConnectionBody, ConnectionQuery], connection_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a connection

    The body is the connection's item of a seed file, whole; beside the fields here it takes all that a connection has
    (`form`, `html`, `accept`, …). It holds at once, also for those inside. What journeys could not
    send by any more is refused, unless `confirm=true`. `***` keeps a secret that is stored, as long as the URL leads to
    the same host.
    """
    return write(kinds.CONNECTIONS, asked, connection_id, confirmed=asked.query.confirm)


@get_call(**_of_connections, examples={"Found": record_of(_CONNECTION_ID.example, _CONNECTION)})
def get_connection(asked: Asked[None, None], connection_id: str) -> Answered[DefinitionRecord]:
    """Read a connection

    Returns the connection. Nobody reads a secret again: it is shown as `***`.
    """
    return read(kinds.CONNECTIONS, asked, connection_id)


@delete_call(
    **_of_connections, refuses=[ConnectionInUse("Journeys send by mail: welcome. It cannot be deleted."), *UNSEEN]
)
def delete_connection(asked: Asked[None, None], connection_id: str) -> DefinitionDeleted:
    """Delete a connection

    Deletes the connection with its secrets, unless journeys send by it.
    """
    return take_away(kinds.CONNECTIONS, asked, connection_id)
