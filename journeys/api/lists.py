"""The calls that list what is defined, page by page in the order of keys: stable whatever is written meanwhile."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Annotated, Any, TypeVar

from django.db.models import Q, QuerySet

from customers.api.path_ids import SEGMENT_ID
from customers.models import Segment
from engage.calls.asked import Asked
from engage.calls.call import get
from engage.calls.queries import LIMIT
from engage.database.object_ids import ObjectId
from engage.http.paging import InvalidCursor, parse_cursor, written_cursor
from engage.json.fields import Parsed, Whole
from engage.scopes import Scope
from journeys.api.path_ids import JOURNEY_ID
from journeys.models import Journey

_Row = TypeVar("_Row", Journey, Segment)
_AFTER = "The `next` of the page before. Omit it for the first page."
_NEXT = "Send it as `after` to get the next page; null on the last page."


def _last_key(text: str) -> str | None:
    place = parse_cursor(text, str)
    return place[0] if place else None


@dataclass(frozen=True, kw_only=True)
class PageQuery:
    """Which page."""

    limit: Annotated[int, LIMIT, Whole(most=200)] = 50
    after: Annotated[str | None, _AFTER, Parsed(_last_key)] = None


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
    next: Annotated[str | None, _NEXT]


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
    next: Annotated[str | None, _NEXT]


_AT = datetime(2026, 11, 20, 19, 8, tzinfo=UTC)
_common: dict[str, Any] = {
    "scope": Scope.DEFINITIONS,
    "policy": "definitions",
    "tag": "Definitions",
    "answer": "A page.",
    "refuses": [InvalidCursor()],
}


def _page(rows: QuerySet[_Row], query: PageQuery) -> tuple[Sequence[_Row], str | None]:
    """The rows after the cursor, in the order of their keys, and the cursor of the next page."""
    found = list(rows.filter(key__gt=query.after or "").order_by("key")[: query.limit + 1])
    shown = found[: query.limit]
    return shown, written_cursor([shown[-1].key]) if len(found) > query.limit else None


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
