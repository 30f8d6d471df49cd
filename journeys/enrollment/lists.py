"""The calls that list what is defined in the order of keys, and who is in a journey, page by page.

Whatever is written meanwhile, what is there from the first page to the last is listed once.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Annotated, Any, Self, TypeVar

from django.db.models import Q, QuerySet

from customers.api.path_ids import ADA, SEGMENT_ID
from customers.models import Segment
from engage.calls.asked import Asked
from engage.calls.call import get
from engage.calls.queries import PageQuery
from engage.database.object_ids import ObjectId
from engage.errors import InvalidRequest
from engage.http.paging import NEXT, page_of, written_place
from engage.json.fields import Spelled, filled
from engage.json.keywords import Keywords
from engage.scopes import Scope
from journeys.engine.enrollments.by_customer import LAST_STEP
from journeys.engine.enrollments.listing import WantedEnrollments, enrollments_part
from journeys.faces.path_ids import ANY_JOURNEY, JOURNEY_ID
from journeys.faces.times import FROM, TO
from journeys.models import Enrollment, Journey
from journeys.models.choices import StateOfEnrollment

_Row = TypeVar("_Row", Journey, Segment)


@dataclass(frozen=True, kw_only=True)
class ListedJourney:
    """A journey, without its steps."""

    journey_id: ObjectId
    key: str
    name: str
    trigger: Annotated[str, "What enters customers: `api` or `event`."]
    state: Journey.State
    revision: Annotated[int, "The number of the current revision."]
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class JourneysPage:
    """Journeys in the order of their keys, without those that are archived."""

    journeys: Sequence[ListedJourney]
    next: Annotated[str | None, NEXT]


@dataclass(frozen=True, kw_only=True)
class ListedSegment:
    """A segment."""

    segment_id: ObjectId
    key: str
    name: str
    has_conditions: Annotated[bool, "Whether customers are in it by a condition, beside those who are put into it."]
    updated_at: datetime


@dataclass(frozen=True, kw_only=True)
class SegmentsPage:
    """Segments in the order of their keys."""

    segments: Sequence[ListedSegment]
    next: Annotated[str | None, NEXT]


@dataclass(frozen=True, kw_only=True)
class EnrollmentsQuery(PageQuery):
    """Which enrollments, and which page of them."""

    state: Annotated[Enrollment.State | None, "In this state."] = None
    step: Annotated[str | None, "Waiting in the step with this id."] = None
    begin: Annotated[datetime | None, "Entered from then on (ISO 8601).", *FROM] = None
    end: Annotated[datetime | None, "Entered before then (ISO 8601).", *TO] = None


@dataclass(frozen=True, kw_only=True)
class ListedEnrollment:
    """One customer's path through the journey, without its steps."""

    enrollment_id: ObjectId
    customer_id: ObjectId
    external_id: Annotated[str | None, "The customer's id in your own system.", Spelled("external_id")]
    revision: Annotated[int, "The revision of the journey's steps that the enrollment follows.", Keywords(minimum=1)]
    state: StateOfEnrollment
    step_id: Annotated[str | None, LAST_STEP]
    awaits_event: Annotated[str | None, "The name of the event that the enrollment waits for; null if there is none."]
    goes_on_at: Annotated[
        datetime | None, "When the step's wait ends; null if it waits for no time, as while a webhook is sent."
    ]
    exit_reason: Annotated[str | None, "Why the enrollment was exited, as text; null if it was not."]
    entered_at: datetime
    ended_at: Annotated[datetime | None, "When the enrollment ended; null while it is active."]

    @classmethod
    def of(cls, found: Enrollment) -> Self:
        return filled(
            cls,
            found,
            enrollment_id=found.id,
            external_id=found.customer.external_id,
            revision=found.revision.number,
            step_id=found.step_id or None,
            awaits_event=found.awaits_event or None,
            goes_on_at=found.watches_until or found.due_at or found.was_due_at,
            exit_reason=found.exit_reason or None,
        )


@dataclass(frozen=True, kw_only=True)
class EnrollmentsPage:
    """Enrollments in the order of their ids: those of an earlier second first."""

    enrollments: Sequence[ListedEnrollment]
    next: Annotated[str | None, NEXT]


_AT = datetime(2026, 11, 20, 19, 8, tzinfo=UTC)
_common: dict[str, Any] = {
    "scope": Scope.DEFINITIONS,
    "policy": "definitions",
    "tag": "Definitions",
    "answer": "A page.",
}


