"""The `connections` of a seed file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import cast

from engage.errors import Refusal
from engage.json.documents import Part, Reading
from engage.models import Workspace
from journeys.connections.providers import provider_of
from journeys.connections.using import journeys_broken_by
from journeys.design.connections import ConnectionChanges, SavedConnection, save_connection
from journeys.design.warnings import UNESCAPED, DefinitionWarning
from journeys.models import Connection
from journeys.seeding.reading import Described, InvalidSeed, read_item, refuse_duplicates
from journeys.seeding.secrets import read_request
from journeys.steps.provider import FIELDS
from journeys.steps.secrets import as_stored
from journeys.steps.templated import unescaped_markup


def _rate(part: Part) -> float | None:
    if part.is_null:
        return None
    if isinstance(part.value, bool) or not isinstance(part.value, int | float):
        part.refuse_type("a number")
    return part.value


_SPELLINGS = {"per_second": "perSecond"}
_READERS: Mapping[str, Callable[[Part], object]] = {
    "name": Part.text,
    "channel": Part.text,
    "per_second": _rate,
    **dict.fromkeys(FIELDS, lambda part: part.value),
}


def read_connections(part: Part) -> list[Described]:
    """`[{"key": "postmark", "channel": "email", "url": "https://…", "inputs": {…}}]`. Raises InvalidSeed.

    A secret that the environment does not have is None.
    """
    items = part.items()
    with Reading() as read:
        each = read.each(
            items, lambda item: read_connection(replace(item, value=read_request(item, may_lack=True)), read)
        )
    refuse_duplicates(item.field("key") for item in items)
    return each


def read_connection(item: Part, read: Reading) -> Described:
    """One connection, with its secrets as they are written."""
    described = read_item(item, _READERS, read, spellings=_SPELLINGS)
    columns = {name: value for name, value in described.changes.items() if name not in FIELDS}
    definition = {name: value for name, value in described.changes.items() if name in FIELDS}
    return replace(described, changes=columns | ({"definition": definition} if definition else {}))


def incomplete(connection: Connection, *, place: str) -> Iterator[DefinitionWarning]:
    """What is missing in a connection, or may not be meant."""
    provider = provider_of(connection)
    if provider.missing:
        lacks = ", ".join(provider.missing)
        message = f"The connection {connection.key} is incomplete, so its steps fail: there is no value for {lacks}."
        yield DefinitionWarning(place=place, message=message)
    for inner in unescaped_markup(provider.request):
        yield DefinitionWarning(place=f"{place}.{inner}" if place else inner, message=UNESCAPED)


@dataclass(frozen=True, kw_only=True)
class SeededConnections:
    """Each connection by its key, and the place at which it is described."""

    saved: Mapping[str, SavedConnection]
    places: Mapping[str, str]

    @property
    def ids(self) -> Mapping[str, str]:
        return {key: one.connection.id for key, one in self.saved.items()}

    def warnings(self) -> Iterator[DefinitionWarning]:
        """Those that lack a secret, with their places in the file."""
        for key, one in self.saved.items():
            yield from incomplete(one.connection, place=self.places[key])

    def require_unbroken(self) -> None:
        """Raises InvalidSeed if journeys, as they are now, could not send any more by those that have changed."""
        for key, one in self.saved.items():
            provider, workspace_id = provider_of(one.connection), one.connection.workspace_id
            broken = one.outcome == "changed" and journeys_broken_by(provider, workspace_id=workspace_id)
            if broken:
                why = f"By this, journeys could not send any more: {'; '.join(broken)} --confirm saves it all the same."
                raise InvalidSeed(f"{self.places[key]}: {why}")


def seed_connections(*, workspace: Workspace, connections: Sequence[Described], now: datetime) -> SeededConnections:
    """Makes or changes them, before the journeys that name them. Raises InvalidSeed."""
    return SeededConnections(
        saved={one.key: _seed(workspace, one, now) for one in connections},
        places={one.key: one.place for one in connections},
    )


def _seed(workspace: Workspace, described: Described, now: datetime) -> SavedConnection:
    changes = dict(described.changes)
    stored = Connection.objects.filter(workspace=workspace, key=described.key).first()
    if stored is not None and "definition" in changes:
        changes["definition"] = as_stored(changes["definition"], stored.definition, null_too=True)
    try:
        return save_connection(
            workspace=workspace, key=described.key, now=now, confirmed=True, **cast("ConnectionChanges", changes)
        )
    except Refusal as refusal:
        found = (_placed(described.place, one.message) for one in refusal.all_found())
        raise InvalidSeed("\n".join(found) + refusal.and_more) from None


def _placed(place: str, message: str) -> str:
    return f"{place}.{message}" if message[:1].islower() else f"{place}: {message}"
