"""Segments, as the item of a seed file, without their members."""

from dataclasses import replace

from customers.api.path_ids import SEGMENT_ID
from customers.audience.membership import SegmentNotFound
from engage.resources.definitions import DefinitionInvalid
from engage.resources.resource import CallTexts
from journeys.definitions.each import define
from journeys.segment.resource import SEGMENTS

_PLAN = {"field": "customer.plan", "op": "eq", "value": "pro"}
_TEXTS = CallTexts(
    put="""Create or replace a segment

    The body is the segment's item of a seed file, without members: who was put into it stays there.
    """,
    get="""Read a segment

    Returns the segment's name and condition.
    """,
    delete="""Delete a segment

    Deletes the segment, and takes its members out of it. The customers stay.
    """,
    example={"key": "pro", "name": "Pro plan", "conditions": _PLAN, "managedBy": None},
    example_id=SEGMENT_ID.example,
    requests={"By a condition": {"name": "Pro plan", "conditions": _PLAN}},
    changed=["conditions"],
    refuses=[DefinitionInvalid("conditions.op must be one of eq, ne, not 'is'.")],
)

define(SEGMENTS, _TEXTS, named=replace(SEGMENT_ID, missing=lambda _: SegmentNotFound()))
