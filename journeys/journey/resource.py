"""Journeys as resources: what they are, whole."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any

from engage.resources.fields import Described, Item, defaults_of
from engage.resources.resource import DefinitionWarning, Resource, Saving, SecretsChange
from journeys.engine.entering.trigger import JourneyNotFound
from journeys.engine.steering.acts import queued_and_inside
from journeys.engine.steering.moving import Moving, begin_move, would_move
from journeys.journey.authoring import save_journey
from journeys.journey.fields import JourneyFields
from journeys.journey.keeping import archive_journey
from journeys.journey.warnings import warnings_of
from journeys.journey.written import written_journeys
from journeys.models import Journey, JourneyRevision
from journeys.steps.secrets import masked_steps, with_secrets


class Journeys(Resource[Journey]):
    """Journeys, whole; `active` says how a new one begins, and is state afterwards."""

    model, fields, section = Journey, JourneyFields, "journeys"
    missing = JourneyNotFound
    state = frozenset({"active"})

    def defaults(self, key: str) -> dict[str, Any]:
        return defaults_of(JourneyFields) | {"name": key, "steps": [], "exit_on": []}

    def replace(self, saving: Saving, described: Described) -> Journey:
        changes = {**self.defaults(saving.key), **described.changes}
        if saving.stored is not None:
            changes.pop("active", None)
        return save_journey(workspace=saving.workspace, key=saving.key, now=saving.now, **changes).journey

    def written(self, row: Journey) -> Item:
        return written_journeys([row])[0]

    def all_written(self, workspace_id: str) -> list[Item]:
        return written_journeys(self.own(workspace_id).filter(archived_at=None).order_by("key"))

    def with_secrets(self, item: Item, change: SecretsChange) -> Item:
        return item | {"steps": [with_secrets(step, change(str(step.get("id", "")))) for step in item["steps"]]}

    def masked(self, item: Item) -> Item:
        return item | {"steps": masked_steps(item["steps"])}

    def gone(self, row: Journey) -> str:
        return "is that of an archived journey; restore it first." if row.archived_at is not None else ""

    def kept(self, written: Mapping[str, Any], stored: Journey) -> Sequence[DefinitionWarning]:
        if written.get("active", stored.active) == stored.active:
            return []
        message = f"The journey stays {stored.state}: activate and close it by the calls, or in the admin."
        return [DefinitionWarning(place="active", message=message)]

    def inside(self, stored: Journey) -> int:
        return queued_and_inside(stored)[1]

    def move(self, row: Journey, *, actor: str, dry_run: bool) -> Moving:
        return would_move(row) if dry_run else begin_move(row, actor=actor)

    def warnings(self, row: Journey) -> Sequence[DefinitionWarning]:
        current = JourneyRevision.objects.filter(journey=row, number=row.revision).first()
        return warnings_of(row, **current.written) if current else []

    def take_away(self, row: Journey, *, actor: str, now: datetime) -> None:
        """It is archived: whoever is inside, and what was, stays."""
        archive_journey(row, actor=actor, now=now)


JOURNEYS = Journeys()
