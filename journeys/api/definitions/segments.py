"""Segments, as the item of a seed file, without their members."""

from dataclasses import replace

from customers.api.path_ids import SEGMENT_ID
from customers.audience.membership import SegmentNotFound
from engage.calls.asked import Asked
from engage.calls.call import Answered
from engage.calls.queries import DryRun
from engage.resources.definitions import DefinitionInvalid
from journeys.api.definitions.bodies import (
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
)
from journeys.api.definitions.calls import Calls
from journeys.seeding import kinds
from journeys.seeding.segments import SegmentFields

_SEGMENT_ID = replace(SEGMENT_ID, missing=lambda _: SegmentNotFound())
_PLAN = {"field": "customer.plan", "op": "eq", "value": "pro"}
_SEGMENT = {"key": "pro", "name": "Pro plan", "conditions": _PLAN, "managedBy": None}

_SEGMENTS = Calls(
    kind=kinds.SEGMENTS,
    path="segments/{workspaceId}/{segmentId}",
    id=_SEGMENT_ID,
    example_id=SEGMENT_ID.example,
    item=_SEGMENT,
)


@_SEGMENTS.put(
    requests={"By a condition": {"name": "Pro plan", "conditions": _PLAN}},
    changed=["conditions"],
    refuses=[DefinitionInvalid("conditions.op is 'is', which is none of eq, ne.")],
)
def put_segment(asked: Asked[SegmentFields, DryRun], segment_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a segment

    The body is the segment's item of a seed file, without members: who was put into it stays there.
    """
    return _SEGMENTS.write(asked, segment_id)


@_SEGMENTS.get()
def get_segment(asked: Asked[None, None], segment_id: str) -> Answered[DefinitionRecord]:
    """Read a segment

    Returns the segment's name and condition.
    """
    return _SEGMENTS.read(asked, segment_id)


@_SEGMENTS.delete()
def delete_segment(asked: Asked[None, None], segment_id: str) -> DefinitionDeleted:
    """Delete a segment

    Deletes the segment, and takes its members out of it. The customers stay.
    """
    return _SEGMENTS.take_away(asked, segment_id)
