"""The call about what queued a customer for journeys."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Annotated

from customers.api.path_ids import ADA, CUSTOMER_ID
from customers.identity.lookup import IDENTIFIER_NAMES, CustomerNotFound, customer_by_id
from engage.calls.asked import Asked
from engage.calls.call import get
from engage.calls.queries import AFTER, CURSOR, LIMIT
from engage.database.object_ids import ObjectId, is_object_id
from engage.http.paging import DEPRECATED, NEXT, NEXT_CURSOR, begin_of, cursor_of, place_of, written_place
from engage.json.fields import Whole
from engage.scopes import Scope
from journeys.engine.enrollments.by_customer import (
    Cursor,
    CustomerTrigger,
    TriggeredEnrollment,
    customer_triggers_page,
)
from journeys.enrollment.calls import ENROLLMENT_ID
from journeys.faces.path_ids import ADAS_JOB, JOURNEY_ID, TRIGGER_ID
from journeys.rules.job_ids import job_id


def _place(queued_ms: int, journey_id: str) -> Cursor:
    if not is_object_id(journey_id):
        raise ValueError
    return Cursor(queued_ms=queued_ms, journey_id=journey_id)


@dataclass(frozen=True, kw_only=True)
class TriggersQuery:
    """Which page of the triggers."""

    limit: Annotated[int, LIMIT, Whole(most=100)] = 20
    after: Annotated[Cursor | None, AFTER, place_of(int, str, make=_place)] = None
    cursor: Annotated[Cursor | None, CURSOR, DEPRECATED, cursor_of(int, str, make=_place)] = None


@dataclass(frozen=True, kw_only=True)
class CustomerJourneys:
    """A page of the triggers that queued a customer for journeys."""

    customer_id: Annotated[ObjectId, "The customer's id."]
    triggers: Annotated[Sequence[CustomerTrigger], "The triggers, newest first."]
    next: Annotated[str | None, NEXT]
    next_cursor: Annotated[str | None, NEXT_CURSOR, DEPRECATED]


_NEXT = written_place(1795201680123, JOURNEY_ID.example)
_DECIDED_AT = datetime(2026, 11, 20, 19, 8, 0, 310000, tzinfo=UTC)
_ENROLLED = CustomerTrigger(
    job_id=ADAS_JOB,
    place=Cursor(queued_ms=1795201680123, journey_id=JOURNEY_ID.example),
    journey_id=JOURNEY_ID.example,
    journey_name="Order follow-up",
    trigger_id=TRIGGER_ID.example,
    form="single",
    event_id=None,
    event_name=None,
    status="decided",
    result="enrolled",
    reason="The customer met the entry rules.",
    details=[],
    queued_at=datetime(2026, 11, 20, 19, 8, 0, 123000, tzinfo=UTC),
    decided_at=_DECIDED_AT,
    enrollment=TriggeredEnrollment(
        id=ENROLLMENT_ID.example,
        state="exited",
        step_id="tell-shop",
        goes_on_at=None,
        exit_reason="The order was refunded.",
        entered_at=_DECIDED_AT,
        ended_at=datetime(2026, 11, 21, 8, 15, tzinfo=UTC),
    ),
)
_REFUSED = replace(
    _ENROLLED,
    job_id=job_id(journey_id=JOURNEY_ID.example, customer_id=ADA, queued_ms=1795201683007),
    trigger_id="6a0b1c31e4b0a1d2c3e4f507",
    event_id="6a0b1c31e4b0a1d2c3e4f5e2",
    event_name="ordered",
    result="already_enrolled",
    reason="The customer was in the journey already: enrollment 6a0b1c2fe4b0a1d2c3e4f504.",
    queued_at=datetime(2026, 11, 20, 19, 8, 3, 7000, tzinfo=UTC),
    decided_at=datetime(2026, 11, 20, 19, 8, 3, 90000, tzinfo=UTC),
    enrollment=None,
)
_CUSTOMER_JOURNEYS = CustomerJourneys(customer_id=ADA, triggers=[_REFUSED, _ENROLLED], next=_NEXT, next_cursor=_NEXT)


@get(
    path="customers/{workspaceId}/{customerId}/journeys",
    scope=Scope.ENROLLMENTS,
    policy="lookup",
    tag="Customers",
    ids=[CUSTOMER_ID],
    says="What queued the customer for journeys, newest first.",
    answer="A page of triggers. The list is empty if no trigger ever queued the customer.",
    examples={"One refused, one exited": _CUSTOMER_JOURNEYS},
    refuses=[CustomerNotFound(named=IDENTIFIER_NAMES["id"])],
)
def get_customer_journeys(asked: Asked[None, TriggersQuery], customer_id: str) -> CustomerJourneys:
    """List a customer's journey triggers

    Returns every trigger that queued this customer, by a call or by an event, newest first: what was decided and why,
    even if the customer was not enrolled, and the state of the enrollment. A call that named the customer but left them
    out is not included: look up its trigger. Pages have 20 triggers by default and at most 100 (`limit`). Data that was
    pruned because of its age is not included.
    """
    customer = customer_by_id(workspace_id=asked.workspace_id, customer_id=customer_id)
    page = customer_triggers_page(
        workspace_id=asked.workspace_id,
        customer_id=customer.id,
        journeys=asked.key.journeys,
        after=begin_of(asked.query),
        limit=asked.query.limit,
    )
    following = written_place(page.last.queued_ms, page.last.journey_id) if page.last else None
    return CustomerJourneys(
        customer_id=customer.id,
        triggers=page.triggers,
        next=following,
        next_cursor=following,
    )
