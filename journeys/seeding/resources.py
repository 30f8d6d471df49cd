"""The sections of a seed file that need no more than their kind (engage/resources/): read, saved, and finished once the
journeys that name them are there.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any

from engage.errors import Refusal
from engage.json.documents import Part, Reading
from engage.models import Workspace
from engage.resources.fields import Described
from engage.resources.resource import BreaksOthers, DefinitionWarning, Resource, Saved
from journeys.definitions.reading import InvalidSeed, refuse_duplicates
from journeys.seeding.secrets import read_request


def read_section(kind: Resource[Any], part: Part) -> list[Described]:
    """`[{"key": "crm", "url": "https://…"}]`. A secret that the environment lacks is None. Raises InvalidSeed."""
    items = kind.items(part)
    if kind.secrets_may_lack:
        items = [replace(item, value=read_request(item, may_lack=True)) for item in items]
    with Reading() as read:
        each = read.each(items, lambda item: kind.read(item, read))
    refuse_duplicates(item.field("key") for item in items)
    return each


@dataclass(frozen=True, kw_only=True)
class SeededSection:
    """What a section describes, and what was saved of it, by key."""

    kind: Resource[Any]
    workspace: Workspace
    described: Sequence[Described]
    saved: Mapping[str, Saved[Any]]

    @property
    def ids(self) -> Mapping[str, str]:
        return {key: one.row.pk for key, one in self.saved.items()}

    def warnings(self) -> Iterator[DefinitionWarning]:
        """With their places in the file."""
        for one in self._saved():
            for warning in self.kind.warnings(self.saved[one.key].row):
                yield replace(warning, place=f"{one.place}.{warning.place}" if warning.place else one.place)

    def require_unbroken(self) -> None:
        """Raises InvalidSeed if journeys, as they are now, could not go on with what has changed."""
        for one in self._saved():
            if self.saved[one.key].outcome == "changed":
                try:
                    self.kind.require_unbroken(self.saved[one.key].row)
                except BreaksOthers as broken:
                    raise InvalidSeed(f"{one.place}: {broken.message} --confirm saves it all the same.") from None

    def take_away(self) -> None:
        """Deletes what the file takes away, once the journeys are saved. Raises InvalidSeed for what is in use."""
        for one in self.described:
            if self.kind.takes_away(one):
                for row in self.kind.find(self.workspace.pk, one.key):
                    with _refused_at(one):
                        self.kind.delete(row)

    def _saved(self) -> list[Described]:
        return [one for one in self.described if one.key in self.saved]


def seed_section(
    kind: Resource[Any], *, workspace: Workspace, described: Sequence[Described], now: datetime
) -> SeededSection:
    """Makes or changes what is described; what names it is looked at later. Raises InvalidSeed."""
    saved = {one.key: _seed(kind, workspace, one, now) for one in described if not kind.takes_away(one)}
    return SeededSection(kind=kind, workspace=workspace, described=described, saved=saved)


def _seed(kind: Resource[Any], workspace: Workspace, one: Described, now: datetime) -> Saved[Any]:
    stored = kind.find(workspace.pk, one.key).first() if kind.secrets_may_lack else None
    changes = kind.with_stored_secrets(one.changes, stored) if stored is not None else one.changes
    with _refused_at(one):
        return kind.save(workspace=workspace, key=one.key, now=now, confirmed=True, **changes)


@contextmanager
def _refused_at(one: Described) -> Iterator[None]:
    """What is refused inside names the place in the file."""
    try:
        yield
    except Refusal as refusal:
        found = (_placed(one.place, each.message) for each in refusal.all_found())
        raise InvalidSeed("\n".join(found) + refusal.and_more) from None


def _placed(place: str, message: str) -> str:
    return f"{place}.{message}" if message[:1].islower() else f"{place}: {message}"
