"""Segments as resources, without their members."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import datetime
from typing import Any

from customers.audience.membership import SegmentNotFound
from customers.audience.segments import segment_warnings
from customers.models import Segment
from engage.audit.facts import changes_between, facts_of
from engage.audit.recording import change, record
from engage.database.statement_limit import longer_statements
from engage.json.documents import Part, Reading
from engage.models import AuditEntry
from engage.resources.fields import defaults_of
from engage.resources.resource import DefinitionWarning, Resource, Saving
from journeys.segment.seeding import SeedSegment, SegmentFields, lock_segments, read_segment, seed_segments


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


SEGMENTS = Segments()
