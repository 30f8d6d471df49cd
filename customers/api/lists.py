"""The calls that list customers, members of segments and events, page by page."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import StrEnum
from typing import Annotated, Any

from customers.api.customers import NOT_FOUND, RECORD, CustomerRecord
from customers.api.path_ids import ADA, CUSTOMER_ID, SEGMENT_ID
from customers.audience.membership import SegmentNotFound
from customers.audience.segments import ErrorResolvingSegments
from customers.identifier_rules import LONGEST, SPELLINGS
from customers.identity.lookup import customer_by_id
from customers.listing import (
    PlaceOfEvent,
    customers_beginning,
    customers_of_segment,
    customers_part,
    events_part,
    members_part,
    own_segment,
)
from customers.models import Customer, Event
from engage.calls.asked import Asked
from engage.calls.call import get
from engage.calls.queries import AFTER, LIMIT, PageQuery
from engage.database.known_values import known_value
from engage.database.object_ids import ObjectId
from engage.database.parts import Part
from engage.errors import InvalidRequest
from engage.http.paging import NEXT, moment_in, place_of, place_of_moment, written_place
from engage.json.fields import Parsed, Spelled, Whole, filled
from engage.json.storable import unstorable
from engage.scopes import Scope

_BOTH_OR_NEITHER = InvalidRequest("Send identifier and prefix together, or neither.")
_ONE_WAY = InvalidRequest("Send a prefix or a segment, not both.")


class _Identifier(StrEnum):
    EXTERNAL_ID = "external_id"
    EMAIL = "email"
    PHONE = "phone"
    USER_ID = "userId"


_UNREADABLE = ErrorResolvingSegments(
    f"The stored conditions of the segment '{SEGMENT_ID.example}' (pro) are invalid: conditions.op is required."
)
_FIELDS = {spelling: field for field, spelling in SPELLINGS.items()}
_LONGEST = max(LONGEST.values())
_BAD_PREFIX = InvalidRequest(f"prefix must be text of 1 to {_LONGEST} characters.")


def _prefix(text: str) -> str:
    if not 1 <= len(text) <= _LONGEST or unstorable(text) is not None:
        raise _BAD_PREFIX
    return text


def _place_of_event(microseconds: int, event_id: str) -> PlaceOfEvent:
    return PlaceOfEvent(moment_in(microseconds), event_id)


@dataclass(frozen=True, kw_only=True)
class CustomersQuery(PageQuery):
    """Which customers, and which page of them."""

    identifier: Annotated[_Identifier | None, "Which identifier begins with `prefix`."] = None
    prefix: Annotated[
        str | None, "How it begins, as it is stored: an e-mail address in lower case, a `+` as `%2B`.", Parsed(_prefix)
    ] = None
    segment: Annotated[str | None, "The id or key of the segment that they are in."] = None


@dataclass(frozen=True, kw_only=True)
class EventsQuery:
    """Which page of the events."""

    limit: Annotated[int, LIMIT, Whole(most=200)] = 50
    after: Annotated[PlaceOfEvent | None, AFTER, place_of(int, str, make=_place_of_event)] = None


@dataclass(frozen=True, kw_only=True)
class CustomersPage:
    """Customers."""

    customers: Sequence[CustomerRecord]
    next: Annotated[str | None, NEXT]


@dataclass(frozen=True, kw_only=True)
class Member:
    """Somebody who was put into a segment."""

    customer_id: ObjectId
    external_id: Annotated[str | None, "The customer's id in your own system.", Spelled("external_id")]
    added_at: datetime


@dataclass(frozen=True, kw_only=True)
class MembersPage:
    """Members of a segment, in the order of their ids."""

    members: Sequence[Member]
    next: Annotated[str | None, NEXT]


@dataclass(frozen=True, kw_only=True)
class ListedEvent:
    """Something that a customer did, or that a journey recorded for them."""

    event_id: ObjectId
    event_name: str
    event_properties: Mapping[str, Any]
    source: Annotated[Event.Source, "What reported it: a call of an in-app message, a server (`api`), or a journey."]
    message_id: Annotated[str | None, "The in-app message that it came from; null if it came from none."]
    occurred_at: datetime


@dataclass(frozen=True, kw_only=True)
class EventsPage:
    """A customer's events, those that happened last first."""

    customer_id: ObjectId
    events: Sequence[ListedEvent]
    next: Annotated[str | None, NEXT]


