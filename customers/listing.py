"""Customers, members of segments and events, a part at a time (engage/database/parts.py)."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from django.db.models import Q, QuerySet

from customers.audience.membership import SegmentNotFound, segment_id_of_key
from customers.audience.segments import belongs_to_any
from customers.identifier_rules import LONGEST, one_spelling
from customers.models import Customer, Event, Segment, SegmentMembership
from engage.database.keys import is_key
from engage.database.object_ids import row_with_id
from engage.database.parts import Part, part_of
from engage.database.sql import Fragment, Template

_CUSTOMERS = "customers_customer"
_AFTER = Template("workspace_id = {workspace_id} AND id > {after}")
_MEMBERS_AFTER = Template("segment_id = {segment_id} AND customer_id > {after}")
# Byte by byte, as the indexes of identifiers are ordered: in the database's own order, what begins alike may be apart.
_BEGINNING = Template("""
workspace_id = {workspace_id} AND {field} ~>=~ {first} AND {field} ~<~ {beyond} AND {field} ~>~ {after}
""")
_LAST_BEFORE_SURROGATES, _FIRST_AFTER_THEM, _LAST_LETTER = 0xD7FF, 0xE000, 0x10FFFF


def own_segment(*, workspace_id: str, named: str) -> Segment:
    """The workspace's segment with this id or key. Raises SegmentNotFound."""
    id_ = segment_id_of_key(workspace_id=workspace_id, key=named) if is_key(named) else named
    found = row_with_id(Segment.objects.filter(workspace_id=workspace_id), id_ or "")
    if found is None:
        raise SegmentNotFound
    return found


def customers_part(*, workspace_id: str, after: str, limit: int) -> Part[Customer]:
    """The workspace's customers in the order of their ids, which say when they were made."""
    of = _AFTER.filled(workspace_id=workspace_id, after=after)
    return _with_customers(part_of(table=_CUSTOMERS, of=of, limit=limit))


def customers_of_segment(*, segment: Segment, after: str, limit: int) -> Part[Customer]:
    """Who belongs to the segment, as a member or by its conditions, in the order of ids.

    Raises ErrorResolvingSegments.
    """
    if segment.conditions is None:
        members = members_part(segment=segment, after=after, limit=limit)
        return _with_customers(Part(rows=[one.customer_id for one in members.rows], last=members.last))
    of = _AFTER.filled(workspace_id=segment.workspace_id, after=after)
    belongs = belongs_to_any([segment])
    return _with_customers(part_of(table=_CUSTOMERS, of=of, meets=belongs, row="customer", limit=limit))


def customers_beginning(*, workspace_id: str, field: str, prefix: str, after: str, limit: int) -> Part[Customer]:
    """The customers whose identifier `field` begins with the prefix (not empty), in the order of its bytes.

    `last` is the identifier. A prefix of an e-mail address counts in lower case.
    """
    first = one_spelling(prefix)
    first = first.lower() if field == "email" and first.isascii() else first
    of = _BEGINNING.filled(
        workspace_id=workspace_id, field=Fragment(field), first=first, beyond=_beyond(first), after=after
    )
    both = f"ARRAY[id::text, {field}::text]"
    part = part_of(table=_CUSTOMERS, of=of, key=both, order=f"{field} USING ~<~", limit=limit)
    return _with_customers(Part(rows=[id_ for id_, _ in part.rows], last=part.last and part.last[1]))


def _beyond(prefix: str) -> str:
    """A text, byte by byte, after all that begin with the prefix, and before all others that come after it."""
    kept = prefix.rstrip(chr(_LAST_LETTER))
    if not kept:
        return chr(_LAST_LETTER) * (max(LONGEST.values()) + 1)
    last = ord(kept[-1])
    return kept[:-1] + chr(_FIRST_AFTER_THEM if last == _LAST_BEFORE_SURROGATES else last + 1)


def members_part(*, segment: Segment, after: str, limit: int) -> Part[SegmentMembership]:
    """Who was put into the segment, with their customers, in the order of these ids."""
    of = _MEMBERS_AFTER.filled(segment_id=segment.id, after=after)
    part = part_of(table="customers_segmentmembership", of=of, key="customer_id", limit=limit)
    # From the first to the last: PostgreSQL 16 may look for a list of the index's second column among all members.
    first, last = (part.rows[0], part.rows[-1]) if part.rows else ("", "")
    within = SegmentMembership.objects.filter(segment=segment, customer_id__gte=first, customer_id__lte=last)
    found = within.prefetch_related("customer")
    return Part(rows=_in_order(found, by="customer_id", of=part.rows), last=part.last)


@dataclass(frozen=True)
class PlaceOfEvent:
    """After the event that happened then."""

    occurred_at: datetime
    event_id: str


def events_part(*, customer: Customer, after: PlaceOfEvent | None, limit: int) -> Part[Event]:
    """The customer's events, those that happened last first; `last` is a PlaceOfEvent."""
    own = Event.objects.filter(workspace_id=customer.workspace_id, customer=customer)
    if after is not None:
        same_time = Q(occurred_at=after.occurred_at, id__lt=after.event_id)
        own = own.filter(Q(occurred_at__lt=after.occurred_at) | same_time, occurred_at__lte=after.occurred_at)
    found = list(own.order_by("-occurred_at", "-id")[: limit + 1])
    shown = found[:limit]
    last = PlaceOfEvent(shown[-1].occurred_at, shown[-1].id) if len(found) > limit else None
    return Part(rows=shown, last=last)


def _with_customers(part: Part[str]) -> Part[Customer]:
    found = Customer.objects.filter(id__in=part.rows)
    return Part(rows=_in_order(found, by="id", of=part.rows), last=part.last)


def _in_order(found: QuerySet[Any], *, by: str, of: Sequence[str]) -> list[Any]:
    """The rows in this order; whoever is gone meanwhile is left out."""
    known: dict[str, Any] = {getattr(one, by): one for one in found}
    return [known[place] for place in of if place in known]
