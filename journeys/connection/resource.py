"""Connections: the one place where their rules are checked.

A changed connection holds at once. So one whose inputs would break journeys is saved only if that is confirmed.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Annotated, Any

from engage.audit.facts import SECRET, Facts, facts_of
from engage.errors import Refusal
from engage.json.compact import json_bytes
from engage.json.documents import Part, Reading
from engage.json.keywords import Keywords
from engage.json.storable import depth, unstorable
from engage.notations.sizes import KIB
from engage.resources.definitions import DefinitionInvalid, SecretsMissing
from engage.resources.fields import Described, Fields, Item, read_item
from engage.resources.resource import (
    BreaksOthers,
    CallTexts,
    DefinitionMissing,
    DefinitionWarning,
    Resource,
    SecretsChange,
)
from journeys.engine.connections.known import KnownInWorkspace
from journeys.engine.connections.providers import provider_of
from journeys.engine.connections.using import journeys_broken_by, journeys_sending_by
from journeys.engine.webhooks.by_connection import go_over_from
from journeys.journey.authoring import require_callable
from journeys.journey.warnings import UNESCAPED
from journeys.models import Connection
from journeys.steps.provider import FIELDS, InvalidConnection, Provider, parse_provider
from journeys.steps.secrets import as_stored, masked, secrets_of, url_without_secrets, with_secrets
from journeys.steps.templated import unescaped_markup

MOST_BYTES, DEEPEST = 256 * KIB, 30
_COLUMNS = frozenset({"name", "channel", "per_second"})
_TEXT = Keywords(type="string")
_FLAG = Keywords(type="boolean")
_OBJECT = Keywords(type="object", additionalProperties=True)


@dataclass(frozen=True, kw_only=True)
class ConnectionFields(Fields):
    """A connection, whole. What is left out, or null, gets its default; `***` keeps a secret that is stored."""

    key: Annotated[str, "The key, as in the path; may be left out."] = ""
    name: Annotated[str, "What people call it; the key by default."] = ""
    channel: Annotated[str, "`email`, `sms`, `push`, `chat`, or `other`, the default."] = Connection.Channel.OTHER.value
    per_second: Annotated[float | None, "How many requests begin in a second; as many as there is room for."] = None
    url: Annotated[Any, "Where the request goes to: a template. Required.", _TEXT] = None
    secret_url: Annotated[Any, "Whether the URL is a secret; false.", _FLAG] = None
    method: Annotated[Any, "The request's method; `POST`.", _TEXT] = None
    headers: Annotated[Any, "Headers by name. Their values are secrets.", _OBJECT] = None
    auth: Annotated[Any, "How it proves who it is. All of it is secret.", _OBJECT] = None
    body: Annotated[Any, "What the request sends as JSON: a template."] = None
    inputs: Annotated[Any, "What a step gives it: a JSON Schema of an object, whose values it may use.", _OBJECT] = None


class ConnectionNotFound(DefinitionMissing):
    """No such connection in the workspace."""

    error = "Connection not found"


class BreaksJourneys(BreaksOthers):
    """Journeys send inputs by the connection that it would not take any more."""

    error = "Breaks journeys"


class ConnectionInUse(Refusal):
    """The connection cannot be deleted: journeys send by it."""

    status = 409
    error = "Connection in use"


class Connections(Resource[Connection]):
    """`definition` is the whole of the request that is sent; a masked secret in it is what is stored."""

    model, fields, section, at_most = Connection, ConnectionFields, "connections", 100
    missing = ConnectionNotFound
    named_by_journeys = True
    confirmable = "change it although journeys could not send by it any more"
    calls = CallTexts(
        put="""Create or replace a connection

        The body is the connection's item of a seed file, whole; beside the fields here it takes all that a connection
        has (`form`, `html`, `accept`, …). It holds at once, also for those inside. What journeys could not send by any
        more is refused, unless `confirm=true`. `***` keeps a secret that is stored, as long as the URL leads to the
        same host.
        """,
        get="""Read a connection

        Returns the connection. Nobody reads a secret again: it is shown as `***`.
        """,
        delete="""Delete a connection

        Deletes the connection with its secrets, unless journeys send by it.
        """,
        example={
            "key": "mail",
            "name": "Our mailer",
            "channel": "email",
            "perSecond": 10,
            "url": "https://mail.example/send",
            "headers": {"X-Token": "***"},
            "body": {"to": "{{ inputs.to }}"},
            "inputs": {"type": "object", "required": ["to"], "properties": {"to": {"type": "string"}}},
        },
        example_id="68a1f0c2e4b0a1d2c3e4f5c1",
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
            SecretsMissing("headers.X-Token needs its value: *** keeps what is stored."),
            BreaksJourneys("Journeys could not send by mail any more: welcome."),
        ],
        refuses_to_delete=[ConnectionInUse("Journeys send by mail: welcome. It cannot be deleted.")],
    )
    checked_apart = frozenset({"definition"})
    secrets_may_lack = True

    def read(self, item: Part, reading: Reading) -> Described:
        described = read_item(item, self.fields, reading, instead=dict.fromkeys(FIELDS, lambda part: part.value))
        columns = {name: value for name, value in described.changes.items() if name in _COLUMNS}
        written = item.members()
        definition = {name: written[name].value for name in FIELDS if name in written}
        return replace(described, changes=columns | ({"definition": definition} if definition else {}))

    def defaults(self, key: str) -> dict[str, Any]:
        columns = {name: value for name, value in super().defaults(key).items() if name in _COLUMNS}
        return columns | {"name": key, "definition": {}}

    def written(self, row: Connection) -> Item:
        columns = {"key": row.key, "name": row.name, "channel": row.channel, "perSecond": row.per_second}
        return columns | {name: row.definition[name] for name in FIELDS if name in row.definition}

    def with_secrets(self, item: Item, change: SecretsChange) -> Item:
        return dict(with_secrets(item, change("")))

    def masked(self, item: Item) -> Item:
        return dict(masked(item))

    def with_stored_secrets(self, changes: Mapping[str, Any], stored: Connection) -> Mapping[str, Any]:
        if "definition" not in changes:
            return changes
        return {**changes, "definition": as_stored(changes["definition"], stored.definition, null_too=True)}

    def checked(self, row: Connection, changes: Mapping[str, Any]) -> Connection:
        if "definition" in changes:
            changes = {**changes, "definition": as_stored(changes["definition"], row.definition)}
        return super().checked(row, changes)

    def mistakes(self, row: Connection) -> Iterator[Refusal]:
        sizes = list(_size_mistakes(row.definition))
        yield from sizes
        if sizes:
            return
        try:
            provider = parse_provider(
                row.definition,
                connection_id=row.id,
                key=row.key,
                require_callable=require_callable,
                known=KnownInWorkspace(row.workspace_id),
            )
        except Refusal as refusal:
            yield from refusal.all_found()
        else:
            row.host = provider.host

    def facts(self, row: Connection) -> Facts:
        """Of secrets, that they differ."""
        shown, secrets = masked(row.definition), secrets_of(row.definition)
        url = shown.get("url")
        if isinstance(url, str) and (plain := url_without_secrets(url)) != url:
            shown, secrets = {**shown, "url": plain}, {**secrets, ("url",): url}
        told = facts_of(row) | {"definition": shown}
        del told["next_at"], told["host"]
        return told | ({"secrets": (SECRET, sorted(secrets.items()))} if secrets else {})

    def require_unbroken(self, row: Connection) -> None:
        if broken := journeys_broken_by(parsed(row), workspace_id=row.workspace_id):
            raise BreaksJourneys(f"By this, journeys could not send any more: {'; '.join(broken)}")

    def after_saving(self, row: Connection, stored: Connection | None) -> None:
        if stored is not None and stored.host != row.host:
            go_over_from(stored.host, workspace_id=row.workspace_id, connection_id=row.pk)

    def require_unused(self, row: Connection) -> None:
        """A journey may send by it that is active, or in which somebody is."""
        if used := journeys_sending_by(workspace_id=row.workspace_id, key=row.key):
            raise ConnectionInUse(f"Journeys send by {row.key}: {', '.join(used)}. It cannot be deleted.")

    def warnings(self, row: Connection) -> Sequence[DefinitionWarning]:
        return [*incomplete(row)]


CONNECTIONS = Connections()


def parsed(connection: Connection) -> Provider:
    """As it is now, whatever is stored."""
    return parse_provider(connection.definition, connection_id=connection.id, key=connection.key, stored=True)


def _size_mistakes(definition: Any) -> Iterator[Refusal]:
    if not isinstance(definition, dict):
        yield InvalidConnection("The connection must be an object.")
    elif depth(definition) > DEEPEST or json_bytes(definition) > MOST_BYTES:
        yield InvalidConnection(f"The connection may be {MOST_BYTES // KIB} KiB of JSON, nested {DEEPEST} deep.")
    elif problem := unstorable(definition):
        yield InvalidConnection(f"The connection holds {problem}.")


def incomplete(connection: Connection) -> Iterator[DefinitionWarning]:
    """What is missing in a connection, or may not be meant."""
    provider = provider_of(connection)
    if provider.missing:
        lacks = ", ".join(provider.missing)
        message = f"The connection {connection.key} is incomplete, so its steps fail: there is no value for {lacks}."
        yield DefinitionWarning(place="", message=message)
    for inner in unescaped_markup(provider.request):
        yield DefinitionWarning(place=inner, message=UNESCAPED)
