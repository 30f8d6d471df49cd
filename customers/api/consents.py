"""The calls about what a customer wants to be written about, and by which way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any

from django.utils import timezone

from customers.api.bodies import MOST_CONSENTS, ConsentBody, sayings_in
from customers.api.customers import NOT_FOUND
from customers.api.path_ids import ADA, CUSTOMER_ID
from customers.contact.consent import State
from customers.contact.saying import (
    PlaceOfAct,
    Standing,
    StateInWords,
    acts_part,
    put_consents,
    standing_of,
)
from customers.identity.lookup import customer_by_id
from customers.models import ConsentAct, Topic
from customers.models.contact import Channel
from engage.calls.asked import Asked
from engage.calls.call import get, put
from engage.calls.queries import AFTER, LIMIT
from engage.database.known_values import known_value
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest, MissingParameter
from engage.http.paging import NEXT, moment_in, place_of, place_of_moment, written_place
from engage.json.fields import Items, Whole
from engage.json.reading import ArraySizeExceeded
from engage.scopes import Scope


@dataclass(frozen=True, kw_only=True)
class ConsentsBody:
    """What a customer wants to be written about."""

    consents: Annotated[
        list[ConsentBody],
        "What they want, by topic and channel: what is not named stays.",
        Items(most=MOST_CONSENTS),
    ]


def _place(microseconds: int, act_id: str) -> PlaceOfAct:
    return PlaceOfAct(moment_in(microseconds), act_id)


@dataclass(frozen=True, kw_only=True)
class HistoryQuery:
    """Which page of the ledger."""

    limit: Annotated[int, LIMIT, Whole(most=200)] = 50
    after: Annotated[PlaceOfAct | None, AFTER, place_of(int, str, make=_place)] = None


@dataclass(frozen=True, kw_only=True)
class CustomerConsents:
    """What a customer wants by now, for each topic and each of its channels."""

    customer_id: ObjectId
    consents: Sequence[Standing]


@dataclass(frozen=True, kw_only=True)
class ConsentEntry:
    """An act in the ledger, which is only added to."""

    act_id: ObjectId
    topic: str
    channel: Channel
    state: StateInWords
    occurred_at: Annotated[datetime | None, "Null where nobody knows: it counts as before all others."]
    recorded_at: datetime
    until: datetime | None
    source: ConsentAct.Source
    source_id: Annotated[str, "Of the delivery, message or import that it came from."]
    by: Annotated[str, "Who recorded it: a key or a member of staff."]
    text: Annotated[str, "What was agreed to, or its version."]
    evidence: Mapping[str, Any]


@dataclass(frozen=True, kw_only=True)
class ConsentHistory:
    """A customer's ledger, what was recorded last first."""

    customer_id: ObjectId
    acts: Sequence[ConsentEntry]
    next: Annotated[str | None, NEXT]


_AT = datetime(2026, 11, 20, 19, 8, tzinfo=UTC)
_OFFERS = {"topic": "offers", "channel": "email", "state": "subscribed"}
_STANDING = CustomerConsents(
    customer_id=ADA,
    consents=[
        Standing(
            topic="offers",
            channel="email",
            state="subscribed",
            default=Topic.Default.OPTED_OUT,
            since=_AT,
            until=None,
        )
    ],
)
_ENTRY = ConsentEntry(
    act_id="68a1f0c2e4b0a1d2c3e4f5e3",
    topic="offers",
    channel=Channel.EMAIL,
    state="subscribed",
    occurred_at=_AT,
    recorded_at=_AT,
    until=None,
    source=ConsentAct.Source.API,
    source_id="",
    by="key checkout",
    text="offers, version 3",
    evidence={"form": "https://shop.example/newsletter"},
)
_one: dict[str, Any] = {
    "path": "customers/{workspaceId}/{customerId}/consents",
    "ids": [CUSTOMER_ID],
    "policy": "customers",
    "tag": "Customers",
}