_AT = datetime(2026, 11, 20, 19, 8, tzinfo=UTC)
_MEMBER = Member(customer_id=ADA, external_id="ada", added_at=_AT)
_EVENT = ListedEvent(
    event_id="68a1f0c2e4b0a1d2c3e4f5e2",
    event_name="ordered",
    event_properties={"total": 42},
    source=Event.Source.API,
    message_id=None,
    occurred_at=_AT,
)
_lists: dict[str, Any] = {
    "scope": Scope.CUSTOMERS_READ,
    "policy": "customers",
    "tag": "Customers",
    "answer": "A page, which may be empty although others follow.",
}


def _next(last: str | None) -> str | None:
    return None if last is None else written_place(last)


@get(
    path="customers/{workspaceId}/list",
    says="Customers listed.",
    examples={"One": CustomersPage(customers=[RECORD], next=None)},
    refuses=[_BOTH_OR_NEITHER, _ONE_WAY, _BAD_PREFIX, SegmentNotFound(), _UNREADABLE],
    **_lists,
)
def list_customers(asked: Asked[None, CustomersQuery]) -> CustomersPage:
    """List customers

    Lists all customers of the workspace in the order of their ids, those one of whose identifiers begins with a text
    (`identifier` and `prefix`) in the order of this identifier, or those who are in a segment (`segment`), as its
    members or by its conditions. Pages have 50 customers, or up to 200 (`limit`).

    Whoever is there from the first page to the last is listed once, whatever is written meanwhile. A page of a segment
    with conditions looks at 10,000 customers at most: it may be short or empty, and has a `next` all the same.
    """
    part = _wanted(asked.workspace_id, asked.query)
    records = [filled(CustomerRecord, one, customer_id=one.id) for one in part.rows]
    return CustomersPage(customers=records, next=_next(part.last))


def _wanted(workspace_id: str, query: CustomersQuery) -> Part[Customer]:
    if (query.identifier is None) != (query.prefix is None):
        raise _BOTH_OR_NEITHER
    after = query.after or ""
    if query.segment is not None:
        if query.prefix is not None:
            raise _ONE_WAY
        segment = own_segment(workspace_id=workspace_id, named=query.segment)
        return customers_of_segment(segment=segment, after=after, limit=query.limit)
    if query.identifier is None or query.prefix is None:
        return customers_part(workspace_id=workspace_id, after=after, limit=query.limit)
    field = _FIELDS[query.identifier]
    return customers_beginning(
        workspace_id=workspace_id, field=field, prefix=query.prefix, after=after, limit=query.limit
    )


@get(
    path="customers/{workspaceId}/segments/{segmentId}/members",
    ids=[SEGMENT_ID],
    says="Members listed.",
    examples={"One": MembersPage(members=[_MEMBER], next=None)},
    refuses=[SegmentNotFound()],
    **_lists,
)
def list_segment_members(asked: Asked[None, PageQuery], segment_id: str) -> MembersPage:
    """List a segment's members

    Lists those who were put into the segment, 50 at a time, or up to 200 (`limit`). Whoever is in it by its conditions
    alone is not among them: `GET …/list?segment=` lists these as well.
    """
    segment = own_segment(workspace_id=asked.workspace_id, named=segment_id)
    part = members_part(segment=segment, after=asked.query.after or "", limit=asked.query.limit)
    members = [
        Member(customer_id=one.customer_id, external_id=one.customer.external_id, added_at=one.added_at)
        for one in part.rows
    ]
    return MembersPage(members=members, next=_next(part.last))


@get(
    path="customers/{workspaceId}/{customerId}/events",
    ids=[CUSTOMER_ID],
    says="The customer's events, those that happened last first.",
    examples={"One": EventsPage(customer_id=ADA, events=[_EVENT], next=None)},
    refuses=[NOT_FOUND],
    **_lists,
)
def list_customer_events(asked: Asked[None, EventsQuery], customer_id: str) -> EventsPage:
    """List a customer's events

    Lists what the customer did and what journeys recorded for them, those events that happened last first, 50 at a
    time, or up to 200 (`limit`). What is reported meanwhile changes no later page, unless it happened earlier.
    """
    customer = customer_by_id(workspace_id=asked.workspace_id, customer_id=customer_id)
    part = events_part(customer=customer, after=asked.query.after, limit=asked.query.limit)
    events = [
        ListedEvent(
            event_id=one.id,
            event_name=one.name,
            event_properties=one.properties,
            source=source,
            message_id=one.message_id,
            occurred_at=one.occurred_at,
        )
        for one in part.rows
        if (source := known_value(Event.Source, one.source))
    ]
    last = part.last
    place = last and (place_of_moment(last.occurred_at), last.event_id)
    return EventsPage(customer_id=customer.id, events=events, next=written_place(*place) if place else None)