def _page(rows: QuerySet[_Row], query: PageQuery) -> tuple[Sequence[_Row], str | None]:
    """The rows after the cursor, in the order of their keys, and the cursor of the next page."""
    found = list(rows.filter(key__gt=query.after or "").order_by("key")[: query.limit + 1])
    return page_of(found, query.limit, lambda row: str(row.key))


@get(
    path="journeys/{workspaceId}",
    says="Journeys listed.",
    examples={
        "One": JourneysPage(
            journeys=[
                ListedJourney(
                    journey_id=JOURNEY_ID.example,
                    key="welcome",
                    name="Welcome",
                    trigger="api",
                    state=Journey.State.ACTIVE,
                    revision=3,
                    updated_at=_AT,
                )
            ],
            next=None,
        )
    },
    **_common,
)
def list_journeys(asked: Asked[None, PageQuery]) -> JourneysPage:
    """List the journeys

    Lists the workspace's journeys in the order of their keys, 50 at a time, or up to 200 (`limit`). A key that is for
    certain journeys is told of these alone.
    """
    allowed = asked.key.journeys
    rows = Journey.objects.filter(
        Q() if allowed is None else Q(id__in=allowed), workspace=asked.workspace_id, archived_at=None
    )
    shown, after = _page(rows, asked.query)
    return JourneysPage(
        journeys=[
            ListedJourney(
                journey_id=one.id,
                key=one.key,
                name=one.name,
                trigger=one.trigger_type,
                state=one.state,
                revision=one.revision,
                updated_at=one.updated_at,
            )
            for one in shown
        ],
        next=after,
    )


@get(
    path="segments/{workspaceId}",
    says="Segments listed.",
    examples={
        "One": SegmentsPage(
            segments=[
                ListedSegment(
                    segment_id=SEGMENT_ID.example, key="pro", name="Pro plan", has_conditions=True, updated_at=_AT
                )
            ],
            next=None,
        )
    },
    **_common,
)
def list_segments(asked: Asked[None, PageQuery]) -> SegmentsPage:
    """List the segments

    Lists the workspace's segments in the order of their keys, 50 at a time, or up to 200 (`limit`).
    """
    shown, after = _page(Segment.objects.filter(workspace=asked.workspace_id), asked.query)
    return SegmentsPage(
        segments=[
            ListedSegment(
                segment_id=one.id,
                key=one.key,
                name=one.name,
                has_conditions=one.conditions is not None,
                updated_at=one.updated_at,
            )
            for one in shown
        ],
        next=after,
    )


@get(
    path="journeys/{workspaceId}/{journeyId}/enrollments",
    scope=Scope.ENROLLMENTS,
    policy="lookup",
    tag="Journeys",
    ids=[ANY_JOURNEY],
    says="Enrollments listed.",
    answer="A page, which may be empty although others follow.",
    examples={
        "One": EnrollmentsPage(
            enrollments=[
                ListedEnrollment(
                    enrollment_id="6a0b1c2fe4b0a1d2c3e4f504",
                    customer_id=ADA,
                    external_id="ada",
                    revision=3,
                    state="active",
                    step_id="wait",
                    awaits_event=None,
                    goes_on_at=_AT + timedelta(days=1),
                    exit_reason=None,
                    entered_at=_AT,
                    ended_at=None,
                )
            ],
            next=None,
        )
    },
    refuses=[InvalidRequest("from must be a time in ISO 8601 such as 2026-11-20T19:00:00Z.")],
)
def list_enrollments(asked: Asked[None, EnrollmentsQuery], journey: Journey) -> EnrollmentsPage:
    """List a journey's enrollments

    Lists who is or was in the journey, in the order of the enrollments' ids: those in a `state`, those who wait in a
    `step`, those who entered in a time (`from`, `to`). Pages have 50 enrollments, or up to 200 (`limit`).

    A page looks at 10,000 enrollments at most: it may be short or empty, and has a `next` all the same.
    """
    query = asked.query
    part = enrollments_part(
        workspace_id=asked.workspace_id,
        journey_id=journey.id,
        wanted=WantedEnrollments(state=query.state, step_id=query.step, since=query.begin, until=query.end),
        after=query.after or "",
        limit=query.limit,
    )
    return EnrollmentsPage(
        enrollments=[ListedEnrollment.of(one) for one in part.rows],
        next=None if part.last is None else written_place(part.last),
    )
