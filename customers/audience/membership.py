"""Putting customers into a segment, and taking them out."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated

from customers.identity.locks import lock_customers_named, undisturbed
from customers.identity.lookup import Reference
from customers.models import Segment, SegmentMembership
from engage.database.keys import id_of_key
from engage.database.object_ids import row_with_id
from engage.database.sql import Statement
from engage.errors import InvalidRequest, Refusal
from engage.json.keywords import Keywords

_ADD = Statement("""
    INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
    SELECT {workspace_id}, {segment_id}, unnest({customer_ids}::text[])
    ON CONFLICT (segment_id, customer_id) DO NOTHING
""")


class SegmentNotFound(Refusal):
    """The segment does not exist, or belongs to another workspace."""

    status = 404
    error = "Segment not found"
    says = "This workspace has no such segment."


segment_id_of_key = id_of_key("customers_segment")


@dataclass(frozen=True, kw_only=True)
class MembersChanged:
    """What changed in a segment."""

    added: Annotated[int, "The number of customers added, not counting those who were already in the segment."]
    removed: Annotated[int, "The number of customers removed, not counting those who were not in the segment."]
    unknown: Annotated[
        Sequence[str],
        "The external ids that no customer in the workspace has, in the order sent.",
        Keywords(uniqueItems=True),
    ]


def change_members(*, workspace_id: str, segment_id: str, add: Sequence[str], remove: Sequence[str]) -> MembersChanged:
    """Puts the customers with the external ids `add` into the segment, and takes those of `remove` out.

    Customers already in it are not added again, and those not in it are not removed. Raises InvalidRequest for an id,
    or a customer, in both lists, SegmentNotFound and TooManyAtOnce.
    """
    in_both = set(add) & set(remove)
    if in_both:
        raise InvalidRequest(f"{min(in_both)[:255]!r} stands in both add and remove.")

    def change() -> MembersChanged:
        _lock_segment(workspace_id, segment_id)
        ids = _locked_customers(workspace_id, [*add, *remove])
        leaving = {ids[known]: known for known in remove if known in ids}
        for known in add:
            if (one := leaving.get(ids.get(known, ""))) is not None:
                raise InvalidRequest(f"{known[:255]!r} in add and {one[:255]!r} in remove are one customer.")
        removed = _take_out(workspace_id, segment_id, [*leaving])
        added = _put_in(workspace_id, segment_id, [ids[known] for known in add if known in ids])
        unknown = [external_id for external_id in dict.fromkeys([*add, *remove]) if external_id not in ids]
        return MembersChanged(added=added, removed=removed, unknown=unknown)

    return undisturbed(change)


_ADD_WHO_IS_THERE = Statement("""
    INSERT INTO customers_segmentmembership (workspace_id, segment_id, customer_id)
    SELECT {workspace_id}, {segment_id}, id FROM (
        SELECT id FROM customers_customer WHERE workspace_id = {workspace_id} AND id = ANY({customer_ids}::text[])
        ORDER BY id FOR KEY SHARE
    ) AS there
    ON CONFLICT (segment_id, customer_id) DO NOTHING
""")


def put_in(*, workspace_id: str, segment_id: str, customer_ids: Sequence[str]) -> int:
    """Puts those who are there into the segment, in the caller's transaction; how many were not in it.

    Raises SegmentNotFound.
    """
    _lock_segment(workspace_id, segment_id)
    return _ADD_WHO_IS_THERE.execute(workspace_id=workspace_id, segment_id=segment_id, customer_ids=list(customer_ids))


def take_out(*, workspace_id: str, segment_id: str, customer_ids: Sequence[str]) -> int:
    """Takes those who are in it out of the segment, in the caller's transaction; how many. Raises SegmentNotFound."""
    _lock_segment(workspace_id, segment_id)
    return _take_out(workspace_id, segment_id, customer_ids)


def _lock_segment(workspace_id: str, segment_id: str) -> None:
    """Keeps the segment from being deleted before its members are in, and serializes changes to one segment."""
    in_workspace = Segment.objects.filter(workspace_id=workspace_id)
    if row_with_id(in_workspace.select_for_update(no_key=True), segment_id) is None:
        raise SegmentNotFound


def _locked_customers(workspace_id: str, external_ids: Sequence[str]) -> dict[str, str]:
    """External id to customer id. Locks the rows in id order, as everywhere, so none is erased before it is in."""
    wanted = [Reference("external_id", external_id) for external_id in external_ids]
    known = lock_customers_named(workspace_id=workspace_id, references=wanted)
    return {reference.value: customer_id for reference, customer_id in known.items()}


def _put_in(workspace_id: str, segment_id: str, customer_ids: Sequence[str]) -> int:
    return _ADD.execute(workspace_id=workspace_id, segment_id=segment_id, customer_ids=sorted(customer_ids))


def _take_out(workspace_id: str, segment_id: str, customer_ids: Sequence[str]) -> int:
    members = SegmentMembership.objects.filter(workspace_id=workspace_id, segment_id=segment_id)
    removed, _ = members.filter(customer_id__in=customer_ids).delete()
    return removed
