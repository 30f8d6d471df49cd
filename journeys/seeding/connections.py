"""The `connections` of a seed file."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import cast

from engage.errors import Refusal
from engage.json.documents import Part
from engage.models import Workspace
from journeys.connections.providers import provider_of
from journeys.connections.using import journeys_broken_by
from journeys.design.connections import ConnectionChanges, SavedConnection, save_connection
from journeys.design.warnings import UNESCAPED, DefinitionWarning
from journeys.models import Connection
from journeys.seeding.reading import Described, InvalidSeed, refuse_duplicates
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


_COLUMNS: Mapping[str, tuple[str, Callable[[Part], object]]] = {
    "name": ("name", Part.text),
    "channel": ("channel", Part.text),
    "perSecond": ("per_second", _rate),
}


def read_connections(part: Part) -> list[Described]:
    """`[{"key": "postmark", "channel": "email", "url": "https://…", "inputs": {…}}]`. Raises InvalidSeed."""
    items = part.items()
    each = [item.fields(required=["key"], optional=[*_COLUMNS, *FIELDS]) for item in items]
    refuse_duplicates(fields["key"] for fields in each)
    return [_described(item, fields) for item, fields in zip(items, each, strict=True)]


def _described(item: Part, fields: Mapping[str, Part]) -> Described:
    """A secret that the environment does not have is None."""
    written = read_request(item, may_lack=True)
    definition = {name: value for name, value in written.items() if name in FIELDS}
    columns = {column: read(fields[name]) for name, (column, read) in _COLUMNS.items() if name in fields}
    changes = columns | ({"definition": definition} if definition else {})
    return Described(place=item.place, key=fields["key"].text(), changes=changes)


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
            provider, place = provider_of(one.connection), self.places[key]
            if provider.missing:
                lacks = ", ".join(provider.missing)
                message = f"The connection {key} is incomplete, so its steps fail: there is no value for {lacks}."
                yield DefinitionWarning(place=place, message=message)
            for inner in unescaped_markup(provider.request):
                yield DefinitionWarning(place=f"{place}.{inner}", message=UNESCAPED)

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
        raise InvalidSeed("\n".join(found)) from None


def _placed(place: str, message: str) -> str:
    return f"{place}.{message}" if message[:1].islower() else f"{place}: {message}"