@get(
    **_one,
    scope=Scope.CUSTOMERS_READ,
    says="Consents found.",
    answer="What holds by now.",
    examples={"One": _STANDING},
    refuses=[NOT_FOUND],
)
def get_consents(asked: Asked[None, None], customer_id: str) -> CustomerConsents:
    """Read what a customer wants to be written about

    For each topic of the workspace, by each of its channels: what follows from all that was recorded. A pause that is
    over, and a consent that has expired, count as of now.
    """
    customer = customer_by_id(workspace_id=asked.workspace_id, customer_id=customer_id)
    return _standing(asked.workspace_id, customer.id)


@put(
    **_one,
    scope=Scope.CUSTOMERS_WRITE,
    says="Consents recorded.",
    answer="What holds by now.",
    requests={"They want offers by e-mail": {"consents": [{**_OFFERS, "text": "offers, version 3"}]}},
    examples={"Recorded": _STANDING},
    refuses=[
        NOT_FOUND,
        MissingParameter("consents is required."),
        ArraySizeExceeded("consents holds 101 items; its maximum is 100."),
        InvalidRequest("consents[0].topic is 'news', which is no topic of this workspace."),
    ],
)
def put_customer_consents(asked: Asked[ConsentsBody, None], customer_id: str) -> CustomerConsents:
    """Record what a customer wants to be written about

    Each item is added to the customer's ledger. What occurred last counts, whenever it arrives: an opt-in that occurred
    before an opt-out never wins. Sent again it is recorded again, and changes nothing.
    """
    customer = customer_by_id(workspace_id=asked.workspace_id, customer_id=customer_id)
    sayings = sayings_in(asked.body.consents, now=timezone.now())
    put_consents(workspace_id=asked.workspace_id, customer_id=customer.id, sayings=sayings)
    return _standing(asked.workspace_id, customer.id)


def _standing(workspace_id: str, customer_id: str) -> CustomerConsents:
    standing = standing_of(workspace_id=workspace_id, customer_id=customer_id, now=timezone.now())
    return CustomerConsents(customer_id=customer_id, consents=standing)


@get(
    **_one | {"path": "customers/{workspaceId}/{customerId}/consents/history"},
    scope=Scope.CUSTOMERS_READ,
    says="The customer's ledger, what was recorded last first.",
    answer="A page.",
    examples={"One": ConsentHistory(customer_id=ADA, acts=[_ENTRY], next=None)},
    refuses=[NOT_FOUND],
)
def list_consent_history(asked: Asked[None, HistoryQuery], customer_id: str) -> ConsentHistory:
    """List what was recorded of a customer's will

    All acts, with when they occurred, how they are known, what was agreed to and what proves it. None is ever changed,
    or pruned while the customer is there. 50 at a time, or up to 200 (`limit`).
    """
    customer = customer_by_id(workspace_id=asked.workspace_id, customer_id=customer_id)
    part = acts_part(
        workspace_id=asked.workspace_id,
        customer_id=customer.id,
        after=asked.query.after,
        limit=asked.query.limit,
    )
    acts = [one for row in part.rows if (one := _entry(row))]
    last = part.last
    place = last and written_place(place_of_moment(last.recorded_at), last.act_id)
    return ConsentHistory(customer_id=customer.id, acts=acts, next=place)


def _entry(row: ConsentAct) -> ConsentEntry | None:
    """None for what a later version has stored."""
    channel, source = known_value(Channel, row.channel), known_value(ConsentAct.Source, row.source)
    state = known_value(State, row.state)
    if not (channel and source and state):
        return None
    return ConsentEntry(
        act_id=row.id,
        topic=row.topic,
        channel=channel,
        state=state.value,
        occurred_at=row.occurred_at,
        recorded_at=row.recorded_at,
        until=row.until,
        source=source,
        source_id=row.source_id,
        by=row.actor,
        text=row.text,
        evidence=row.evidence,
    )
