"""The kinds of definitions that journeys are made of, as resources: journeys themselves, and segments."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from customers.audience.membership import SegmentNotFound
from customers.audience.segments import segment_warnings
from customers.contact.topics import TOPICS
from customers.models import Segment
from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import change, record
from engage.database.statement_limit import longer_statements
from engage.json.documents import Part, Reading
from engage.models import AuditEntry
from engage.resources.fields import Described, Item, defaults_of
from engage.resources.resource import DefinitionWarning, Resource, Saving, SecretsChange
from journeys.connections.variables import VARIABLES
from journeys.design.authoring import save_journey
from journeys.design.connections import CONNECTIONS
from journeys.design.fields import JourneyFields
from journeys.design.keeping import archive_journey
from journeys.design.warnings import warnings_of
from journeys.entering.trigger import JourneyNotFound
from journeys.models import Journey, JourneyRevision
from journeys.seeding.segments import SeedSegment, SegmentFields, lock_segments, read_segment, seed_segments
from journeys.seeding.written import written_journeys
from journeys.steering.acts import queued_and_inside
from journeys.steering.moving import Moving, begin_move, would_move
from journeys.steps.secrets import masked_steps, with_secrets
from journeys.subscriptions.saving import SUBSCRIPTIONS


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


class Segments(Resource[Segment]):
    """Segments without their members: these are no part of the definition."""

    model, fields, section = Segment, SegmentFields, "segments"

    @staticmethod
    def missing(named: str) -> SegmentNotFound:
        return SegmentNotFound()

    def read(self, item: Part, reading: Reading) -> Any:
        return read_segment(item, reading)

    def replace(self, saving: Saving, described: Any) -> Segment:
        changes = {**defaults_of(SegmentFields), "name": saving.key, **described.changes}
        whole: SeedSegment = replace(described, key=saving.key, changes=changes)
        stored = lock_segments(workspace=saving.workspace, segments=[whole])
        seed_segments(workspace=saving.workspace, segments=[whole], stored=stored, customers={}, now=saving.now)
        return Segment.objects.get(workspace=saving.workspace, key=saving.key)

    def warnings(self, row: Segment) -> Sequence[DefinitionWarning]:
        return [DefinitionWarning(place=one.place, message=one.remark) for one in segment_warnings(row)]

    def take_away(self, row: Segment, *, actor: str, now: datetime) -> None:
        gone = change(AuditEntry.Action.DELETED, row, changes=changes_between(facts_of(row), {}))
        with longer_statements():  # its members go with it
            row.delete()
        record(gone)


JOURNEYS = Journeys()
SEGMENTS = Segments()

# In this order they are written out.
KINDS: Sequence[Resource[Any]] = (SEGMENTS, TOPICS, VARIABLES, CONNECTIONS, JOURNEYS, SUBSCRIPTIONS)
