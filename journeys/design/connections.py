"""Connections are made, changed and deleted here, by whatever way: the one place where their rules are checked.

A changed connection holds at once. So one whose inputs would break journeys is saved only if that is confirmed.
"""

from copy import copy
from datetime import datetime
from typing import Any, Literal, NamedTuple, TypedDict, Unpack

from django.db import transaction

from engage.audit.facts import SECRET, Facts, changes_between, facts_of
from engage.audit.recording import change, record, saved
from engage.errors import Refusal
from engage.json.compact import json_bytes, same_json
from engage.json.documents import one_of
from engage.json.storable import depth, unstorable
from engage.models import AuditEntry, Workspace
from engage.sizes import KIB
from journeys.connections.known import KnownInWorkspace
from journeys.connections.using import journeys_broken_by, journeys_sending_by
from journeys.design.authoring import require_callable
from journeys.design.columns import column_mistakes
from journeys.models import Connection
from journeys.operations.redaction import url_without_secrets
from journeys.steps.provider import InvalidConnection, Provider, parse_provider
from journeys.steps.secrets import as_stored, masked, secrets_of
from journeys.webhooks.by_connection import go_over_from

MOST_CONNECTIONS, MOST_BYTES, DEEPEST = 100, 256 * KIB, 30
_SPELLINGS = {"key": "key", "name": "name", "channel": "channel", "per_second": "perSecond"}


class ConnectionChanges(TypedDict, total=False):
    """The fields to set. One that is left out keeps its value; `definition` is the whole of what is sent."""

    name: str
    channel: str
    per_second: float | None
    definition: Any


class BreaksJourneys(Refusal):
    """Journeys send inputs by the connection that it would not take any more."""

    status = 409
    error = "Breaks journeys"


class ConnectionInUse(Refusal):
    """The connection cannot be deleted: journeys send by it."""

    status = 409
    error = "Connection in use"


class SavedConnection(NamedTuple):
    connection: Connection
    outcome: Literal["created", "changed", "unchanged"]


@transaction.atomic
def save_connection(
    *, workspace: Workspace, key: str, now: datetime, confirmed: bool = False, **changes: Unpack[ConnectionChanges]
) -> SavedConnection:
    """Makes the workspace's connection with this key, or changes it. A masked secret is what is stored.

    Raises InvalidConnection or SecretNeeded, with all mistakes, and BreaksJourneys unless it is confirmed; then nothing
    is written.
    """
    Workspace.objects.select_for_update(no_key=True).get(pk=workspace.pk)
    own = Connection.objects.filter(workspace=workspace)
    stored = own.filter(key=key).first()
    if stored is None and own.count() >= MOST_CONNECTIONS:
        raise InvalidConnection(f"key: a workspace has at most {MOST_CONNECTIONS} connections.")
    connection, provider = checked(stored or Connection(workspace=workspace, key=key, name=key, definition={}), changes)
    before = None if stored is None else _facts(stored)
    after = _facts(connection)
    if before is not None and same_json(_comparable(before), _comparable(after)):
        return SavedConnection(connection, "unchanged")
    if stored is not None and not confirmed and (broken := journeys_broken_by(provider, workspace_id=workspace.pk)):
        raise BreaksJourneys(f"By this, journeys could not send any more: {'; '.join(broken)}")
    formerly, connection.host, connection.updated_at = connection.host, provider.host, now
    connection.save()
    if stored is not None and formerly != connection.host:
        go_over_from(formerly, workspace_id=workspace.pk, connection_id=connection.pk)
    record(*saved(connection, before=before, after=after))
    return SavedConnection(connection, "created" if before is None else "changed")


def checked(connection: Connection, changes: ConnectionChanges) -> tuple[Connection, Provider]:
    """The connection with these changes, unsaved, and parsed. Raises InvalidConnection or SecretNeeded."""
    fields = dict(changes)
    if "definition" in fields:
        fields["definition"] = as_stored(fields["definition"], connection.definition)
    changed = copy(connection)
    for name, value in fields.items():
        setattr(changed, name, value)
    refused = [*_column_mistakes(changed), *_size_mistakes(changed.definition)]
    if not refused:
        try:
            provider = parse_provider(
                changed.definition,
                connection_id=changed.id,
                key=changed.key,
                require_callable=require_callable,
                known=KnownInWorkspace(changed.workspace_id),
            )
        except Refusal as refusal:
            refused = refusal.all_found()
        else:
            return changed, provider
    raise one_of(refused)


def _column_mistakes(connection: Connection) -> list[Refusal]:
    found = column_mistakes(connection, except_for={"workspace", "definition"}, spellings=_SPELLINGS)
    return [InvalidConnection(message).at(_SPELLINGS.get(column, column)) for column, message in found]


def _size_mistakes(definition: Any) -> list[Refusal]:
    if not isinstance(definition, dict):
        return [InvalidConnection("The connection must be an object.")]
    if depth(definition) > DEEPEST or json_bytes(definition) > MOST_BYTES:
        return [InvalidConnection(f"The connection may be {MOST_BYTES // KIB} KiB of JSON, nested {DEEPEST} deep.")]
    if problem := unstorable(definition):
        return [InvalidConnection(f"The connection holds {problem}.")]
    return []


@transaction.atomic
def delete_connection(connection: Connection) -> None:
    """Deletes it. Raises ConnectionInUse if a journey that is active, or in which somebody is, sends by it."""
    list(
        Connection.objects.select_for_update().filter(pk=connection.pk)
    )  # whoever saves a definition waits, or is seen
    if used := journeys_sending_by(workspace_id=connection.workspace_id, key=connection.key):
        raise ConnectionInUse(f"Journeys send by {connection.key}: {', '.join(used)}. It cannot be deleted.")
    gone = change(AuditEntry.Action.DELETED, connection, changes=changes_between(_facts(connection), {}))
    connection.delete()
    record(gone)


def _facts(connection: Connection) -> Facts:
    """What the audit tells of it: of secrets, that they differ."""
    shown, secrets = masked(connection.definition), secrets_of(connection.definition)
    url = shown.get("url")
    if isinstance(url, str) and (plain := url_without_secrets(url)) != url:
        shown, secrets = {**shown, "url": plain}, {**secrets, ("url",): url}
    told = facts_of(connection) | {"definition": shown}
    del told["next_at"], told["host"]
    return told | ({"secrets": (SECRET, sorted(secrets.items()))} if secrets else {})


def _comparable(facts: Facts) -> Any:
    return {name: list(value) if isinstance(value, tuple) else value for name, value in facts.items()}
