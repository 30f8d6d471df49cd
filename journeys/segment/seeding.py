"""The `segments` of a seed file, and their members."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any

from customers.audience.segments import check_segment_conditions, segment_warnings
from customers.conditions import InvalidCondition
from customers.identifier_rules import one_spelling
from customers.models import Customer, Segment
from engage.audit.facts import facts_of
from engage.database.sql import Rows, Statement
from engage.json.compact import same_json
from engage.json.documents import Part, Reading
from engage.json.keywords import Keywords
from engage.models import Workspace
from engage.resources.fields import Fields, ReadBy, read_item
from engage.resources.resource import DefinitionWarning
from journeys.definitions.reading import refuse_duplicates, require_new_key, store, text_for
from journeys.journey.fields import MANAGED_BY

# Whoever is put in or taken out is kept from being erased until the seeding ends, and before it changes a membership:
# an erasure holds its customer and then deletes the memberships. FOR KEY SHARE, so that other work goes on.
_BY_EXTERNAL_ID = """
    SELECT id, external_id FROM customers_customer WHERE workspace_id = %s AND external_id = ANY(%s)
    ORDER BY id FOR KEY SHARE
"""
_LEAVING = """
    customers_segmentmembership AS membership
    WHERE segment_id = ANY({named}) AND NOT EXISTS (
        SELECT FROM {wanted}
        WHERE wanted.segment_id = membership.segment_id AND wanted.customer_id = membership.customer_id
    )
"""
_WANTED = Rows("wanted", {"segment_id": "text", "customer_id": "text"})
_LOCK_LEAVING = Statement(
    """
    SELECT FROM customers_customer WHERE id = ANY(ARRAY(SELECT customer_id FROM {leaving})) ORDER BY id FOR KEY SHARE
""",
    leaving=_LEAVING,
    wanted=_WANTED,
)
_TAKE_OUT = Statement("DELETE FROM {leaving}", leaving=_LEAVING, wanted=_WANTED)
_PUT_IN = Statement(
    """
    INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
    SELECT {workspace}, * FROM {wanted}
    ON CONFLICT DO NOTHING
""",
    wanted=_WANTED,
)


@dataclass(frozen=True, kw_only=True)
class SeededSegments:
    """Each segment's id by its key, and the warnings about conditions, with their places in the file."""

    ids: Mapping[str, str]
    warnings: Sequence[DefinitionWarning]


@dataclass(frozen=True, kw_only=True)
class SeedSegment:
    """`changes` holds the columns that are given; `members` names customers, None keeps the stored members."""

    place: str
    key: str
    changes: Mapping[str, Any]
    conditions: Part | None
    members: Sequence[Part] | None


def read_segments(part: Part) -> list[SeedSegment]:
    """`[{"key": "vip", "name": "VIP", "members": ["ada"], "conditions": {…}}]`. Raises InvalidSeed."""
    items = part.items()
    with Reading() as read:
        each = read.each(items, lambda item: read_segment(item, read, members=True))
    refuse_duplicates(item.field("key") for item in items)
    return each


def read_segment(item: Part, read: Reading, *, members: bool = False) -> SeedSegment:
    """One segment, with its `members` where they may stand here."""
    described = read_item(item, SegmentFields, read, instead={"members": _members} if members else None)
    changes = dict(described.changes)
    return SeedSegment(
        place=f"{item.place}.key" if item.place else "key",
        key=described.key,
        members=changes.pop("members", None),
        changes=changes,
        conditions=item.field("conditions") if "conditions" in changes else None,
    )


def _members(part: Part) -> list[Part]:
    members = part.items()
    refuse_duplicates(members)
    return members


def _conditions(part: Part, *, stored: bool) -> object:
    """The conditions; only those that are new have to keep to all rules."""
    try:
        check_segment_conditions(part.value, place=part.place, stored=stored)
    except InvalidCondition as refusal:
        part.refuse_for(refusal)
    return part.value


