"""Segments, as the item of a seed file, without their members."""

from dataclasses import replace
from typing import Any

from customers.api.path_ids import SEGMENT_ID
from customers.audience.membership import SegmentNotFound
from engage.calls.asked import Asked
from engage.calls.call import Answered
from engage.calls.queries import DryRun
from engage.scopes import Scope
from journeys.api.definitions.bodies import (
    DefinitionDeleted,
    DefinitionRecord,
    PutDefinitionRecord,
    SegmentBody,
)
from journeys.api.definitions.calls import (
    REFUSED,
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
from journeys.seeding import kinds
from journeys.seeding.definitions import DefinitionInvalid

_SEGMENT_ID = replace(SEGMENT_ID, missing=lambda _: SegmentNotFound())
_PLAN = {"field": "customer.plan", "op": "eq", "value": "pro"}
_SEGMENT = {"key": "pro", "name": "Pro plan", "conditions": _PLAN, "managedBy": None}

_of_segments: dict[str, Any] = {
    "path": "segments/{workspaceId}/{segmentId}",
    "scope": Scope.DEFINITIONS,
    "ids": [_SEGMENT_ID],
}


@put_call(
    **_of_segments,
    requests={"By a condition": {"name": "Pro plan", "conditions": _PLAN}},
    examples=put_examples(SEGMENT_ID.example, _SEGMENT, changed=["conditions"], inside=None),
    refuses=[*REFUSED, DefinitionInvalid("conditions.op is 'is', which is none of eq, ne."), *UNSEEN],
)
def put_segment(asked: Asked[SegmentBody, DryRun], segment_id: str) -> Answered[PutDefinitionRecord]:
    """Create or replace a segment

    The body is the segment's item of a seed file, without members: who was put into it stays there.
    """
    return write(kinds.SEGMENTS, asked, segment_id)


@get_call(**_of_segments, examples={"Found": record_of(SEGMENT_ID.example, _SEGMENT)})
def get_segment(asked: Asked[None, None], segment_id: str) -> Answered[DefinitionRecord]:
    """Read a segment

    Returns the segment's name and condition.
    """
    return read(kinds.SEGMENTS, asked, segment_id)


@delete_call(**_of_segments, refuses=UNSEEN)
def delete_segment(asked: Asked[None, None], segment_id: str) -> DefinitionDeleted:
    """Delete a segment

    Deletes the segment, and takes its members out of it. The customers stay.
    """
    return take_away(kinds.SEGMENTS, asked, segment_id)
