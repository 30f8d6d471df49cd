"""The call that lists what journeys have sent to a customer."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated

from customers.api.path_ids import ADA, CUSTOMER_ID
from customers.identity.lookup import IDENTIFIER_NAMES, CustomerNotFound, customer_by_id
from engage.calls.asked import Asked
from engage.calls.call import get
from engage.calls.queries import AFTER, LIMIT
from engage.database.known_values import known_value
from engage.database.object_ids import ObjectId
from engage.http.paging import NEXT, place_of, written_place
from engage.json.fields import Whole, filled
from engage.scopes import Scope
from journeys.engine.enrollments.deliveries import (
    DeliveriesPlace,
    DeliveryKind,
    SentDelivery,
    SentState,
    WantedDeliveries,
    deliveries_page,
)
from journeys.engine.entering.trigger import JourneyNotFound, own_journey_ids
from journeys.faces.path_ids import JOURNEY_ID
from journeys.faces.times import FROM, TO
from journeys.steps.secrets import url_without_secrets


def _place(webhook: int, in_app: str) -> DeliveriesPlace:
    return DeliveriesPlace(webhook=webhook, in_app=in_app)


@dataclass(frozen=True, kw_only=True)
class DeliveriesQuery:
    """Which deliveries, and which page of them."""

    kind: Annotated[DeliveryKind | None, "Return deliveries of this kind only."] = None
    journey: Annotated[str | None, "Return what this journey sent: its id, or its key."] = None
    step: Annotated[str | None, "Return what steps of this id sent."] = None
    state: Annotated[SentState | None, "Return deliveries in this state only."] = None
    begin: Annotated[datetime | None, "Return what was sent from then on (ISO 8601).", *FROM] = None
    end: Annotated[datetime | None, "Return what was sent before then (ISO 8601).", *TO] = None
    limit: Annotated[int, LIMIT, Whole(most=100)] = 20
    after: Annotated[DeliveriesPlace | None, AFTER, place_of(int, str, make=_place)] = None


@dataclass(frozen=True, kw_only=True)
class Delivery:
    """What a step sent to the customer: a webhook about them, or an in-app message for them."""

    delivery_id: Annotated[
        str, "Of a webhook its `webhook-id`; of an in-app message the `deliveryId` that pages know it by."
    ]
    kind: DeliveryKind
    journey_id: Annotated[ObjectId, "The journey's id."]
    journey_name: Annotated[str | None, "null once the journey is deleted."]
    enrollment_id: Annotated[ObjectId, "The enrollment's id."]
    step_id: str
    at: Annotated[datetime, "When the step sent it: the first attempt of a webhook is not before."]
    state: Annotated[
        SentState,
        "Of a webhook `waiting`, `held`, `delivered`, `failed` or `dropped`; of an in-app message `due`, `shown`, "
        "`acted`, `closed`, `expired` or `withdrawn`.",
    ]
    ended_at: Annotated[datetime | None, "When it reached a state that it keeps; null before."]
    result: Annotated[
        str | None,
        "The outcome of a webhook, or why a message was withdrawn, as text; null before, and of other messages.",
    ]
    method: Annotated[str | None, "The method of a webhook; null of a message."]
    url: Annotated[
        str | None,
        "The URL of a webhook. Values of query parameters that look like credentials are hidden. null of a message.",
    ]
    attempts_made: Annotated[int | None, "The attempts of a webhook so far; null of a message."]
    status: Annotated[
        int | None, "The HTTP status of the last attempt of a webhook; null if no response was received, and before."
    ]
    message: Annotated[str | None, "The key of an in-app message; null of a webhook."]
    shown_at: Annotated[datetime | None, "When a page first showed a message; null before, and of a webhook."]
    action_id: Annotated[str | None, "The action that ended a message, such as the button clicked; otherwise null."]

    @classmethod
    def of(cls, sent: SentDelivery) -> "Delivery | None":
        """None if its state is one of a later version."""
        state = known_value(SentState, sent.state)
        return (
            None
            if state is None
            else filled(
                cls,
                sent,
                delivery_id=sent.id,
                kind=DeliveryKind(sent.kind),
                state=state,
                url=None if sent.url is None else url_without_secrets(sent.url),
                attempts_made=sent.attempts,
            )
        )


@dataclass(frozen=True, kw_only=True)
class CustomerDeliveries:
    """A page of what was sent to a customer."""

    customer_id: Annotated[ObjectId, "The customer's id."]
    deliveries: Annotated[Sequence[Delivery], "The deliveries, newest first."]
    next: Annotated[str | None, NEXT]


def _at(hour: int, minute: int) -> datetime:
    return datetime(2026, 11, 20, hour, minute, tzinfo=UTC)


_SENT = Delivery(
    delivery_id="msg_6a0b1c2fe4b0a1d2c3e4f504_1",
    kind=DeliveryKind.WEBHOOK,
    journey_id=JOURNEY_ID.example,
    journey_name="Order follow-up",
    enrollment_id="6a0b1c2fe4b0a1d2c3e4f504",
    step_id="tell-shop",
    at=_at(19, 8),
    state=SentState.DELIVERED,
    ended_at=_at(19, 8),
    result="Answered 200.",
    method="POST",
    url="https://shop.example/orders",
    attempts_made=1,
    status=200,
    message=None,
    shown_at=None,
    action_id=None,
)
_SHOWN = Delivery(
    delivery_id="6a0b1c33e4b0a1d2c3e4f509",
    kind=DeliveryKind.IN_APP,
    journey_id=JOURNEY_ID.example,
    journey_name="Order follow-up",
    enrollment_id="6a0b1c2fe4b0a1d2c3e4f504",
    step_id="offer",
    at=_at(19, 9),
    state=SentState.ACTED,
    ended_at=_at(19, 30),
    result=None,
    method=None,
    url=None,
    attempts_made=None,
    status=None,
    message="spring-sale",
    shown_at=_at(19, 29),
    action_id="go",
)


@get(
    path="customers/{workspaceId}/{customerId}/deliveries",
    scope=Scope.ENROLLMENTS,
    policy="lookup",
    tag="Customers",
    ids=[CUSTOMER_ID],
    says="What was sent to the customer, newest first.",
    answer="A page of deliveries. The list is empty if nothing was sent.",
    examples={
        "A message clicked, a webhook delivered": CustomerDeliveries(
            customer_id=ADA, deliveries=[_SHOWN, _SENT], next=None
        )
    },
    refuses=[CustomerNotFound(named=IDENTIFIER_NAMES["id"]), JourneyNotFound(JOURNEY_ID.example)],
)
def list_customer_deliveries(asked: Asked[None, DeliveriesQuery], customer_id: str) -> CustomerDeliveries:
    """List what was sent to a customer

    Returns every webhook and every in-app message that journeys have sent for this customer, newest first, whatever
    became of it. What was sent within about a second is in no certain order, but in the same on each page. An
    enrollment's history has the requests and all attempts. Pages have 20 deliveries by default and at most 100
    (`limit`). A key that is limited to journeys reads what these have sent. Data that was pruned because of its age is
    not included.
    """
    query, allowed = asked.query, asked.key.journeys
    customer = customer_by_id(workspace_id=asked.workspace_id, customer_id=customer_id)
    journeys = allowed
    if query.journey is not None:
        named = own_journey_ids(asked.workspace_id, [query.journey])
        journeys = named if allowed is None else [one for one in named if one in allowed]
    page = deliveries_page(
        workspaces=[asked.workspace_id],
        wanted=WantedDeliveries(
            customer_id=customer.id,
            journeys=journeys,
            step_id=query.step,
            kinds=tuple(DeliveryKind) if query.kind is None else (query.kind,),
            state=query.state,
            since=query.begin,
            before=query.end,
        ),
        after=query.after,
        limit=query.limit,
    )
    return CustomerDeliveries(
        customer_id=customer.id,
        deliveries=[record for sent in page.deliveries if (record := Delivery.of(sent))],
        next=written_place(page.last.webhook, page.last.in_app) if page.last else None,
    )