@dataclass(frozen=True, kw_only=True)
class SegmentFields(Fields):
    """A segment, whole, without its members: these stay. What is left out, or null, gets its default."""

    key: Annotated[str, "The key, as in the path; may be left out."] = ""
    name: Annotated[
        str, "What people call it; the key by default.", ReadBy(lambda part: text_for(part, Segment, "name"))
    ] = ""
    conditions: Annotated[
        Any,
        "Who meets this condition is in it, beside its members.",
        Keywords(type="object", additionalProperties=True),
        ReadBy(lambda part: _conditions(part, stored=True)),
    ] = None
    managed_by: Annotated[
        str | None,
        MANAGED_BY,
        ReadBy(lambda part: None if part.is_null else text_for(part, Segment, "managed_by")),
    ] = None


def lock_segments(*, workspace: Workspace, segments: Sequence[SeedSegment]) -> dict[str, Segment]:
    """Locks those of the segments that are stored, and returns them by their keys."""
    stored = Segment.objects.filter(workspace=workspace, key__in=[segment.key for segment in segments])
    return {row.key: row for row in stored.order_by("id").select_for_update(no_key=True)}


def seed_segments(
    *,
    workspace: Workspace,
    segments: Sequence[SeedSegment],
    stored: Mapping[str, Segment],
    customers: Mapping[str, str],
    now: datetime,
) -> SeededSegments:
    """Creates missing segments and updates those that differ.

    `stored` are those that `lock_segments` has locked. If members are given, they replace the segment's members.
    `customers` maps the names of the file's customers to their ids; other names are external ids. Raises InvalidSeed
    for a name that no customer has.
    """
    rows: list[Segment] = []
    before = {key: facts_of(row) for key, row in stored.items()}
    for segment in segments:
        if segment.key not in stored:
            require_new_key(segment.key, segment.place)
        row = stored.get(segment.key) or Segment(workspace=workspace, key=segment.key, name=segment.key, created_at=now)
        rows.append(row)
        if segment.conditions and not same_json(segment.conditions.value, row.conditions):
            _conditions(segment.conditions, stored=False)
        if any(not same_json(value, getattr(row, column)) for column, value in segment.changes.items()):
            row.updated_at = now
        for column, value in segment.changes.items():
            setattr(row, column, value)
        if segment.key in stored:
            row.keep_order_of(row)
        row.key_orders = row.orders()
    store(rows, fields=["name", "conditions", "managed_by", "updated_at", "key_orders"], before=before, named="key")
    ids = {row.key: row.id for row in rows}
    _seed_members(workspace, {ids[one.key]: one.members for one in segments if one.members is not None}, customers)
    return SeededSegments(
        ids=ids,
        warnings=[
            DefinitionWarning(place=one.place, message=one.remark)
            for segment, row in zip(segments, rows, strict=True)
            if segment.conditions
            for one in segment_warnings(row, place=segment.conditions.place)
        ],
    )


def _seed_members(workspace: Workspace, members: Mapping[str, Sequence[Part]], customers: Mapping[str, str]) -> None:
    known = _with_stored_customers(workspace, [part for parts in members.values() for part in parts], customers)
    wanted = [(segment_id, known[one_spelling(part.text())]) for segment_id, parts in members.items() for part in parts]
    _LOCK_LEAVING.execute(named=list(members), wanted=wanted)
    _TAKE_OUT.execute(named=list(members), wanted=wanted)
    _PUT_IN.execute(workspace=workspace.id, wanted=wanted)


def _with_stored_customers(
    workspace: Workspace, parts: Iterable[Part], customers: Mapping[str, str]
) -> Mapping[str, str]:
    others = [part for part in parts if one_spelling(part.text()) not in customers]
    rows = Customer.objects.raw(_BY_EXTERNAL_ID, [workspace.id, [one_spelling(part.text()) for part in others]])
    found = {str(row.external_id): row.id for row in rows}
    for part in others:
        if one_spelling(part.text()) not in found:
            part.refuse("is no customer of the workspace.")
    return {**found, **customers}
